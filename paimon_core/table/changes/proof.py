"""Proof: compares the rows of the start plus the changes with the rows of the end, by count and hash per bucket.

When every change states the row that it removes, counts and sums of hashes are added and subtracted, and the memory is
constant. Otherwise the last change of each key gives the row of the key, and 17 bytes per changed row are held in
memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.display import Displayed, Summary
from paimon_core.errors import CorruptTable
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.changed_places import Place, reading_context
from paimon_core.plan.plan_scan import plan_scan
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.table.changes.row_hashes import Hashes, row_hashes
from paimon_core.table.changes.versions import Version, reading_versions

_WRAP = 1 << 64


@dataclass(frozen=True, slots=True)
class BucketProof:
    """The rows of one bucket, or of a partition whose keys may have moved between buckets."""

    place: str
    """The bucket's directory below the table; for a whole partition it ends with "/*"."""
    start_rows: int
    added: int
    removed: int
    expected_rows: int
    end_rows: int
    expected_hash: int
    """The sum, modulo 2^64, of the hashes of the rows that the end must have."""
    end_hash: int

    @property
    def holds(self) -> bool:
        """Whether the rows of the start plus the changes are the rows of the end, by count and hash."""
        return (self.expected_rows, self.expected_hash) == (self.end_rows, self.end_hash)


@dataclass(frozen=True, slots=True, repr=False)
class Proof(Displayed):
    """The result of ``Changes.prove``; its truth value is ``holds``."""

    table: str
    start: int
    end: int
    buckets: tuple[BucketProof, ...]

    def _summary(self) -> Summary:
        failed = sum(not bucket.holds for bucket in self.buckets)
        facts = (("start", str(self.start)), ("end", str(self.end)), ("buckets", len(self.buckets)), ("failed", failed))
        header = ("bucket", "rows before", "added", "removed", "rows after", "holds")
        rows = [(b.place, b.start_rows, b.added, b.removed, b.end_rows, b.holds) for b in self.buckets]
        return Summary(self.table, facts, header=header, rows=rows)

    @property
    def holds(self) -> bool:
        """Whether the comparison succeeded in each bucket."""
        return all(bucket.holds for bucket in self.buckets)

    def __bool__(self) -> bool:
        return self.holds

    def check(self) -> Proof:
        """Return the proof; raises CorruptTable, which names the first bucket whose comparison failed."""
        for b in self.buckets:
            if not b.holds:
                raise CorruptTable(
                    f"table {self.table}: the changes from snapshot {self.start} to {self.end} do not give its rows: "
                    f"in {b.place}, {b.start_rows} rows and {b.added} added and {b.removed} removed ones give "
                    f"{b.expected_rows}, the table has {b.end_rows}"
                    + (" with other values" if b.expected_rows == b.end_rows else ""),
                    table=self.table,
                )
        return self


@dataclass(slots=True)
class _Sum:
    rows: int = 0
    total: int = 0

    def add(self, hashes: Hashes, sign: int = 1) -> None:
        self.rows += sign * len(hashes)
        self.total = (self.total + sign * int(hashes.sum(dtype=np.uint64))) % _WRAP


@dataclass(slots=True)
class _Tally:
    """The counts and hashes that are collected for one place (partition and bucket)."""

    start: _Sum = field(default_factory=_Sum)
    end: _Sum = field(default_factory=_Sum)
    expected: _Sum = field(default_factory=_Sum)
    added: int = 0
    removed: int = 0
    keys: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    rows: list[Hashes] = field(default_factory=list)
    adds: list[npt.NDArray[np.bool_]] = field(default_factory=list)


