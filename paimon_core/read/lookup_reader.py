"""LookupReader: find the rows of given keys in the higher levels of a bucket (format 10.6).

The keys are passed in ascending order, one window at a time, so each level is read at most once, from the first
requested key to the last requested key. Files whose key range contains no requested key are not opened. Row groups
without a requested key are seldom decoded completely: statistics exclude some row groups, and of others the key columns
are read first, unless many keys are requested and the row group before had some of them. Memory: the requested rows,
and one batch per level.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from paimon_core.codec.arrays import Positions
from paimon_core.codec.binary_row.rows import storage_values
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.datafile.reading.row_groups import row_group_keys
from paimon_core.lsm.key_order import SortKey, key_order, sort_key
from paimon_core.lsm.lookup import places, with_level
from paimon_core.lsm.sorted_run import by_key
from paimon_core.metadata.data_file import DataFile
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import DataField

Marks = dict[str, list[Positions]]
"""For each file name, the positions of the rows that deletion vectors will delete."""
_POSITION = "\x00position"
_MANY_KEYS = 1 << 10
"""If so many keys are requested of a row group, and keys were found before, its other columns are read at once."""


class LookupReader:
    """Finds keys in ``files``, all in levels above 0; the rows found have the columns ``fields`` and ``LEVEL``."""

    def __init__(
        self,
        reader: BucketReader,
        files: Sequence[DataFile],
        fields: Sequence[DataField],
        marks: Marks | None = None,
    ) -> None:
        """Create a reader; the positions of all rows that it finds are added to ``marks``.

        The marks include rows that ``reader.keep`` filters out, although ``find`` does not return these rows.
        """
        levels = sorted({f.level for f in files})
        self._runs = [
            _Run(reader, [f for f in files if f.level == level], fields, marks, beside=len(levels)) for level in levels
        ]

    @property
    def has_files(self) -> bool:
        """Whether there is a file in which keys could be found."""
        return bool(self._runs)

    def find(self, keys: pa.Table) -> list[pa.Table]:
        """Return, for each of the ``keys`` that exists, its row in the lowest level; one sorted table per level.

        ``keys`` has the columns ``_KEY_*``, strictly ascending within a call and from call to call.
        """
        found: list[pa.Table] = []
        for run in self._runs:
            if not len(keys):
                break
            rows = run.find(keys)
            if rows:
                found.append(pa.concat_tables(rows))
                missing = np.ones(len(keys), np.bool_)
                missing[places(keys, found[-1], keys.column_names)] = False
                keys = keys.filter(pa.array(missing))
        return found


@dataclass(frozen=True, slots=True)
class _Unit:
    """A file that is not opened yet, or one row group of an opened file.

    ``low`` and ``high`` are the bounds of the keys; a bound may contain only the first columns of the key.
    """

    file: DataFile
    low: SortKey
    high: SortKey
    row_group: int | None = None


class _Run:
    """The unread part of one level: the files and row groups above all keys that were requested before."""

    def __init__(
        self,
        reader: BucketReader,
        files: Sequence[DataFile],
        fields: Sequence[DataField],
        marks: Marks | None,
        *,
        beside: int,
    ) -> None:
        schema = reader.context.schema
        order = key_order([f.type for f in schema.key_fields])
        # The positions of rows that ``reader.keep`` filters out are added to ``marks`` as well: these rows are still
        # visible in their file.
        self._reader = reader if marks is None else replace(reader, keep=None)
        self._keep = reader.keep
        self._beside = beside
        self._marks = marks
        self._fields = tuple(fields)
        self._key_fields = schema.file_key_fields
        self._units = deque(_Unit(f, order(f.min_key), order(f.max_key)) for f in by_key(files, order))
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._has_hits = False
        """Whether the last row group that was looked at has a requested key."""
        self._waiting: pa.RecordBatch | None = None

    def find(self, keys: pa.Table) -> list[pa.Table]:
        """Return the rows of the ``keys`` that this level contains."""
        found: list[pa.Table] = []
        start = 0
        while start < len(keys) and self._units:
            unit = self._units[0]
            start = self._first_at(keys, unit.low, start)
            end = self._first_above(keys, unit.high, start)
            if start == len(keys):
                break
            if start == end:
                self._next_unit()
            elif unit.row_group is None:
                self._open_file()
            elif not self._may_hold_any(unit, keys.slice(start, end - start)):
                if end == len(keys):
                    break
                self._next_unit()
            else:
                start = self._read(unit, keys, start, found)
        return found

    def _read(self, unit: _Unit, keys: pa.Table, start: int, found: list[pa.Table]) -> int:
        """Add the unit's rows of the keys from position ``start`` on to ``found``.

        Return the position of the first key that is still to be looked up.
        """
        if self._batches is None:
            position = None if self._marks is None else _POSITION
            request = FileRequest(row_groups=[unit.row_group or 0], position=position)
            self._batches = self._reader.file(unit.file, self._fields, request, beside=self._beside)
        last = self._key_at(keys, len(keys) - 1)
        while True:
            batch = self._waiting if self._waiting is not None else next(self._batches, None)
            if batch is None:
                self._next_unit()
                return start
            read_to = self._key_at(batch, len(batch) - 1)
            above = self._first_above(keys, read_to, start)
            hits = np.flatnonzero(places(keys.slice(start, above - start), batch, keys.column_names) >= 0)
            if len(hits):
                self._has_hits = True
                if len(rows := self._found(batch.take(pa.array(hits)), unit.file)):
                    found.append(rows)
            self._waiting = batch if read_to > last else None
            start = above
            if start == len(keys):
                return start
            if self._first_above(keys, unit.high, start) == start:
                self._next_unit()
                return start

    def _found(self, rows: pa.RecordBatch, file: DataFile) -> pa.Table:
        if self._marks is not None:
            self._marks.setdefault(file.file_name, []).append(np.asarray(rows[_POSITION]))
            rows = rows.drop_columns([_POSITION])
            rows = rows if self._keep is None else self._keep(rows)
        return pa.Table.from_batches([with_level(rows, file.level)])

    def _may_hold_any(self, unit: _Unit, keys: pa.Table) -> bool:
        """Whether the rest of the unit may have one of the keys.

        The keys of a row group are read first if few keys are requested, or the row group before had none of them.
        """
        if self._batches is not None or not unit.low:
            return True
        expected, self._has_hits = self._has_hits, False
        if expected and len(keys) >= _MANY_KEYS:
            return True
        last = self._key_at(keys, len(keys) - 1)
        request = FileRequest(row_groups=[unit.row_group or 0])
        for batch in self._reader.file(unit.file, self._key_fields, request):
            if (places(keys, batch, keys.column_names) >= 0).any():
                return True
            if self._key_at(batch, len(batch) - 1) >= last:
                break
        return False

    def _open_file(self) -> None:
        """Replace the first unit, a file, by one unit for each of its row groups."""
        file = self._units.popleft().file
        ranges = row_group_keys(self._reader.context.storage, self._reader.path(file), self._key_fields)
        groups = [_Unit(file, sort_key(r.low), sort_key(r.high), number) for number, r in enumerate(ranges)]
        self._units.extendleft(reversed(groups))

    def _next_unit(self) -> None:
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
