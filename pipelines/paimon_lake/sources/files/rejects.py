"""Rejects: rows of a source that do not fit the table, as rows of one schema.

Every row of a file is either in ``Parsed.rows`` or, once, in ``Parsed.rejects``, with the first reason in the order of
the table's columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

REJECTS = pa.schema(
    [
        pa.field("file", pa.string()),
        pa.field("line", pa.int64()),
        pa.field("column", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("raw", pa.string()),
    ]
)
"""The columns of rejected rows: ``line`` is 1-based, ``column`` is null when the whole row is bad."""

RAW_BYTES = 64 * 1024
"""The largest ``raw`` text in bytes of UTF-8; longer ones are cut and end with ``CUT``."""
CUT = " [cut]"
_SHOWN = 60


@dataclass(frozen=True)
class Reject:
    """One rejected row; ``row`` is its position in the block that was parsed."""

    row: int
    column: str | None
    reason: str


@dataclass(frozen=True)
class Parsed:
    """The result for one block of a file: rows in the table's types, and rejects as ``REJECTS``."""

    rows: pa.RecordBatch
    rejects: pa.RecordBatch
    read: int
    """The records that the block has, counted before they were parsed: all of them are in rows or rejects."""
    extra: tuple[str, ...] = ()
    """The columns of the file that are ignored."""
    version: str | None = None
    """The version of the file."""
    members: frozenset[tuple[str, ...]] = frozenset()
    """The members of a JSON file's objects that were seen so far; see ``json_members``."""
    removals: int = 0
    """The rows that only remove the older row of a reject: they count as read, and not in the share of rejects."""
    report: bytes = b""
    """What the load learns about a split, after its last block."""


def reject_batch(file: str, found: Iterable[Reject], lines: Sequence[int], raws: Sequence[str]) -> pa.RecordBatch:
    """Return the rejects of one block; ``lines`` and ``raws`` have one item for each of ``found``."""
    found = list(found)
    return pa.RecordBatch.from_pydict(
        {
            "file": [file] * len(found),
            "line": list(lines),
            "column": [reject.column for reject in found],
            "reason": [reject.reason for reject in found],
            "raw": [cut(raw) for raw in raws],
        },
        REJECTS,
    )


def no_rejects() -> pa.RecordBatch:
    """Return an empty batch of rejects."""
    return pa.RecordBatch.from_pylist([], REJECTS)


def cut(raw: str) -> str:
    """Return the text, at most ``RAW_BYTES`` long."""
    if len(raw) * 4 <= RAW_BYTES:
        return raw
    data = raw.encode("utf-8", "replace")
    return raw if len(data) <= RAW_BYTES else data[: RAW_BYTES - len(CUT)].decode("utf-8", "ignore") + CUT


def shown(value: object) -> str:
    """Return a value for a reason: quoted and not too long."""
    text = repr(str(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...{text[-1]}"
