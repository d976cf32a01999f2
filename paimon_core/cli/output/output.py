"""Output: prints the results of commands, as text (sentences and aligned tables) or as one JSON value."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paimon_core.errors import InvalidRequest

_CONTROLS = {
    code: chr(code).encode("unicode_escape").decode()
    for code in (*range(0x20), *range(0x7F, 0xA0))
    if chr(code) not in "\n\t"
}


def printable(text: str) -> str:
    """Return the text with its control characters escaped, except ends of lines and tabs.

    So names, comments and values of a table cannot change the colors or the content of a terminal.
    """
    return text.translate(_CONTROLS)


def problem(command: str | None, error: str, exit_code: int) -> str:
    """Return the line of JSON that tells an error of a command; None when the arguments name no command."""
    return json.dumps({"command": command, "error": error, "exit_code": exit_code}, ensure_ascii=False) + "\n"


class OutputError(Exception):
    """Raised when standard output cannot be written: it is closed, its reader has ended or the disk is full."""


@dataclasses.dataclass(frozen=True)
class Output:
    """Writes to standard output; with ``as_json`` one JSON value for each command and nothing else."""

    as_json: bool = False

    def say(self, text: str, value: Any) -> None:
        """Print the text, or the value as JSON; raises OutputError."""
        self.write(json.dumps(plain(value), indent=2) if self.as_json else printable(text))

    def write(self, text: str) -> None:
        """Print a text as it is, and the end of the line; raises OutputError."""
        if sys.stdout is None:
            raise OutputError("it is closed")
        try:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        except OSError as error:
            raise OutputError(str(error)) from error

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]], nothing: str, note: str = "") -> None:
        """Print rows as aligned columns (the text ``nothing`` when there are no rows), or as a JSON list of objects.

        ``note``: a last line of the text.
        """
        texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(header, *texts, strict=True)]
        lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in (header, *texts))
        text = "\n".join((*lines, *([note] if note else []))) if rows else nothing
        self.say(text, [dict(zip(header, row, strict=True)) for row in rows])


def replace_file(path: Path, text: str) -> None:
    """Replace a file in one step, so that a reader never sees a part of it; raises InvalidRequest if this fails."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # the part was not created, or the path of its folder is no folder
            part.unlink()
        raise InvalidRequest(f"cannot write {path}: {error.strerror}") from None


def discard_output() -> None:
    """Redirect standard output to the null device: writing its buffer at the end of the process must not fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or replaced by an object without a file
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def plain(value: Any) -> Any:
    """Return ``value`` in JSON types: a dataclass becomes an object, and a value of another type becomes its text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no NaN and no infinity
        return str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)
