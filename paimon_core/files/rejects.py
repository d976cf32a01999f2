"""Rejects: rows of files that do not fit the table, and the parts of a piece of rows that do.

A reader without a receiver of rejects raises the error of the first row that does not fit. With a receiver it passes
these rows on, each with the message of this error, and yields all other rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from paimon_core.errors import SchemaMismatch
from paimon_core.files.columns import Piece

_COLUMN = re.compile(r"column '([^']+)'")


@dataclass(frozen=True)
class Reject:
    """One row that does not fit, its place in a file (such as "line 12"), and the reason."""

    file: str
    place: str
    column: str | None
    reason: str
    row: Any
    """The line of a text file; a dict of Python values for a row of a Parquet or ORC file."""


Receiver = Callable[[Reject], None]
"""Takes each row that does not fit."""


def rejected(file: str, place: str, reason: str, row: Any, column: str | None = None) -> Reject:
    """Return a reject; its column is the one that ``reason`` names, unless it is given."""
    found = _COLUMN.search(reason) if column is None else None
    return Reject(file, place, found[1] if found else column, reason, row)


def fitting_parts(
    piece: Piece, convert: Callable[[Piece], pa.Table], file: str, receive: Receiver
) -> Iterator[pa.Table]:
    """Yield the converted rows of the parts of ``piece`` that fit, in order; the other rows go to ``receive``.

    ``convert`` raises SchemaMismatch with the fact ``row`` when a row does not fit; any other error is raised. The rows
    are found by halving, at most twice as many calls as there are rows.
    """
    rest = [(0, len(piece.rows))]
    while rest:
        first, count = rest.pop()
        try:
            yield convert(replace(piece, rows=piece.rows.slice(first, count)))
        except SchemaMismatch as error:
            if "row" not in error.facts:
                raise
            if count == 1:
                row = _values(piece.rows, first) if piece.text is None else piece.text(first)
                receive(rejected(file, piece.place(first), reason_of(error), row, error.facts.get("column")))
            else:
                half = count // 2
                rest += [(first + half, count - half), (first, half)]


def _values(rows: pa.Table, row: int) -> dict[str, Any]:
    found = {}
    for name in rows.column_names:
        try:
            found[name] = rows[name][row].as_py()
        except (ValueError, OverflowError):  # a year above 9999, invalid UTF-8
            found[name] = f"a value of the type {rows[name].type}"
    return found


def reason_of(error: SchemaMismatch) -> str:
    """Return the message of an error about a row, with the value, but without the number of the row."""
    head, found, value = error.message.partition("; the first such row is ")
    return f"{head}; the value is {value.partition(': ')[2]}" if found else head
