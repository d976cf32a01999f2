"""Row difference: finds the rows that one version of an append table has more often than the other version, in any
file.

Only files that one version has and the other version lacks are read. Each of these files is read once to compute the
hashes of its rows. A file with rows that differ is read again, unless its rows are among the first ``_HELD_BYTES``,
which are held in memory. Rows with equal hashes of 128 bits count as equal (decision 0045). Memory: a batch of rows,
the rows that are held, 1 byte per row, and the hashes of ``BIN_ROWS`` rows. More hashes are written to files on local
disk. With ``write-buffer-spillable`` = false, all hashes are in memory, 24 bytes per row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from paimon_core.arrow.byte_budget import decoded_bytes
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.lsm.gather import decoded
from paimon_core.metadata.context import TableContext
from paimon_core.plan.changed_places import ChangedPlace, Part
from paimon_core.plan.row_ranges import pack_ranges, row_ranges
from paimon_core.plan.split import Packing, Split
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.schema import KIND_FIELD, RowKind
from paimon_core.table.changes.hash_difference import Flags, HashedRows, surplus
from paimon_core.table.changes.row_hashes import wide_row_hashes

_SPLIT_BYTES = 64 << 20
_HELD_BYTES = 32 << 20
_KINDS = (RowKind.DELETE, RowKind.INSERT)


def row_difference(context: TableContext, group: ChangedPlace) -> Iterator[pa.Table]:
    """Yield the rows of a place that were removed (-D) or added (+I): all columns and ``_VALUE_KIND``.

    Equal rows are counted: a row that one version has n times more often than the other is yielded n times. Raises
    StorageError when local disk is full.
    """
    sides = [list(_units(context, group.place[0], parts)) for parts in _alone(context, group)]
    held = _Held()
    with HashedRows(context.options, sum(unit.row_count for side in sides for unit in side)) as hashed:
        counts = [[_hash(context, unit, hashed, number, held) for unit in side] for number, side in enumerate(sides)]
        chosen = surplus(hashed)
    for kind, side, rows_of, flags in zip(_KINDS, sides, counts, chosen, strict=True):
        for unit, own in zip(side, np.split(flags, np.cumsum(rows_of))[:-1], strict=True):
            if own.any():
                for rows in _chosen(held.rows[unit], own) if unit in held.rows else unit.chosen(own):
                    yield rows.append_column(KIND_FIELD.arrow, pa.array(np.full(len(rows), kind, np.int8)))


@dataclass
class _Held:
    """The rows of the first units (files or row id ranges) of a place, which together fit in ``_HELD_BYTES``."""

    rows: dict[_Unit, list[pa.Table]] = field(default_factory=dict)
    left_bytes: int = _HELD_BYTES


def _hash(context: TableContext, unit: _Unit, hashed: HashedRows, side: int, held: _Held) -> int:
    """Add the hashes of the rows of a unit, and keep its rows while there is memory; return the number of rows."""
    before, rows, size = hashed.counts[side], [], 0
    for some in unit.rows():
        hashed.add(side, wide_row_hashes(some, context.schema.fields))
        size += decoded_bytes(some)
        if size <= held.left_bytes:
            rows.append(some)
        else:
            held.left_bytes = 0
            rows.clear()
    if size <= held.left_bytes:
        held.rows[unit] = rows
        held.left_bytes -= size
    return hashed.counts[side] - before


def _chosen(batches: Iterable[pa.Table], flags: Flags) -> Iterator[pa.Table]:
    """Yield the rows whose flag is true; ``flags`` has one flag per row of all batches."""
    start = 0
    for rows in batches:
        kept = rows.filter(pa.array(flags[start : start + len(rows)]))
        start += len(rows)
        if len(kept):
            yield decoded(kept)


def _alone(context: TableContext, group: ChangedPlace) -> tuple[Sequence[Part], Sequence[Part]]:
    """Return the files to compare of each side; with data evolution, all files of the row id ranges that differ."""
    if not context.evolves:
        return group.before, group.after
    sides = [_ranges((*group.common, *own)) for own in (group.before, group.after)]
    alone = [[unit for unit in own if unit not in other] for own, other in (sides, sides[::-1])]
    return [part for unit in alone[0] for part in unit], [part for unit in alone[1] for part in unit]


def _ranges(parts: Sequence[Part]) -> list[tuple[Part, ...]]:
    by_name = {part.file.file_name: part for part in parts}
    return [tuple(by_name[f.file_name] for f in files) for files in row_ranges([p.file for p in parts])]


@dataclass(frozen=True, eq=False)
class _File:
    """The rows of one file."""

    context: TableContext
    partition: bytes
    part: Part

    @property
    def row_count(self) -> int:
        return self.part.file.row_count

    @cached_property
    def _reader(self) -> BucketReader:
        return BucketReader(self.context, self.partition, self.part.bucket, vectors=self.part.vectors)

    def rows(self) -> Iterator[pa.Table]:
        """Yield all rows; text columns may be dictionary arrays."""
        fields = self.context.schema.fields
        for batch in self._reader.file(self.part.file, fields, FileRequest(encoded=self.context.schema.names)):
            yield pa.Table.from_batches([batch])

    def chosen(self, flags: Flags) -> Iterator[pa.Table]:
        """Yield the rows of ``rows`` whose flag is true."""
        live = np.ones(self.row_count, np.bool_)
        deleted = self._reader.deleted(self.part.file)
        if deleted is not None:
            live[deleted] = False
        live[live] = flags
        for batch in self._reader.file(self.part.file, self.context.schema.fields, FileRequest(rows=live)):
            yield pa.Table.from_batches([batch])


@dataclass(frozen=True, eq=False)
class _Ranges:
    """The rows of some ranges of row ids in a table with data evolution."""

    context: TableContext
    split: Split

    @property
    def row_count(self) -> int:
        return self.split.row_count

    def rows(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        return read_split(self.context, self.split, ReadRequest(self.context.schema.names))

    def chosen(self, flags: Flags) -> Iterator[pa.Table]:
        """Yield the rows of ``rows`` whose flag is true."""
        return _chosen(self.rows(), flags)


_Unit = _File | _Ranges


def _units(context: TableContext, partition: bytes, parts: Sequence[Part]) -> Iterator[_Unit]:
    if not context.evolves:
        yield from (_File(context, partition, part) for part in parts)
        return
    for bucket in sorted({part.bucket for part in parts}):
        own = [part for part in parts if part.bucket == bucket]
        vectors = {name: vector for part in own for name, vector in part.vectors.items()}
        for files, layout in pack_ranges([part.file for part in own], Packing(_SPLIT_BYTES, 1)):
            some = {f.file_name: vectors[f.file_name] for f in files if f.file_name in vectors}
            yield _Ranges(
                context, Split(partition, bucket, own[0].total_buckets, 0, files, not layout, layout, vectors=some)
            )
