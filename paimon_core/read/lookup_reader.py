"""LookupReader: the rows of given keys in the higher levels of a bucket (format 10.6).

Keys are asked for in ascending order, a window at a time, so each level is read once, from its first key to its last.
Files without a key asked for are not opened, row groups without one not decoded: first by their statistics, then by a
pass over their key columns alone. Memory: what is asked for, and one batch per level.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.codec.binary_row import storage_values
from paimon_core.datafile.row_groups import row_group_keys
from paimon_core.lsm.key_order import SortKey, key_order, sort_key
from paimon_core.lsm.lookup import places, with_level
from paimon_core.lsm.sorted_run import by_key
from paimon_core.metadata.data_file import DataFile
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import DataField


class LookupReader:
    """Looks keys up in ``files``, which are of levels above 0; rows come as ``fields`` and their ``LEVEL``."""

    def __init__(self, reader: BucketReader, files: Sequence[DataFile], fields: Sequence[DataField]) -> None:
        levels = sorted({f.level for f in files})
        self._runs = [
            _Run(reader, [f for f in files if f.level == level], fields, beside=len(levels)) for level in levels
        ]

    def find(self, keys: pa.Table) -> list[pa.Table]:
        """The rows of those of the ``keys`` that exist, of each the one of the lowest level; a sorted table per level.

        ``keys`` has the columns ``_KEY_*``; they ascend strictly, here and from call to call.
        """
        found: list[pa.Table] = []
        for run in self._runs:
            if not len(keys):
                break
            rows = run.find(keys)
            if rows:
                found.append(pa.concat_tables(rows))
                open_ = np.ones(len(keys), np.bool_)
                open_[places(keys, found[-1], keys.column_names)] = False
                keys = keys.filter(pa.array(open_))
        return found


@dataclass(frozen=True, slots=True)
class _Unit:
    """A file that has not been opened, or one of its row groups; the bounds may name the first key columns only."""

    file: DataFile
    low: SortKey
    high: SortKey
    row_group: int | None = None


class _Run:
    """One level: what is left of it above the keys that were asked for."""

    def __init__(
        self, reader: BucketReader, files: Sequence[DataFile], fields: Sequence[DataField], *, beside: int
    ) -> None:
        schema = reader.context.schema
        order = key_order([f.type for f in schema.key_fields])
        self._reader = reader
        self._beside = beside
        self._fields = tuple(fields)
        self._key_fields = schema.file_key_fields
        self._units = deque(_Unit(f, order(f.min_key), order(f.max_key)) for f in by_key(files, order))
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._waiting: pa.RecordBatch | None = None

    def find(self, keys: pa.Table) -> list[pa.Table]:
        """The rows of those of the ``keys`` that this level holds."""
        found: list[pa.Table] = []
        start = 0
        while start < len(keys) and self._units:
            unit = self._units[0]
            start = self._first_at(keys, unit.low, start)
            end = self._first_above(keys, unit.high, start)
            if start == len(keys):
                break
            if start == end:
                self._pass()
            elif unit.row_group is None:
                self._open_file()
            elif self._batches is None and unit.low and not self._holds_any(unit, keys.slice(start, end - start)):
                if end == len(keys):
                    break
                self._pass()
            else:
                start = self._read(unit, keys, start, found)
        return found

    def _read(self, unit: _Unit, keys: pa.Table, start: int, found: list[pa.Table]) -> int:
        """Add the unit's rows of the keys from ``start`` on; the number of the first key that may lie above it."""
        if self._batches is None:
            groups = [unit.row_group or 0]
            self._batches = self._reader.file(unit.file, self._fields, groups, beside=self._beside)
        last = self._key_at(keys, len(keys) - 1)
        while True:
            batch = self._waiting if self._waiting is not None else next(self._batches, None)
            if batch is None:
                self._pass()
                return start
            read_to = self._key_at(batch, len(batch) - 1)
            above = self._first_above(keys, read_to, start)
            hits = places(keys.slice(start, above - start), batch, keys.column_names) >= 0
            if hits.any():
                found.append(pa.Table.from_batches([with_level(batch.filter(pa.array(hits)), unit.file.level)]))
            self._waiting = batch if read_to > last else None
            start = above
            if start == len(keys):
                return start
            if self._first_above(keys, unit.high, start) == start:
                self._pass()
                return start

    def _holds_any(self, unit: _Unit, keys: pa.Table) -> bool:
        last = self._key_at(keys, len(keys) - 1)
        for batch in self._reader.file(unit.file, self._key_fields, [unit.row_group or 0]):
            if (places(keys, batch, keys.column_names) >= 0).any():
                return True
            if self._key_at(batch, len(batch) - 1) >= last:
                break
        return False

    def _open_file(self) -> None:
        """Put the row groups of the first file in its place."""
        file = self._units.popleft().file
        ranges = row_group_keys(self._reader.context.storage, self._reader.path(file), self._key_fields)
        groups = [_Unit(file, sort_key(r.low), sort_key(r.high), number) for number, r in enumerate(ranges)]
        self._units.extendleft(reversed(groups))

    def _pass(self) -> None:
        self._units.popleft()
        self._batches = self._waiting = None

    def _first_at(self, keys: pa.Table, bound: SortKey, start: int) -> int:
        width = len(bound)
        return bisect_left(range(len(keys)), bound, start, key=lambda row: self._key_at(keys, row)[:width])

    def _first_above(self, keys: pa.Table, bound: SortKey, start: int) -> int:
        width = len(bound)
        return bisect_right(range(len(keys)), bound, start, key=lambda row: self._key_at(keys, row)[:width])

    def _key_at(self, rows: pa.Table | pa.RecordBatch, row: int) -> SortKey:
        return sort_key(storage_values(rows[f.name].slice(row, 1), f.type)[0] for f in self._key_fields)
