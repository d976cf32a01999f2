"""Rejects: rows of a source that do not fit the table, stored as rows of the schema ``REJECTS``.

Every row of a file is either in ``Parsed.rows`` or in ``Parsed.rejects``. A rejected row occurs only once, with the
first column that does not fit, in the order of the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
"""The columns of rejected rows: ``line`` counts from 1; ``column`` is null when the whole row cannot be read."""

RAW_BYTES = 64 * 1024
"""The largest ``raw`` text in bytes of UTF-8; longer texts are cut and end with ``CUT``."""
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
    """The result for one block of a file: rows with the types of the table, and rejects with the schema ``REJECTS``."""

    rows: pa.RecordBatch
    rejects: pa.RecordBatch
    read: int
    """The number of records of the block, counted before parsing. A record in neither ``rows`` nor ``rejects`` is
    lost."""
    extra: tuple[str, ...] = ()
    """The columns of the file that are ignored."""
    version: str | None = None
    """The version of the file; None for other sources."""
    file: str = ""
    """The column ``file`` of rejects of these rows: the file or another name of the source."""
    members: frozenset[tuple[str, ...]] = frozenset()
    """The members of a JSON file's objects that have occurred so far; see ``json_members``."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """The number of events that change no row of the table, by kind."""
    sources: frozenset[str] = frozenset()
    """The tables whose changes have occurred so far in files of change events."""
    new_columns: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The types that were seen so far for members that the table does not have, or has with another type."""
    removals: int = 0
    """The number of rows in ``rows`` that only remove an older row, because its new version is a reject. They count as
    read, but not for the share of rejects."""
    report: bytes = b""
    """An encoded report about a split, in the result after its last block; b"" in all other results."""


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
    """Return the text, cut to at most ``RAW_BYTES`` bytes."""
    if len(raw) * 4 <= RAW_BYTES:
        return raw
    data = raw.encode("utf-8", "replace")
    return raw if len(data) <= RAW_BYTES else data[: RAW_BYTES - len(CUT)].decode("utf-8", "ignore") + CUT


def shown(value: object) -> str:
    """Return a value as text for the reason of a reject: quoted, and cut after 60 characters."""
    text = repr(str(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...{text[-1]}"
