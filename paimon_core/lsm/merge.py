"""Merge: combines several sorted runs into one sorted run with one row per key (format 8.6, 9.1).

The merge works on whole columns: the keys of a window are sorted once, the rows of each key are put into merge order,
and the merge engine selects or combines them. The expensive steps run in numpy and Arrow without Python's global
interpreter lock, so that threads can merge buckets in parallel.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.positions import by_nulls, last_valid, take_or_null
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.gather import Positions, Rows, decoded, joined, scratch, take, take_rows, with_contiguous
from paimon_core.lsm.key_groups import Groups, Ranks, group, group_runs, newest_rows
from paimon_core.lsm.key_windows import not_ascending, windows
from paimon_core.lsm.key_words import KeyWords
from paimon_core.lsm.lookup import LEVEL, without_older_states
from paimon_core.lsm.merge_order import MergeOrder, is_add, sequence_numbers
from paimon_core.lsm.order_codes import Ints, parts
from paimon_core.predicate import BoundPredicate
from paimon_core.predicate.row_mask import row_mask
from paimon_core.schema import VALUE_KIND
from paimon_core.work_ahead import made_ahead


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Keeps the merged rows for which ``where`` is true."""

    where: BoundPredicate

    def kept(self, rows: pa.Table) -> pa.Table:
        """Return the merged rows for which ``where`` is true, in order."""
        return rows.filter(self.where.mask(rows))

    def positions(self, rows: pa.Table, positions: Rows) -> Rows:
        """Return the ``positions`` of rows for which ``where`` is true, in order.

        Only the columns of ``where`` are copied.
        """
        columns = sorted(self.where.columns)
        if not columns:
            return positions if self.where.may_match({}, len(rows)) else positions[:0]
        return np.asarray(positions[row_mask(self.where, take_rows(rows, positions, columns))])


def merge_runs(
    runs: Sequence[Iterator[pa.RecordBatch]],
    *,
    key: Sequence[str],
    order: MergeOrder | None,
    engine: MergeEngine,
    drop_deletes: bool,
    window_rows: int,
    columns: Sequence[str] | None = None,
    late: RowFilter | None = None,
    ahead: bool = False,
    threads: int = 1,
) -> Iterator[pa.Table]:
    """Merge ``runs``, given oldest first, into Tables that are sorted by ``key`` and contain one row per key.

    All batches have the same schema: the ``key`` columns, ``_SEQUENCE_NUMBER``, ``_VALUE_KIND``, the sequence fields
    and the columns that ``engine.inputs`` returns. ``columns`` are the columns of the result (all by default).
    ``engine`` merges the rows of a key in ``order``; of rows that are equal in this order, the row of the later run
    comes last. Then ``drop_deletes`` removes results of kind -U and -D, and the filter ``late`` removes the rows that
    it does not select. ``late`` may use only columns of the result. A single run is only filtered, not merged.

    ``order`` None: the ranges of sequence numbers of the runs do not overlap, so the row of the later run is the newer
    row. Batches then need no sequence numbers, and need kinds only if there are rows of kind -U or -D. When batches
    have ``LEVEL`` as their last column, only the newest state of a key is merged (``lsm.lookup``); ``columns`` must
    then be given.

    If the engine keeps the last row, columns that the merge does not compare may be dictionary-encoded in all batches
    or in some of them; the result contains plain values. ``lsm.key_windows`` bounds the memory. ``ahead``: the
    next window is read in a thread while a window is merged, which needs the memory of a second window.
    ``threads``: the number of runs that are read at the same time. Raises CorruptTable when the keys of a run that is
    merged do not ascend.
    """
    pieces: Iterator[list[pa.Table]] = (
        ([pa.Table.from_batches([batch])] for batch in runs[0])
        if len(runs) == 1
        else windows(runs, key, window_rows, threads=threads)
    )
    for window in made_ahead(pieces) if ahead else pieces:
        merged = _merged(window, key, order, engine, columns=columns, late=late, drop_deletes=drop_deletes)
        del window  # free the memory of the input before the caller works on the result
        if merged is not None and len(merged):
            yield merged


def merge_window(
    window: Sequence[pa.Table],
    key: Sequence[str],
    order: MergeOrder | None,
    engine: MergeEngine,
    columns: Sequence[str],
    *,
    drop_deletes: bool,
) -> pa.Table | None:
    """Return ``columns`` of the merged rows of runs that are in memory, oldest first; see ``merge_runs``.

    None if there are no rows.
    """
    return _merged(window, key, order, engine, columns=columns, late=None, drop_deletes=drop_deletes)


