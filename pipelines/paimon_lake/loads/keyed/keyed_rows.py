"""Keyed rows: reads the rows of a part of a wide table whose source row or mapping row changed.

A row of the wide table has the values of the source row that its mapping row names. So the row changes when the source
row changes; the index of the mapping table finds such rows. The row also changes when the mapping row changes; then the
new source row is looked up. Only a load of all rows reads the wide table itself, to remove values that belong to no
source row any more.

The changed rows of the source and of the mapping table are held in memory, at most ``most_bytes`` of each; the tables
themselves are in the cache of the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa

from paimon_core import col
from paimon_core.codec.binary_row.bucket_hash import hash_rows
from paimon_core.metadata.commit_message import Position
from paimon_core.schema import DataField
from paimon_core.spark.reference import TableReference
from paimon_core.table.view import TableView
from paimon_lake.loads.keyed.mapping_index import find_all
from paimon_lake.loads.keyed.net_changes import Mask, NetChanges, net_changes
from paimon_lake.loads.lookup.dimension import CachedRows, Dimension, open_dimension
from paimon_lake.loads.lookup.segment import Rows, Segment
from paimon_lake.protocol import KIND
from paimon_lake.sources.files.rejects import Parsed, no_rejects

_BATCH_ROWS = 1 << 16
_SOURCE_ROWS = 1 << 12
"""The number of changed source rows whose rows in the mapping table are found at once."""

Columns = Sequence[pa.Array]


@dataclass(frozen=True)
class KeyedRows:
    """The values that a task needs to find the rows of one load."""

    source: Dimension
    mapping: Dimension
    """The mapping table, with the key of the wide table."""
    on: tuple[str, ...]
    """The columns of the mapping table that have the key of the source, in the order of ``source.key``."""
    key: tuple[str, ...]
    """The key of the wide table, in the order of ``mapping.key``."""
    columns: Mapping[str, str]
    """Maps a column of the wide table to a column of the source."""
    fields: tuple[DataField, ...]
    """The columns of the wide table that are written."""
    order: tuple[str, int]
    """The column that orders the rows of the part, and its value in this load."""
    since: tuple[Position, Position] | None
    """The snapshots of the source and of the mapping table after which the changes are loaded; None: load all rows."""
    wide: TableReference | None = None
    """The wide table, for a load of all rows; rows of the wide table without a source row lose their values."""

    def parsed(self) -> Iterator[Parsed]:
        """Yield the rows, with the column ``KIND``; -D sets the columns of the part to null."""
        for rows in self._all() if self.since is None else self._changed(*self.since):
            yield Parsed(rows, no_rejects(), len(rows))

    # -- only the changes

    def _changed(self, source_since: Position, mapping_since: Position) -> Iterator[pa.RecordBatch]:
        source = self._changes(self.source, source_since)
        mapping = self._changes(self.mapping, mapping_since)
        if len(source.has):
            yield from self._of_source(source, self._keys_of(mapping, self.mapping))
        if len(mapping.has):
            yield from self._of_mapping(mapping, source, self._keys_of(source, self.source))

    def _changes(self, table: Dimension, since: Position) -> NetChanges:
        key, values = [one.name for one in table.key], [one.name for one in table.values]
        return net_changes(_view(table), since, key, values, table.most_bytes)

    def _keys_of(self, changes: NetChanges, table: Dimension) -> Segment:
        """Return the changed keys of a table as a segment, in which a key is found by its value."""
        fields = [pa.field(one.name, one.type.to_arrow()) for one in table.key]
        keys = pa.table([changes.after[one.name] for one in fields], schema=pa.schema(fields))
        return Segment.of(keys.to_batches(), keys.schema, [one.type for one in table.key], 2 * table.most_bytes)

    def _of_source(self, source: NetChanges, mapping_changed: Segment) -> Iterator[pa.RecordBatch]:
        """Yield the rows whose source row changed and whose mapping row did not change."""
        cached = open_dimension(self.mapping)
        types = [one.type for one in self.source.key]
        for at in range(0, len(source.has), _SOURCE_ROWS):
            part = source.after.slice(at, _SOURCE_ROWS)
            values = [part[one.name].combine_chunks() for one in self.source.key]
            for found in find_all(cached, self.on, types, values):
                for begin in range(0, len(found.rows), _BATCH_ROWS):
                    which = at + found.which[begin : begin + _BATCH_ROWS]
                    rows = found.rows[begin : begin + _BATCH_ROWS]
                    keys = [found.segment.take(one.name, rows) for one in self.mapping.key]
                    kept = _find(mapping_changed, keys) < 0
                    wanted = pa.array(which[kept])
                    new = {name: source.after[theirs].take(wanted) for name, theirs in self.columns.items()}
                    yield self._rows([one.filter(pa.array(kept)) for one in keys], new, ~source.has[which[kept]])

    def _of_mapping(self, mapping: NetChanges, source: NetChanges, source_changed: Segment) -> Iterator[pa.RecordBatch]:
        """Yield the rows whose mapping row changed, with the values of the source row that the mapping row names now.

        A row that lost its source row is yielded as -D; a row that never had a source row is left out.
        """
        cached = open_dimension(self.source)
        for at in range(0, len(mapping.has), _BATCH_ROWS):
            now, before = (one.slice(at, _BATCH_ROWS) for one in (mapping.after, mapping.before))
            had, has = mapping.had[at : at + _BATCH_ROWS], mapping.has[at : at + _BATCH_ROWS]
            segment, row = cached.find(self._names(now))
            segment[~has] = row[~has] = -1
            had &= self._existed(cached, source, source_changed, self._names(before))
            keys = [now[one.name].combine_chunks() for one in self.mapping.key]
            yield self._rows_of(cached, keys, segment, row, had)

    def _names(self, mapping: pa.Table | pa.RecordBatch) -> list[pa.Array]:
        """Return the key of the source row of each mapping row, as one array per key column."""
        columns = [mapping[name] for name in self.on]
        return [one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one for one in columns]

    def _existed(self, cached: CachedRows, source: NetChanges, changed: Segment, names: Columns) -> Mask:
        """Return for each key of the source whether its row existed before the changes."""
        at = _find(changed, names)
        existed = cached.find(names)[1] >= 0
        existed[at >= 0] = source.had[at[at >= 0]]
        return existed

    # -- all rows

    def _all(self) -> Iterator[pa.RecordBatch]:
        cached = open_dimension(self.source)
        names = [one.name for one in self.mapping.fields]
        for batch in _view(self.mapping).scan(names).to_batches():
            segment, row = cached.find(self._names(batch))
            keys = [batch[one.name] for one in self.mapping.key]
            yield self._rows_of(cached, keys, segment, row, np.zeros(len(row), bool))
        if self.wide is not None:
            yield from self._without_source(TableView(self.wide.open()), cached)

    def _without_source(self, wide: TableView, cached: CachedRows) -> Iterator[pa.RecordBatch]:
        """Yield a row -D for each row of the wide table that has values of the part, and no source row."""
        mapping = open_dimension(self.mapping)
        has_values = reduce(or_, (col(name).is_not_null() for name in (self.order[0], *self.columns)))
        for batch in wide.scan(list(self.key), has_values).to_batches():
            keys = [batch[name] for name in self.key]
            at = mapping.find(keys)
            segment, row = cached.find([mapping.values(name, *at) for name in self.on])
            gone = row < 0
            lost = [one.filter(pa.array(gone)) for one in keys]
            yield self._rows_of(cached, lost, segment[gone], row[gone], np.ones(len(lost[0]), bool))

    # -- rows of the wide table

    def _rows_of(self, cached: CachedRows, keys: Columns, segment: Rows, row: Rows, had: Mask) -> pa.RecordBatch:
        """Return rows with the values of source rows; for a missing source row (-1), return a row -D if ``had``, else
        no row.
        """
        kept = (row >= 0) | had
        segment, row = segment[kept], row[kept]
        values = {name: cached.values(theirs, segment, row) for name, theirs in self.columns.items()}
        return self._rows([one.filter(pa.array(kept)) for one in keys], values, row < 0)

    def _rows(self, keys: Columns, values: Mapping[str, pa.Array], deletes: Mask) -> pa.RecordBatch:
        columns = {**dict(zip(self.key, keys, strict=True)), **values}
        columns[self.order[0]] = pa.repeat(pa.scalar(self.order[1], pa.int64()), len(deletes))
        found = []
        for one in self.fields:
            column = columns[one.name]
            column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            found.append(column.cast(one.type.to_arrow()))
        kinds = pa.array(["+U", "-D"]).take(pa.array(deletes.astype(np.int8)))
        return pa.RecordBatch.from_arrays([*found, kinds], [*(one.name for one in self.fields), KIND])


def _find(segment: Segment, keys: Columns) -> Rows:
    """Return the row of each key in a segment; -1 for a key without a row."""
    return segment.find(keys, hash_rows(keys, segment.key))


def _view(table: Dimension) -> TableView:
    return TableView(table.reference.open()).at(snapshot=table.position[0])
