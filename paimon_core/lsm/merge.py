"""Merge: sorted runs become one, a row per key (format 8.6, 9.1); also the fold of a write buffer.

The merge is whole-column: a window's keys are sorted once, each key's rows put into merge order, and a rule chooses or
combines them. ``deduplicate`` is the rule "the last row": it decides on the key, sequence and kind columns alone, and
every other column is read only at the rows that win. The heavy steps run in numpy and Arrow without the interpreter's
lock, so buckets can be merged in threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from paimon_core.errors import CorruptTable
from paimon_core.lsm.codes import Codes
from paimon_core.lsm.gather import take
from paimon_core.lsm.groups import Groups, group, key_codes
from paimon_core.lsm.order import MergeOrder, is_add, sequence_numbers
from paimon_core.lsm.window import windows

__all__ = ["MergeOrder", "Rule", "fold", "last", "merge_runs", "sort_and_fold"]

Rule = Callable[[pa.ChunkedArray, Groups], pa.ChunkedArray]
"""A column of some rows and their groups, to one value per group."""


def merge_runs(
    runs: Sequence[Iterator[pa.RecordBatch]],
    *,
    key: Sequence[str],
    order: MergeOrder | None,
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

    ``order`` None: the runs are ``in_sequence``, the later run wins, and no sequence number is needed; nor are kinds,
    unless deletes are to be dropped or ignored.

    Memory is that of ``windows``. Raises CorruptTable when the keys of a run are seen not to ascend.
    """
    pieces: Iterator[list[pa.Table]] = (
        ([pa.Table.from_batches([batch])] for batch in runs[0]) if len(runs) == 1 else windows(runs, key, window_rows)
    )
    for window in pieces:
        if ignore_deletes:
            window = [_adds(piece) for piece in window]
        present = [piece for piece in window if len(piece)]
        if not present:
            continue
        names = present[0].column_names if columns is None else columns
        if len(present) > 1:
            merged = _merge(present, key, order, drop_deletes, names)
        else:
            merged = (_adds(present[0]) if drop_deletes else present[0]).select(names)
        if len(merged):
            yield merged


def sort_and_fold(rows: pa.Table, key: Sequence[str], order: MergeOrder) -> pa.Table:
    """``rows``, in arrival order, sorted by ``key`` with the last row of each key in ``order``, of any kind."""
    if len(rows) == 0:
        return rows
    ranks = None
    if order.sequence_fields or not _ascending(sequence_numbers(rows)):
        ranks = order.ranks(rows)
    return fold(rows, group(key_codes(rows, key), ranks), dict.fromkeys(rows.column_names, last))


def fold(rows: pa.Table, groups: Groups, rules: Mapping[str, Rule]) -> pa.Table:
    """One row per group: each named column of ``rows`` through its rule. The merge engine is this mapping."""
    schema = pa.schema([rows.schema.field(name) for name in rules])
    return pa.Table.from_arrays([rule(rows[name], groups) for name, rule in rules.items()], schema=schema)


def last(column: pa.ChunkedArray, groups: Groups) -> pa.ChunkedArray:
    """The rule of deduplicate: the value of each group's last row (format 9.2)."""
    return take(column, groups.last)


def _merge(
    pieces: list[pa.Table], key: Sequence[str], order: MergeOrder | None, drop_deletes: bool, columns: Sequence[str]
) -> pa.Table:
    """Merge the rows of one window; ``pieces`` are the runs' parts, oldest first."""
    in_sequence = pieces if order is None else None if order.sequence_fields else _by_sequence(pieces)
    rows = pa.concat_tables(in_sequence or pieces)
    codes = key_codes(rows, key)
    _check_sorted(codes, in_sequence or pieces, key)
    groups = group(codes, None if in_sequence or order is None else order.ranks(rows))
    if drop_deletes:
        groups = groups.keep(is_add(rows)[groups.last])
    return fold(rows, groups, dict.fromkeys(columns, last))


def _by_sequence(pieces: list[pa.Table]) -> list[pa.Table] | None:
    """The pieces in order of their sequence numbers, when these do not overlap: then no row needs to be compared."""
    numbers = [sequence_numbers(piece) for piece in pieces]
    ranges = sorted((int(n.min()), int(n.max()), position) for position, n in enumerate(numbers))
    if any(later[0] <= earlier[1] for earlier, later in pairwise(ranges)):
        return None
    return [pieces[position] for _, _, position in ranges]


def _check_sorted(codes: Codes, pieces: list[pa.Table], key: Sequence[str]) -> None:
    start = 0
    for piece in pieces:
        run = codes[start : start + len(piece)]
        start += len(piece)
        if not _ascending(run):
            raise CorruptTable(
                f"a sorted run is not strictly ascending by {', '.join(key)}: its files cannot be merged",
                key=tuple(key),
            )


def _ascending(values: Codes) -> bool:
    return bool(np.all(values[1:] > values[:-1]))


def _adds(rows: pa.Table) -> pa.Table:
    """The rows of kind +I and +U; without a copy when that is all of them."""
    adds = is_add(rows)
    return rows if adds.all() else rows.filter(pa.array(adds))
