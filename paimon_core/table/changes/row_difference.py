"""Row difference: which rows one version of an append table has more often than the other, whatever files they are in.

Only files of one version alone are read, once. Rows of more than 64 MiB are spread over files on local disk by their
hash, so that equal rows are compared with each other and memory is bounded; with ``write-buffer-spillable`` = false
they are compared in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.aggregates.value_codes import same_object
from paimon_core.lsm.gather import contiguous
from paimon_core.metadata.context import TableContext
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.split_reader import read_split
from paimon_core.scan.changed_places import ChangedPlace, Part
from paimon_core.scan.row_ranges import pack_ranges, row_ranges
from paimon_core.scan.split import Packing, Split
from paimon_core.schema import KIND_FIELD, RowKind
from paimon_core.table.changes.row_hashes import row_hashes
from paimon_core.write.spill import SpilledRun, SpillSpace

BIN_BYTES = 64 << 20
_EXPANSION = 4
"""How many times larger rows are in memory than in their files, roughly."""
_MOST_BINS = 256


def row_difference(context: TableContext, group: ChangedPlace) -> Iterator[pa.Table]:
    """Yield the rows of a place that were removed (-D) or added (+I): all columns and ``_VALUE_KIND``.

    Equal rows count as often as they occur. Raises StorageError when local disk is full.
    """
    before, after = _alone(context, group)
    size = _EXPANSION * sum(part.file.file_size for part in (*before, *after))
    bins = min(_MOST_BINS, 1 + size // BIN_BYTES)
    space = SpillSpace.of(context.options) if bins > 1 else None
    if space is None:
        sides = [list(_rows(context, group.place[0], side)) for side in (before, after)]
        yield from _compared(context, *sides)
        return
    try:
        spilled = [_spread(context, space, _rows(context, group.place[0], side), bins) for side in (before, after)]
        for at in range(bins):
            sides = [[pa.Table.from_batches(run.batches()) for run in side[at]] for side in spilled]
            yield from _compared(context, *sides)
    finally:
        space.close()


def _alone(context: TableContext, group: ChangedPlace) -> tuple[Sequence[Part], Sequence[Part]]:
    """Return the files to compare: of a table with data evolution, all files of the ranges of row ids that differ."""
    if not context.evolves:
        return group.before, group.after
    sides = [_ranges((*group.common, *own)) for own in (group.before, group.after)]
    alone = [[unit for unit in own if unit not in other] for own, other in (sides, sides[::-1])]
    return [part for unit in alone[0] for part in unit], [part for unit in alone[1] for part in unit]


def _ranges(parts: Sequence[Part]) -> list[tuple[Part, ...]]:
    by_name = {part.file.file_name: part for part in parts}
    return [tuple(by_name[f.file_name] for f in files) for files in row_ranges([p.file for p in parts])]


def _rows(context: TableContext, partition: bytes, parts: Sequence[Part]) -> Iterator[pa.Table]:
    if context.evolves:
        for bucket in sorted({part.bucket for part in parts}):
            yield from _evolved(context, partition, [part for part in parts if part.bucket == bucket])
        return
    for part in parts:
        reader = BucketReader(context, partition, part.bucket, vectors=part.vectors)
        for batch in reader.file(part.file, context.schema.fields):
            yield pa.Table.from_batches([batch])


def _evolved(context: TableContext, partition: bytes, parts: Sequence[Part]) -> Iterator[pa.Table]:
    vectors = {name: vector for part in parts for name, vector in part.vectors.items()}
    for files, layout in pack_ranges([part.file for part in parts], Packing(BIN_BYTES, 1)):
        some = {f.file_name: vectors[f.file_name] for f in files if f.file_name in vectors}
        total, bucket = parts[0].total_buckets, parts[0].bucket
        split = Split(partition, bucket, total, 0, files, not layout, layout, vectors=some)
        yield from read_split(context, split, context.schema.names)


def _spread(context: TableContext, space: SpillSpace, tables: Iterator[pa.Table], bins: int) -> list[list[SpilledRun]]:
    """Return the rows as runs on local disk, by bin."""
    runs: list[list[SpilledRun]] = [[] for _ in range(bins)]
    held: list[pa.Table] = []

    def flush() -> None:
        if not held:
            return
        rows = pa.concat_tables(held)
        numbers = (row_hashes(rows, context.schema.fields) >> np.uint64(32)) % np.uint64(bins)
        for at in range(bins):
            chosen = rows.filter(pa.array(numbers == at))
            if len(chosen):
                runs[at].append(space.put(chosen.schema, iter(chosen.to_batches())))
        held.clear()

    for table in tables:
        held.append(table)
        if sum(t.nbytes for t in held) >= BIN_BYTES:
            flush()
    flush()
    return runs


def _compared(context: TableContext, before: Sequence[pa.Table], after: Sequence[pa.Table]) -> Iterator[pa.Table]:
    if not before and not after:
        return
    rows = pa.concat_tables([*before, *after])
    if not len(rows):
        return
    count = sum(map(len, before))
    numbers = _row_numbers(rows)
    weights = np.bincount(numbers[count:], minlength=len(rows)) - np.bincount(numbers[:count], minlength=len(rows))
    for kind, start, end, surplus in (
        (RowKind.DELETE, 0, count, -weights),
        (RowKind.INSERT, count, len(rows), weights),
    ):
        chosen = start + _surplus(numbers[start:end], surplus)
        if len(chosen):
            kinds = pa.array(np.full(len(chosen), kind, np.int8))
            yield rows.take(pa.array(chosen)).append_column(KIND_FIELD.arrow, kinds)


def _row_numbers(rows: pa.Table) -> npt.NDArray[np.int64]:
    """Return one integer per row below the number of rows; equal rows have the same."""
    found = np.zeros(len(rows), np.int64)
    for column in rows.columns:
        values = same_object(contiguous(column))
        pairs = found * (int(values.max(initial=0)) + 1) + values
        found = same_object(pa.array(pairs))
    return found


def _surplus(numbers: npt.NDArray[np.int64], surplus: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the positions of the first rows of each number, as many as ``surplus`` says."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    first = np.searchsorted(ordered, ordered, side="left")
    rank = np.arange(len(ordered)) - first
    return np.sort(order[rank < surplus[ordered]])
