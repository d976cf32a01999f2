"""Merge: sorted runs become one, a row per key (format 8.6, 9.1); also the fold of a write buffer.

The merge is whole-column: a window's keys are sorted once, each key's rows put into merge order, and a rule chooses or
combines them. ``deduplicate`` is the rule "the last row": it decides on the key, sequence and kind columns alone, and
every other column is read only at the rows that win. The heavy steps run in numpy and Arrow without the interpreter's
lock, so buckets can be merged in threads.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

import numpy as np
import pyarrow as pa

from paimon_core.errors import CorruptTable
from paimon_core.lsm.codes import Codes
from paimon_core.lsm.gather import gather
from paimon_core.lsm.groups import Groups, group, key_codes
from paimon_core.lsm.order import MergeOrder, is_add, sequence_numbers
from paimon_core.lsm.window import windows

__all__ = ["MergeOrder", "fold", "merge_runs", "sort_and_fold"]


def merge_runs(
    runs: Sequence[Iterator[pa.RecordBatch]],
    *,
    key: Sequence[str],
    order: MergeOrder,
    drop_deletes: bool,
    window_rows: int,
    columns: Sequence[str] | None = None,
    ignore_deletes: bool = False,
) -> Iterator[pa.Table]:
    """Merge ``runs``, given oldest first, into Tables that are sorted by ``key`` and hold one row per key.

    Every batch has the ``key`` columns, ``_SEQUENCE_NUMBER``, ``_VALUE_KIND``, the sequence fields and any others, in
    one schema; ``columns`` are those to emit (all by default). Of the rows of a key the last in ``order`` stays, and of
    full ties the one of the later run; then ``drop_deletes`` drops those of kind -U and -D. ``ignore_deletes`` (option
    ignore-delete) leaves such rows out before the merge. A single run is passed on without a merge.

    Memory is that of ``windows``. Closes the runs that are generators when it ends, however it ends. Raises
    CorruptTable when the keys of a run are not ascending.
    """
    try:
        if len(runs) == 1:
            pieces: Iterator[list[pa.Table | None]] = ([pa.Table.from_batches([batch])] for batch in runs[0])
        else:
            pieces = windows(runs, key, window_rows)
        for window in pieces:
            present = [piece for piece in window if piece is not None]
            names = present[0].column_names if columns is None else columns
            if ignore_deletes:
                present = [_adds(piece, piece.column_names) for piece in present]
            if len(present) == 1:
                merged = _adds(present[0], names) if drop_deletes else present[0].select(names)
            else:
                merged = _merge(present, key, order, drop_deletes, names)
            if len(merged):
                yield merged
    finally:
        for run in runs:
            if isinstance(run, Generator):
                run.close()


def sort_and_fold(rows: pa.Table, key: Sequence[str], order: MergeOrder) -> pa.Table:
    """``rows``, in arrival order, sorted by ``key`` with the last row of each key in ``order``, of any kind."""
    if len(rows) == 0:
        return rows
    ranks = None
    if order.sequence_fields or not _ascending(sequence_numbers(rows)):
        ranks = order.ranks(rows)
    return fold(rows, group(key_codes(rows, key), ranks), rows.column_names)


def fold(rows: pa.Table, groups: Groups, columns: Sequence[str]) -> pa.Table:
    """The merge engine: one row per group, here the last one (deduplicate, format 9.2).

    Another engine is another rule per column, a function of that column of ``rows`` and of ``groups``.
    """
    return gather(rows, groups.last, columns)


def _merge(
    pieces: list[pa.Table], key: Sequence[str], order: MergeOrder, drop_deletes: bool, columns: Sequence[str]
) -> pa.Table:
    """Merge the rows of one window; ``pieces`` are the runs' parts, oldest first."""
    in_sequence = None if order.sequence_fields else _by_sequence(pieces)
    rows = pa.concat_tables(in_sequence or pieces)
    codes = key_codes(rows, key)
    _check_sorted(codes, in_sequence or pieces, key)
    groups = group(codes, None if in_sequence else order.ranks(rows))
    if drop_deletes:
        groups = groups.keep(is_add(rows)[groups.last])
    return fold(rows, groups, columns)


def _by_sequence(pieces: list[pa.Table]) -> list[pa.Table] | None:
    """The pieces in order of their sequence numbers, when these do not overlap: then no row needs to be compared."""
    ranges = []
    for number, piece in enumerate(pieces):
        if len(piece):
            sequence = sequence_numbers(piece)
            ranges.append((int(sequence.min()), int(sequence.max()), number))
    ranges.sort()
    if any(later[0] <= earlier[1] for earlier, later in zip(ranges, ranges[1:], strict=False)):
        return None
    return [pieces[number] for _, _, number in ranges] or None


def _check_sorted(codes: Codes, pieces: list[pa.Table], key: Sequence[str]) -> None:
    start = 0
    for piece in pieces:
        run = codes[start : start + len(piece)]
        start += len(piece)
        if not _ascending(run):
            raise CorruptTable(
                f"a sorted run is not strictly ascending by {', '.join(key)}: its files cannot be merged", key=tuple(key)
            )


def _ascending(values: Codes) -> bool:
    return bool(np.all(values[1:] > values[:-1]))


def _adds(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """``columns`` of the rows of kind +I and +U; without a copy when that is all of them."""
    adds = is_add(rows)
    chosen = rows.select(columns)
    return chosen if adds.all() else chosen.filter(pa.array(adds))