def _merged(
    window: Sequence[pa.Table],
    key: Sequence[str],
    order: MergeOrder | None,
    engine: MergeEngine,
    *,
    columns: Sequence[str] | None,
    late: RowFilter | None,
    drop_deletes: bool,
) -> pa.Table | None:
    """Return the merged rows of one window; None for a window without rows."""
    present = [piece for piece in window if len(piece)]
    if not present:
        return None
    names = present[0].column_names if columns is None else columns
    has_levels = LEVEL in present[0].column_names
    if len(present) > 1:
        rows, pieces, words, ranks = _joined_pieces(present, key, order)
        lengths = [len(piece) for piece in pieces]
        skipping = None if has_levels else engine.last_values(rows, names)
        if skipping is not None and not skipping:
            last = newest_rows(words, lengths, ranks)
            last = last[is_add(rows)[last]] if drop_deletes and VALUE_KIND in rows.column_names else last
            return take_rows(rows, last if late is None else late.positions(rows, last), names)
        if skipping is not None and ranks is None:
            merged = _last_values(rows, words, lengths, names, skipping)
        else:
            groups = group_runs(words, lengths, ranks)
            groups = without_older_states(rows, groups) if has_levels else groups
            merged = engine.fold(rows, engine.survivors(rows, groups, drop_deletes=drop_deletes), names)
    else:
        merged = decoded((adds(present[0]) if drop_deletes else present[0]).select(names))
    return merged if late is None else late.kept(merged)


def _last_values(
    rows: pa.Table, words: KeyWords, lengths: Sequence[int], names: Sequence[str], skipping: Collection[str]
) -> pa.Table:
    """Return the columns ``names`` of the last row of each key, in key order.

    The columns in ``skipping`` get the last non-null value of the key.
    """
    previous = scratch(len(rows), np.uint32)
    last = newest_rows(words, lengths, None, previous)

    found = {name: take(rows[name], last) for name in names if name not in skipping}
    for valid, same in by_nulls(rows, skipping):
        positions = last_valid(valid, last, previous)
        found.update((name, take_or_null(rows[name], positions)) for name in same)
    return pa.Table.from_arrays([found[name] for name in names], schema=rows.select(names).schema)


def sorted_groups(rows: pa.Table, key: Sequence[str], order: MergeOrder, buckets: Positions | None = None) -> Groups:
    """Return groups of the rows of each key, in merge order; ``rows`` are given in arrival order.

    ``buckets``: the bucket numbers of the rows, ascending; rows are then grouped by bucket first.
    """
    ranks = None
    if buckets is None:
        if order.sequence_fields or not _ascending(sequence_numbers(rows)):
            ranks = order.ranks(rows)
        return group(KeyWords.of(rows, key), ranks)
    numbers = sequence_numbers(rows)
    if order.sequence_fields or not np.all((numbers[1:] > numbers[:-1]) | (buckets[1:] != buckets[:-1])):
        ranks = order.ranks(rows)
    columns = [buckets, *(part for name in key for part in parts(rows[name]))]
    return group(KeyWords.of_parts(columns, len(rows)), ranks)


def arrange(pieces: Sequence[pa.Table], key: Sequence[str], order: MergeOrder | None) -> tuple[pa.Table, Groups]:
    """Return the rows of one window as one table, and their groups by key.

    ``pieces``: the rows of each run, oldest first; none is empty.
    """
    rows, pieces, words, ranks = _joined_pieces(pieces, key, order)
    return rows, group_runs(words, [len(piece) for piece in pieces], ranks)


def _joined_pieces(
    pieces: Sequence[pa.Table], key: Sequence[str], order: MergeOrder | None
) -> tuple[pa.Table, Sequence[pa.Table], KeyWords, Ranks | None]:
    """Return the pieces as one table, the pieces in the order of their rows in this table, the keys and the ranks.

    The ranks are None when the rows of each key are already in merge order. Raises CorruptTable unless the keys of each
    piece ascend.
    """
    in_sequence = None if order is None or order.sequence_fields else _by_sequence(pieces)
    pieces = in_sequence or pieces
    rows = with_contiguous(joined(pieces), key)
    words = KeyWords.of(rows, key)
    _check_sorted(words, pieces, key)
    ranks = None if order is None or in_sequence is not None else order.ranks(rows)
    return rows, pieces, words, ranks


def _by_sequence(pieces: Sequence[pa.Table]) -> list[pa.Table] | None:
    """Return the pieces sorted by sequence number, so that sequence numbers of single rows need not be compared.

    Return None if the ranges of sequence numbers of the pieces overlap.
    """
    numbers = [sequence_numbers(piece) for piece in pieces]
    ranges = sorted((int(n.min()), int(n.max()), position) for position, n in enumerate(numbers))
    if any(later[0] <= earlier[1] for earlier, later in pairwise(ranges)):
        return None
    return [pieces[position] for _, _, position in ranges]


def _check_sorted(words: KeyWords, pieces: Sequence[pa.Table], key: Sequence[str]) -> None:
    start = 0
    for piece in pieces:
        if not words.is_ascending(start, start + len(piece)):
            raise not_ascending(key)
        start += len(piece)


def _ascending(values: Ints) -> bool:
    return KeyWords(values).is_ascending(0, len(values))


def adds(rows: pa.Table) -> pa.Table:
    """Return the rows of kind +I and +U; no copy is made when all rows have these kinds."""
    kept = is_add(rows)
    return rows if kept.all() else rows.filter(pa.array(kept))
