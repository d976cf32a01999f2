"""Dimensions: the rows of a table that is looked up, at one snapshot, from a cache of the process.

The cache of a process is a list of segments. A later snapshot adds a segment with the rows that changed, which
``TableView.changes`` reads. The row of a key is its row in the newest segment that has the key. The segments are joined
when there are more than ``MOST_SEGMENTS``. The whole table is read again when its changes are not known: after the
cached snapshot has expired, after a rollback or after a change of the schema. It is always read again when the primary
key does not contain all partition keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.binary_row.bucket_hash import hash_rows
from paimon_core.errors import CorruptTable, InvalidRequest, SchemaMismatch, SnapshotNotFound, UnsupportedFeature
from paimon_core.metadata.commit_message import Position, position_of
from paimon_core.schema import DataField
from paimon_core.spark.reference import TableReference
from paimon_core.table.view import TableView
from paimon_core.types import DataType
from paimon_lake.loads.lookup.segment import DELETED, Rows, Segment, TooLarge
from paimon_lake.protocol import PipelineError

MOST_SEGMENTS = 4
ROWKIND = "rowkind"
_UNKNOWN = (SnapshotNotFound, CorruptTable, InvalidRequest, SchemaMismatch, UnsupportedFeature)
"""The errors of ``changes`` after which a dimension is read whole."""


@dataclass(frozen=True)
class Dimension:
    """A table at one snapshot, with the columns of its key and the columns that are looked up."""

    reference: TableReference
    position: Position
    """The snapshot; (0, "") for a table without snapshots."""
    key: tuple[DataField, ...]
    values: tuple[DataField, ...]
    most_bytes: int

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.reference.name

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns of the cache: the key columns, then the other columns, each column once."""
        return tuple({one.name: one for one in (*self.key, *self.values)}.values())

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the cached rows: the columns of ``fields``, and the boolean column DELETED."""
        columns = [pa.field(one.name, one.type.to_arrow()) for one in self.fields]
        return pa.schema([*columns, pa.field(DELETED, pa.bool_())])


@dataclass
class CachedRows:
    """The rows of a dimension at a snapshot in segments, the oldest first."""

    dimension: Dimension
    segments: list[Segment] = field(default_factory=list)
    whole_reads: int = 0
    """How many times the table was read whole."""

    def find(self, keys: Sequence[pa.Array]) -> tuple[np.ndarray, Rows]:
        """Return the segment and the row of each key; both are -1 for a key without a row, and for a key with a
        null.
        """
        hashes = hash_rows(keys, [one.type for one in self.dimension.key])
        segment = np.full(len(hashes), -1, np.int64)
        row = np.full(len(hashes), -1, np.int64)
        left = np.flatnonzero(np.logical_and.reduce([key.is_valid().to_numpy(zero_copy_only=False) for key in keys]))
        for number in reversed(range(len(self.segments))):
            if not len(left):
                break
            whole = len(left) == len(hashes)
            wanted = keys if whole else [key.take(pa.array(left)) for key in keys]
            found = self.segments[number].find(wanted, hashes if whole else hashes[left])
            hit = found >= 0
            at, rows = left[hit], found[hit]
            deleted = np.asarray(self.segments[number].take(DELETED, rows).to_numpy(zero_copy_only=False), bool)
            segment[at[~deleted]], row[at[~deleted]] = number, rows[~deleted]
            left = left[~hit]
        return segment, row

    def values(self, column: str, segment: np.ndarray, row: Rows) -> pa.Array:
        """Return the values of a column in the rows that ``find`` returned; null for a row -1."""
        parts, places = [], np.full(len(row), -1, np.int64)
        count = 0
        for number in np.unique(segment[segment >= 0]).tolist():
            at = np.flatnonzero(segment == number)
            parts.append(self.segments[number].take(column, row[at]))
            places[at] = np.arange(count, count + len(at))
            count += len(at)
        kind = self.dimension.schema.field(column).type
        if not parts:
            return pa.nulls(len(row), kind)
        one = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        return one if count == len(row) and len(parts) == 1 else one.take(pa.array(places, mask=places < 0))

    # -- following the table

    def move_to(self, dimension: Dimension) -> None:
        """Change the rows to another snapshot of the table: apply the changes, or read the whole table."""
        before = self.dimension.position
        self.dimension = dimension
        if before == dimension.position and self.segments:
            return
        try:
            if not self.segments or not self._follow(before):
                self._read_all()
            self._join()
        except TooLarge:
            self.segments = []
            raise PipelineError(
                f"the looked-up columns of {dimension.name} need more than {dimension.most_bytes:,} bytes: set "
                "cache_bytes of the lookup, or join the tables with a source of type sql"
            ) from None
        except BaseException:
            self.segments = []
            raise

    def _read_all(self) -> None:
        dimension, view = self.dimension, self._view()
        self.segments = []
        self.whole_reads += 1
        names = [one.name for one in dimension.fields]
        found = iter(()) if view is None else view.scan(names).to_batches()
        rows = (self._row(batch, np.zeros(len(batch), bool)) for batch in found)
        self.segments = [Segment.of(rows, dimension.schema, self._key, dimension.most_bytes)]

    def _follow(self, after: Position) -> bool:
        """Add a segment with the rows that changed after a snapshot; return False when the changes are not known."""
        dimension, view = self.dimension, self._view()
        if view is None or not 0 < after[0] < dimension.position[0]:
            return False
        if not set(view.schema.partition_keys) <= set(view.schema.primary_keys):
            return False  # a key may move to another partition, and the order of its +I and -D is not known
        left = dimension.most_bytes - sum(one.size_bytes for one in self.segments)
        names, found, size = [one.name for one in dimension.fields], [], 0
        try:
            if position_of(view.context.snapshots.read(after[0])) != after:
                return False
            for batch in view.changes(after[0], dimension.position[0], columns=names).to_batches():
                size += batch.nbytes
                if size > left:
                    return False
                found.append(batch)
        except _UNKNOWN:
            return False
        changed = pa.Table.from_batches(found) if found else None
        if changed is not None and len(changed):
            last = self._newest(changed)
            removed = pc.is_in(last[ROWKIND], pa.array(["-D", "-U"])).to_numpy()
            rows = [self._row(batch, removed[at : at + len(batch)]) for at, batch in _numbered(last)]
            try:
                self.segments.append(Segment.of(rows, dimension.schema, self._key, left))
            except TooLarge:
                return False
        return True

    def _newest(self, changed: pa.Table) -> pa.Table:
        """Return the last change of each key."""
        names = [one.name for one in self.dimension.key]
        numbered = changed.select(names).append_column("number", pa.array(np.arange(len(changed))))
        last = numbered.group_by(names).aggregate([("number", "max")])["number_max"]
        return changed.take(last).combine_chunks()

    def _join(self) -> None:
        """Join the segments into one when there are many."""
        if len(self.segments) > MOST_SEGMENTS:
            dimension = self.dimension
            self.segments = [Segment.of(self._live(), dimension.schema, self._key, dimension.most_bytes)]

    def _live(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all segments that no newer segment replaces and that are not deleted."""
        for number, segment in enumerate(self.segments):
            hidden = segment.rows[DELETED].to_numpy().copy()
            for newer in self.segments[number + 1 :]:
                keys = [newer.rows[at].combine_chunks() for at in range(len(self._key))]
                found = segment.find(keys, hash_rows(keys, self._key))
                hidden[found[found >= 0]] = True
            for at, batch in _numbered(segment.rows):
                yield batch.filter(pa.array(~hidden[at : at + len(batch)]))

    @property
    def _key(self) -> list[DataType]:
        return [one.type for one in self.dimension.key]

    def _view(self) -> TableView | None:
        at = self.dimension.position
        return None if not at[0] else TableView(self.dimension.reference.open()).at(snapshot=at[0])

    def _row(self, batch: pa.RecordBatch, deleted: np.ndarray) -> pa.RecordBatch:
        columns = [batch[one.name].cast(one.type.to_arrow()) for one in self.dimension.fields]
        return pa.RecordBatch.from_arrays([*columns, pa.array(deleted)], schema=self.dimension.schema)


def _numbered(table: pa.Table) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the batches of a table, each with the number of its first row."""
    at = 0
    for batch in table.to_batches():
        yield at, batch
        at += len(batch)


_CACHES: dict[tuple[object, ...], CachedRows] = {}
MOST_CACHES = 16
"""A process keeps this many dimensions; the dimensions that were used last are kept."""


def open_dimension(dimension: Dimension) -> CachedRows:
    """Return the rows of a dimension; raises PipelineError when they are larger than ``most_bytes``."""
    reference = dimension.reference
    columns = tuple((one.id, one.name, str(one.type)) for one in dimension.fields)
    key = (reference.root, reference.branch, columns, tuple(one.name for one in dimension.key), dimension.most_bytes)
    cached = _CACHES.pop(key, None) or CachedRows(dimension)
    cached.move_to(dimension)
    while len(_CACHES) >= MOST_CACHES:
        del _CACHES[next(iter(_CACHES))]
    _CACHES[key] = cached
    return cached