def prove(
    context: TableContext,
    start: Version,
    end: Version,
    changes: Iterable[tuple[Place, pa.RecordBatch]],
    *,
    is_typed: bool,
) -> Proof:
    """Return the proof of the changes between two versions; see ``Changes.prove``."""
    fields = context.schema.fields
    tallies: dict[Place, _Tally] = {}
    merged: set[bytes] = set()

    def tally(place: Place) -> _Tally:
        return tallies.setdefault(place, _Tally())

    for place, batch in changes:
        if place[1] is None:
            merged.add(place[0])
        own = tally(place)
        adds = np.asarray(pc.is_in(batch["rowkind"], pa.array(["+I", "+U"])).to_numpy(zero_copy_only=False))
        hashes = row_hashes(batch, fields)
        own.added += int(adds.sum())
        own.removed += int((~adds).sum())
        if is_typed:
            own.expected.add(hashes[adds])
            own.expected.add(hashes[~adds], -1)
        else:
            own.keys.append(row_hashes(batch, context.schema.key_fields))
            own.rows.append(hashes)
            own.adds.append(adds)
    return _compared(context, start, end, tallies, merged, is_typed=is_typed)


def _compared(
    context: TableContext,
    start: Version,
    end: Version,
    tallies: dict[Place, _Tally],
    merged: set[bytes],
    *,
    is_typed: bool,
) -> Proof:
    _join(tallies, merged)
    lasts = {} if is_typed else {place: _last_of_keys(own) for place, own in tallies.items()}
    for place, rows in _rows_of(context, start.snapshot, merged):
        own = tallies.setdefault(place, _Tally())
        hashes = row_hashes(rows, context.schema.fields)
        own.start.add(hashes)
        keys = lasts.get(place)
        if keys is not None and len(keys):
            hashes = hashes[~np.isin(row_hashes(rows, context.schema.key_fields), keys)]
        own.expected.add(hashes)
    for place, rows in _rows_of(context, end.snapshot, merged):
        tallies.setdefault(place, _Tally()).end.add(row_hashes(rows, context.schema.fields))
    found = [_line(context, place, own) for place, own in tallies.items()]
    return Proof(context.name, start.id, end.id, tuple(sorted(found, key=lambda b: b.place)))


def _join(tallies: dict[Place, _Tally], merged: set[bytes]) -> None:
    """Replace the tallies of buckets by one tally per partition in ``merged``: keys may have moved between buckets."""
    for place in [p for p in tallies if p[0] in merged and p[1] is not None]:
        own, into = tallies.pop(place), tallies.setdefault((place[0], None), _Tally())
        into.added += own.added
        into.removed += own.removed
        into.expected.rows += own.expected.rows
        into.expected.total = (into.expected.total + own.expected.total) % _WRAP
        into.keys += own.keys
        into.rows += own.rows
        into.adds += own.adds


def _last_of_keys(own: _Tally) -> npt.NDArray[np.uint64]:
    """Add the row after the last change of each key to ``expected``; return the hashes of all changed keys."""
    if not own.keys:
        return np.zeros(0, np.uint64)
    keys, rows, adds = (np.concatenate(parts) for parts in (own.keys, own.rows, own.adds))
    found, last = np.unique(keys[::-1], return_index=True)
    last = len(keys) - 1 - last
    own.expected.add(rows[last][adds[last]])
    return np.asarray(found, np.uint64)


def _rows_of(context: TableContext, snapshot: Snapshot | None, merged: set[bytes]) -> Iterator[tuple[Place, pa.Table]]:
    """Yield the rows that a batch read of a version returns, with the columns of ``context``."""
    if snapshot is None:
        return
    own = reading_context(context, snapshot)
    with reading_versions(context, snapshot):
        plan = plan_scan(
            snapshot=snapshot,
            schema=own.schema,
            options=own.options,
            manifests=own.manifests,
            schemas=own.schemas.read,
        )
        for split in plan.splits:
            bucket = None if split.partition in merged else split.bucket
            for rows in read_split(own, split, ReadRequest(own.schema.names)):
                yield (split.partition, bucket), rows


def _line(context: TableContext, place: Place, own: _Tally) -> BucketProof:
    partition, bucket = place
    directory = f"{context.partition_path(partition)}/*" if bucket is None else context.bucket_path(partition, bucket)
    return BucketProof(
        directory.removeprefix("/"),
        own.start.rows,
        own.added,
        own.removed,
        own.expected.rows,
        own.end.rows,
        own.expected.total,
        own.end.total,
    )
