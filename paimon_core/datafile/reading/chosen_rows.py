"""Chosen rows: the row groups of a data file to decode, and the rows of these groups to return (format 12, 13.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.codec.arrays import Mask, Positions
from paimon_core.datafile.reading.file_request import FileRequest


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """The rows of one file that a read returns. Rows are numbered from 0 in the order in which they are decoded."""

    groups: list[int] | None
    """The row groups to decode; None: the whole file."""
    group_rows: Sequence[int]
    """The number of rows of each row group of the file; () for a file that can only be decoded as a whole."""
    live: Mask | None
    """For each row number, whether the row is returned; None: all rows except ``deleted``."""
    deleted: Positions | None
    """The numbers of the rows to leave out, sorted."""
    position: str | None
    """The name of an additional column with the position of each row in the file."""

    @staticmethod
    def of(request: FileRequest, group_rows: Sequence[int], kept: list[int] | None = None) -> ChosenRows:
        """Return the rows of a read; ``kept``: the row groups that may match the filter of the request (None: all)."""
        rows, groups = _narrowed(request.rows, request.row_groups, group_rows, kept)
        deleted, position = request.deleted, request.position
        if rows is not None:
            live = rows if deleted is None else rows & ~_mask(deleted, len(rows))
            groups, live = _groups_with(live, group_rows)
            return ChosenRows(groups, group_rows, live, None, position)
        if deleted is not None and groups is not None and group_rows:
            deleted = _numbers(deleted, groups, group_rows)
        return ChosenRows(groups, group_rows, None, deleted, position)

    @property
    def row_count(self) -> int:
        """The number of rows of the row groups to decode."""
        return sum(self.group_rows if self.groups is None else [self.group_rows[at] for at in self.groups])

    def select(self, batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
        """Return the chosen rows of a batch; the first row of the batch has the number ``start``."""
        live = self.live_rows(start, len(batch))
        batch = self.with_position(batch, start)
        return batch if live is None else batch.filter(pa.array(live))

    def with_position(self, batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
        """Append the column ``position``, if there is one, to a batch whose first row has the number ``start``."""
        if self.position is None:
            return batch
        return batch.append_column(self.position, pa.array(self._positions(np.arange(start, start + len(batch)))))

    def live_rows(self, start: int, count: int) -> Mask | None:
        """Return a mask of the rows to return, for ``count`` rows from number ``start`` on; None: all rows."""
        if self.live is not None:
            return self.live[start : start + count]
        if self.deleted is None:
            return None
        first, last = np.searchsorted(self.deleted, [start, start + count])
        return None if first == last else ~_mask(self.deleted[first:last] - start, count)

    def _positions(self, numbers: Positions) -> Positions:
        """Return the positions in the file of the rows with these numbers."""
        if self.groups is None or not self.group_rows:
            return numbers
        starts = np.concatenate([[0], np.cumsum(self.group_rows)])[list(self.groups)]
        before = np.concatenate([[0], np.cumsum([self.group_rows[group] for group in self.groups])])[:-1]
        group = np.searchsorted(before, numbers, side="right") - 1
        return np.asarray(numbers - before[group] + starts[group])


def _narrowed(
    rows: Mask | None, row_groups: list[int] | None, sizes: Sequence[int], kept: list[int] | None
) -> tuple[Mask | None, list[int] | None]:
    """Return (rows, row groups) to read; None: no restriction.

    Only the row groups ``kept`` may contain a wanted row.
    """
    if kept is None or len(kept) == len(sizes) or not sizes:
        return rows, row_groups
    if rows is None:
        return None, kept if row_groups is None else [at for at in row_groups if at in set(kept)]
    if sum(sizes) != len(rows):
        return rows, None
    return rows & np.repeat(np.isin(np.arange(len(sizes)), kept), sizes), None


def _mask(positions: Positions, count: int) -> Mask:
    out = np.zeros(count, dtype=bool)
    out[positions] = True
    return out


def _groups_with(rows: Mask, sizes: Sequence[int]) -> tuple[list[int] | None, Mask]:
    """Return the row groups that contain at least one of ``rows`` (None: all groups), and a mask of the rows in these
    groups.
    """
    if len(sizes) < 2 or sum(sizes) != len(rows):
        return None, rows
    parts = np.split(rows, np.cumsum(sizes)[:-1])
    found = [at for at, part in enumerate(parts) if part.any()]
    if len(found) == len(sizes):
        return None, rows
    return found, np.concatenate([rows[:0], *(parts[at] for at in found)])


def _numbers(deleted: Positions, groups: Sequence[int], group_rows: Sequence[int]) -> Positions:
    """Return the numbers of the deleted rows, when only the row groups ``groups`` are decoded."""
    starts = np.concatenate([[0], np.cumsum(group_rows)])
    before, parts = 0, [np.zeros(0, np.int64)]
    for group in groups:
        first, last = np.searchsorted(deleted, starts[group : group + 2])
        parts.append(deleted[first:last] - starts[group] + before)
        before += group_rows[group]
    return np.concatenate(parts)
