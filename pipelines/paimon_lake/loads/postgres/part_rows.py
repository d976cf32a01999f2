"""Part rows: reads rows of a source table of PostgreSQL as rows of a part of a wide table, and removes the values of
the part.

All rows of one load have the same number in the column that orders the rows of the part. A copy and a TRUNCATE also
remove the values of rows that the source does not have any more: a task reads the keys of the part at the snapshot on
which the load builds, in batches, and writes a row -D for each. If such a row removes the whole row of the table, no
row -D is written for a key that the load writes anyway, because the columns of other parts would be lost. For this, the
keys that the load writes are in mapped files, at most ``KEY_BYTES``, and take 24 bytes of memory a row while they are
sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core import col
from paimon_core.codec.binary_row.bucket_hash import hash_rows
from paimon_core.spark.reference import TableReference
from paimon_core.table.view import TableView
from paimon_lake.loads.database import DatabaseRead
from paimon_lake.loads.lookup.segment import Segment, TooLarge
from paimon_lake.loads.postgres.stored_rows import StoredRows
from paimon_lake.protocol import KIND, PipelineError, size_text
from paimon_lake.sources.files.rejects import Parsed, no_rejects
from paimon_lake.sources.postgres.change_rows import ChangeRows, CurrentRows

KEY_BYTES = 1 << 30
"""The greatest size of the keys of a source, or of a batch, if deletions remove whole rows of the wide table."""
REMOVE = b""
"""The payload of the task that removes values before a copy."""


@dataclass(frozen=True)
class PartRows:
    """How rows of the source become rows of the part: with the number of the load, and a kind."""

    column: str
    """The column that orders the rows of the part."""
    number: int

    def __call__(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with the number and the column ``KIND``; rows without ``KIND`` get +U."""
        kinds = pa.repeat(pa.scalar("+U"), len(rows))
        if KIND in rows.schema.names:
            kinds, rows = rows[KIND], rows.drop_columns([KIND])
        numbers = pa.repeat(pa.scalar(self.number, pa.int64()), len(rows))
        return rows.append_column(self.column, numbers).append_column(KIND, kinds)


@dataclass(frozen=True)
class Removal:
    """Removes the values that a part has at a snapshot of the wide table."""

    table: TableReference
    snapshot: int
    filled: tuple[str, ...]
    """The columns of the part."""
    schema: pa.Schema
    """The columns that rows of the source have."""
    rows: PartRows
    removes_rows: bool
    """Whether a row -D removes the whole row of the table."""
    most_bytes: int

    def __call__(self, written: Callable[[], Iterable[pa.RecordBatch]]) -> Iterator[Parsed]:
        """Yield a row -D for each key of the part; these rows count as rows read, but not in the share of rejects.

        ``written``: the other rows that the load writes; no row is yielded for the key of such a row when a row -D
        removes whole rows.
        """
        context = self.table.open()  # with the columns of this load, which the schema of the snapshot may lack
        table = TableView(context, context.snapshots.read(self.snapshot))
        key, kept = list(table.schema.primary_keys), None
        has_values = reduce(or_, (col(name).is_not_null() for name in self.filled))
        for keys in table.scan(key, where=has_values).to_batches():
            if self.removes_rows and len(keys):
                kept = self._keys_of(table, written()) if kept is None else kept
                found = kept.find(keys.columns, hash_rows(keys.columns, kept.key))
                keys = keys.filter(pa.array(found < 0))
            columns = [
                keys[one.name].cast(one.type) if one.name in key else pa.nulls(len(keys), one.type)
                for one in self.schema
            ]
            rows = pa.RecordBatch.from_arrays(
                columns, schema=pa.schema([one.with_nullable(True) for one in self.schema])
            )
            rows = self.rows(rows.append_column(KIND, pa.repeat(pa.scalar("-D"), len(rows))))
            yield Parsed(rows, no_rejects(), len(rows), removals=len(rows))

    def _keys_of(self, table: TableView, written: Iterable[pa.RecordBatch]) -> Segment:
        fields = [table.schema.by_name[name] for name in table.schema.primary_keys]
        schema = pa.schema([(one.name, one.type.to_arrow()) for one in fields])
        keys = (batch.select(schema.names).cast(schema) for batch in written)
        try:
            return Segment.of(keys, schema, [one.type for one in fields], self.most_bytes)
        except TooLarge:
            raise PipelineError(
                f"the keys of the source take more than {size_text(self.most_bytes)}, and with `deletes: row` a copy "
                "must know which rows stay: remove `deletes: row`"
            ) from None


@dataclass(frozen=True)
class PartStoredRows:
    """The values of a part by key: a row that only other parts fill, or whose values of the part were removed, does not
    exist.

    A value that the log does not repeat is never null, so a row with null in all requested columns has no values of the
    part.
    """

    stored: StoredRows

    def __call__(self, keys: pa.Table, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
        """Return some columns of the rows with these keys, as ``StoredRows`` does."""
        found, exist = self.stored(keys, columns)
        has = (np.asarray(pc.is_valid(column).combine_chunks()) for column in found.columns)
        return found, exist & np.logical_or.reduce(list(has))


@dataclass(frozen=True)
class CopiedPart:
    """Reads a range of the source in a task; the task with the payload ``REMOVE`` removes the older values."""

    read: DatabaseRead
    queries: tuple[str, ...]
    """The queries of all tasks."""
    snapshot: str
    rows: PartRows
    removal: Removal | None

    def __call__(self, payload: bytes) -> Iterator[Parsed]:
        """Yield the rows of one task."""
        if payload == REMOVE:
            assert self.removal is not None
            yield from self.removal(self._written)
            return
        for parsed in self._parsed([payload.decode()]):
            yield replace(parsed, rows=self.rows(parsed.rows), file=self.read.database.name)

    def _written(self) -> Iterator[pa.RecordBatch]:
        return (parsed.rows for parsed in self._parsed(self.queries))

    def _parsed(self, queries: Sequence[str]) -> Iterator[Parsed]:
        with self.read.database.connected(self.snapshot) as connection:
            for query in queries:
                yield from map(self.read.rows.parsed, connection.batches(query))


@dataclass(frozen=True)
class ChangedPart:
    """Converts a batch of changes in a task; for a TRUNCATE, it first removes all values of the part."""

    changes: ChangeRows
    stored: CurrentRows
    name: str
    """The name of the source in rejects."""
    rows: PartRows
    removal: Removal | None

    def __call__(self, payload: bytes) -> Iterator[Parsed]:
        """Yield the rows of the batch."""
        if self.removal is not None:
            yield from self.removal(lambda: self._written(payload))
        for parsed in self._parsed(payload):
            yield replace(parsed, rows=self.rows(parsed.rows), file=self.name)

    def _written(self, payload: bytes) -> Iterator[pa.RecordBatch]:
        return (one.rows.filter(pc.not_equal(one.rows[KIND], "-D")) for one in self._parsed(payload))

    def _parsed(self, payload: bytes) -> Iterator[Parsed]:
        for batch in pa.ipc.open_stream(payload):
            yield from self.changes.in_slices(batch, self.stored)
