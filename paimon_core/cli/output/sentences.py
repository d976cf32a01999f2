"""Sentences: reports, snapshots, counts and times as text in one line."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

from paimon_core.cli.output.output import Output
from paimon_core.metadata.snapshot import Snapshot

_NOTHING = "nothing to do"


def sentence(value: Any) -> str:
    """Return a report as one line of text: the names and values of its members that are not empty."""
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
        content = getattr(value, member.name)
        if content is None or content in ((), "", False) or member.name == "table":
            continue  # the text of the plan already names the table
        if dataclasses.is_dataclass(content):
            parts += [text] if (text := sentence(content)) != _NOTHING else []
        elif isinstance(content, tuple):
            more = f" and {len(content) - 3} more" if content[3:] else ""
            shown = ", ".join(sentence(h) if dataclasses.is_dataclass(h) else str(h) for h in content[:3])
            parts.append(f"{_words(member.name)} {shown}{more}")
        else:
            parts.append(f"{_words(member.name)} {content}")
    return "; ".join(parts) or _NOTHING


def _words(name: str) -> str:
    return name.replace("_", " ")


def say_commit(out: Output, snapshot: Snapshot | None) -> int:
    """Print the snapshot of a command that commits at once, and return 0."""
    text = "nothing to do" if snapshot is None else f"snapshot {snapshot.id} ({snapshot.commit_kind})"
    out.say(text, {"snapshot": None if snapshot is None else snapshot.id})
    return 0


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 row`` or ``1,000 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 'es' if noun.endswith('ch') else 's'}"


def utc_time(millis: int | None) -> str | None:
    """Return epoch milliseconds as a time in UTC, to the second; None stays None."""
    if millis is None:
        return None
    return datetime.datetime.fromtimestamp(millis / 1000, datetime.UTC).isoformat(timespec="seconds")
