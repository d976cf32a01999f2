"""What commands print: sentences and aligned tables for people, or one JSON value."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from paimon_core.metadata.snapshot import Snapshot

_NOTHING = "nothing to do"


@dataclasses.dataclass(frozen=True)
class Output:
    """Standard output; ``as_json``: one JSON value per command and nothing else."""

    as_json: bool = False

    def say(self, text: str, value: Any) -> None:
        """The text, or the value as JSON."""
        sys.stdout.write((json.dumps(plain(value), indent=2) if self.as_json else text) + "\n")
        sys.stdout.flush()

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]], nothing: str) -> None:
        """Aligned columns, or a list of objects; ``nothing`` is said of no rows."""
        texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(header, *texts, strict=True)]
        lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in (header, *texts))
        self.say("\n".join(lines) if rows else nothing, [dict(zip(header, row, strict=True)) for row in rows])


def plain(value: Any) -> Any:
    """A value as JSON has it; texts for what JSON does not know."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def sentence(value: Any) -> str:
    """What an operation reports, in one line: its members that say something."""
    if value is None or value == ():
        return _NOTHING
    if isinstance(value, Snapshot):
        return f"snapshot {value.id} ({value.commit_kind}) is the latest"
    if isinstance(value, tuple):
        return ", ".join(map(sentence, value))
    if not dataclasses.is_dataclass(value):
        return str(value)
    parts = []
    for member in dataclasses.fields(value):
        held = getattr(value, member.name)
        if held is None or held in ((), "", False) or member.name == "table":  # the plan has named it
            continue
        if dataclasses.is_dataclass(held):
            parts += [said] if (said := sentence(held)) != _NOTHING else []
        elif isinstance(held, tuple):
            more = f" and {len(held) - 3} more" if held[3:] else ""
            shown = ", ".join(sentence(h) if dataclasses.is_dataclass(h) else str(h) for h in held[:3])
            parts.append(f"{_words(member.name)} {shown}{more}")
        else:
            parts.append(f"{_words(member.name)} {held}")
    return "; ".join(parts) or _NOTHING


def _words(name: str) -> str:
    return name.replace("_", " ")
