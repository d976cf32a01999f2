"""Matching rows: reads the rows of a file that a filter selects, and decodes few other rows (format 8.8).

Row groups whose statistics exclude the filter are not decoded. In the remaining row groups the columns of the filter
are decoded first. The other columns are decoded only in row groups that have selected rows. If these rows are near each
other, only the pages that contain them are decoded, where the format can do so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
import pyarrow as pa

from paimon_core.codec.arrays import Mask, Positions
from paimon_core.datafile.evolution.column_mapping import Source
from paimon_core.datafile.file_format import ColumnRange, FileInput
from paimon_core.datafile.reading.chosen_rows import ChosenRows
from paimon_core.datafile.reading.decoding import Decoding, batch_of
from paimon_core.errors import CorruptTable
from paimon_core.predicate import BoundPredicate
from paimon_core.predicate.row_mask import row_mask

_NEAR_ROWS = 1 << 13
"""The least rows of a batch of the columns that the filter does not need."""
_SPREAD_ROWS = 1 << 16
"""The most rows of such a batch, for selected rows that are spread over many rows: small batches take longer."""


def groups_that_may_match(held: FileInput, sources: Sequence[Source], where: BoundPredicate) -> list[int] | None:
    """Return the row groups that may contain a selected row, by their statistics; None: ``held`` states no row groups.

    Statistics are used only for columns that are read without a cast; a column may have been renamed.
    """
    sizes = held.row_group_rows
    if not sizes:
        return None
    known: dict[str, Sequence[ColumnRange]] = {}
    for source in sources:
        name = source.wanted.name
        if name not in where.columns:
            continue
        if source.column is None:
            known[name] = [(None, None, rows) for rows in sizes]
        elif source.cast is None and held.schema.field(source.column).type == source.wanted.type.to_arrow():
            known[name] = held.bounds(source.column, source.wanted.type)
    return [
        at
        for at, rows in enumerate(sizes)
        if where.may_match({name: ranges[at] for name, ranges in known.items() if ranges}, rows)
    ]


def matching_batches(
    decoding: Decoding, sources: Sequence[Source], schema: pa.Schema, chosen: ChosenRows, where: BoundPredicate
) -> Iterator[tuple[int, pa.RecordBatch | None]]:
    """Yield (number of rows tested, batch or None); batches have the ``chosen`` rows for which ``where`` is true."""
    tested = [at for at, s in enumerate(sources) if s.wanted.name in where.columns]
    rest = [at for at in range(len(sources)) if at not in tested]
    if not rest or not chosen.group_rows or not any(sources[at].column for at in tested):
        tested, rest = list(range(len(sources))), []
    cursor = _Cursor(decoding, [sources[at] for at in rest], chosen)
    names = [sources[at].wanted.name for at in tested]
    number = 0
    for count, arrays in decoding.arrays([sources[at] for at in tested], chosen.groups):
        selected = _selected(where, pa.RecordBatch.from_arrays(arrays, names), chosen.live_rows(number, count))
        yield count, None
        for start, end, others in cursor.pieces(number + np.flatnonzero(selected)):
            at, rows = start - number, end - start
            columns = dict(zip(rest, others, strict=True))
            columns.update((place, a.slice(at, rows)) for place, a in zip(tested, arrays, strict=True))
            batch = batch_of(schema, [columns[place] for place in range(len(sources))])
            batch = chosen.with_position(batch, start)
            kept = selected[at : at + rows]
            yield 0, batch if kept.all() else batch.filter(pa.array(kept))
        number += count


def _selected(where: BoundPredicate, rows: pa.RecordBatch, live: Mask | None) -> Mask:
    if live is not None and not live.any():
        return live
    found = row_mask(where, rows)
    return found if live is None else found & live


class _Cursor:
    """Decodes the columns that the filter does not need, in file order, and only in row groups with selected rows."""

    def __init__(self, decoding: Decoding, sources: Sequence[Source], chosen: ChosenRows) -> None:
        self._decoding = decoding
        self._sources = sources
        self._groups = list(range(len(chosen.group_rows))) if chosen.groups is None else chosen.groups
        self._starts = np.array([0, *accumulate(chosen.group_rows[at] for at in self._groups)] if sources else [0])
        self._group = -1
        self._batches: Iterator[tuple[int, list[pa.Array]]] = iter(())
        self._held: list[pa.Array] = []
        self._from = self._to = 0
        """The number of the first decoded row in ``_held``, and the number that follows the last decoded row."""
        self._end = 0
        """The number that follows the last row of ``_batches``."""
        self._near = 0
        """The number of rows of the last batches of some pages; later ones of the row group have twice as many."""

    def pieces(self, hits: Positions) -> Iterator[tuple[int, int, list[pa.Array]]]:
        """Yield the columns of ranges of rows that contain the rows ``hits``.

        All ``hits`` must be above all rows of the previous call.

        Each piece is (number of the first row, number after the last row, columns). Row groups without a hit are not
        decoded.
        """
        if not self._sources:
            if len(hits):
                yield int(hits[0]), int(hits[-1]) + 1, []
            return
        groups = np.searchsorted(self._starts, hits, side="right") - 1
        for group in np.unique(groups):
            first, last = np.searchsorted(groups, [group, group + 1])
            yield from self._range(int(group), int(hits[first]), int(hits[last - 1]) + 1, int(last - first))

    def _open(self, group: int, start: int, end: int, hits: int) -> None:
        """Open batches that contain the row ``start``; ``hits``: the number of selected rows up to ``end``."""
        first, after = int(self._starts[group]), int(self._starts[group + 1])
        self._near = 2 * self._near if group == self._group else 0
        self._group = group
        # If the hits are near each other, as in a sorted file, batches are small, so that few rows after the last hit
        # are decoded: at most half as many as there are from the first hit to the last.
        is_near = 2 * (end - start) < after - first
        most = min(max(_NEAR_ROWS, min((end - start) // 2, _SPREAD_ROWS)), self._decoding.request.batch_rows)
        number = self._groups[group]
        # Hits that are spread over the tested rows will be found in most pages. If there are some in each batch of
        # tested rows, twice as many pages are copied each time.
        together = is_near and (end - start <= _NEAR_ROWS or 2 * hits >= end - start)
        found = None
        for until in dict.fromkeys((min(after, max(end, start + self._near)), end)) if together else ():
            found = found or self._decoding.near(self._sources, number, start - first, until - first, most)
        if found is None:
            self._batches = self._decoding.arrays(self._sources, [number], most if is_near else None)
            self._from, self._to, self._end = first, first, after
            return
        begin, end, self._batches = found
        self._near = end - begin
        self._from, self._to, self._end = first + begin, first + begin, first + end

    def _range(self, group: int, start: int, end: int, hits: int) -> Iterator[tuple[int, int, list[pa.Array]]]:
        while start < end:
            if group != self._group or start >= self._end:
                self._open(group, start, end, hits)
            while self._to <= start:
                count, self._held = next(self._batches, (0, []))
                if not count:
                    path = self._decoding.path
                    raise CorruptTable(f"data file {path} has columns with different numbers of rows", path=path)
                self._from, self._to = self._to, self._to + count
            until = min(end, self._to)
            yield start, until, [array.slice(start - self._from, until - start) for array in self._held]
            start = until
