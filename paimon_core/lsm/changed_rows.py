"""Changed rows: which rows a changelog shows, and their values, from the old and the new rows of keys (format 10.7).

A key that is new gives +I. A key that is deleted gives -D. A key that changes gives -U with the old row, then +U with
the new row. The old and the new values of a column are taken in one call, in key order, so that each value is copied
once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.aggregates.positions import take_or_null
from paimon_core.lsm.equality import deduplicated_values
from paimon_core.lsm.gather import Flags, Positions, contiguous, decoded_schema, take
from paimon_core.lsm.merge_order import is_add
from paimon_core.schema import VALUE_KIND, RowKind


@dataclass(frozen=True, slots=True)
class PickedRows:
    """New rows whose values are values of the rows that were merged.

    ``picks``: for each column, the positions of the values in ``rows``, one per new row; -1 means null.
    """

    rows: pa.Table
    picks: Mapping[str, Positions]


@dataclass(frozen=True, slots=True)
class Changes:
    """The rows of a changelog in key order.

    ``is_new``: whether the row shows the new row of its key, otherwise it shows the old row. ``places``: the number of
    this new row or the position of this old row. ``kinds``: the row kinds.
    """

    is_new: Flags
    places: Positions
    kinds: npt.NDArray[np.int8]

    @staticmethod
    def of(
        rows: pa.Table,
        before: Positions,
        new: PickedRows | pa.Table,
        after: Positions,
        compared: Sequence[str] | None,
    ) -> Changes:
        """Return the changes of some keys, given in key order.

        For each key, ``before`` is the position of its old row in ``rows``, and ``after`` is the number of its row in
        ``new``; -1 means no row. Rows of kind -U and -D count as no row. With ``compared``, a key with equal values in
        these columns before and after gives no -U and +U.
        """
        had = _adds(rows, before)
        has = _adds(new, after) if isinstance(new, pa.Table) else _picked_adds(new, after)
        updated = had & has
        if compared is not None:
            updated[_unchanged(rows, before, new, after, np.flatnonzero(updated), compared)] = False
        shown = np.empty((len(before), 2), np.bool_)
        shown[:, 0], shown[:, 1] = (had & ~has) | updated, (has & ~had) | updated
        places = np.empty((len(before), 2), np.int64)
        places[:, 0], places[:, 1] = before, after
        kinds = np.empty((len(before), 2), np.int8)
        kinds[:, 0] = np.where(has, RowKind.UPDATE_BEFORE, RowKind.DELETE)
        kinds[:, 1] = np.where(had, RowKind.UPDATE_AFTER, RowKind.INSERT)
        chosen = np.flatnonzero(shown)
        return Changes((chosen & 1).astype(np.bool_), places.take(chosen), kinds.take(chosen))

    def picked(self, picks: Positions) -> Positions:
        """Return the position of the value of each row, where ``picks`` has the positions for the new rows."""
        found = self.places.copy()
        found[self.is_new] = picks[found[self.is_new]]
        return found


def stored_and_told(new: PickedRows, changes: Changes, columns: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """Return the ``columns`` of the new rows, and those of the changelog rows."""
    stored: list[pa.ChunkedArray] = []
    told: list[pa.ChunkedArray] = []
    known: dict[int, Positions] = {}
    for name in columns:
        column, picks = new.rows[name], new.picks[name]
        stored.append(take_or_null(column, picks))
        if name == VALUE_KIND:
            told.append(_kinds(changes))
            continue
        if id(picks) not in known:
            known[id(picks)] = changes.picked(picks)
        told.append(take_or_null(column, known[id(picks)]))
    schema = decoded_schema(new.rows.select(columns).schema)
    return pa.Table.from_arrays(stored, schema=schema), pa.Table.from_arrays(told, schema=schema)


def stored(new: PickedRows, columns: Sequence[str]) -> pa.Table:
    """Return the ``columns`` of the new rows."""
    taken = [take_or_null(new.rows[name], new.picks[name]) for name in columns]
    return pa.Table.from_arrays(taken, schema=decoded_schema(new.rows.select(columns).schema))


def told(rows: pa.Table, new: pa.Table, changes: Changes, columns: Sequence[str]) -> pa.Table:
    """Return the ``columns`` of the changelog rows; ``rows`` are the old rows and ``new`` the new ones."""
    positions = changes.places + np.where(changes.is_new, len(rows), 0)

    def values() -> Iterator[pa.ChunkedArray]:
        for name in columns:
            if name == VALUE_KIND:
                yield _kinds(changes)
            else:
                column = rows[name]
                yield take(pa.chunked_array([*column.chunks, *new[name].chunks], column.type), positions)

    return pa.Table.from_arrays(list(values()), schema=rows.select(columns).schema)


def _unchanged(
    rows: pa.Table,
    before: Positions,
    new: PickedRows | pa.Table,
    after: Positions,
    keys: Positions,
    compared: Sequence[str],
) -> Positions:
    """Return those of the ``keys`` that have equal values before and after.

    A column is compared only for the keys that are equal in the columns before it.
    """
    for name in compared:
        if not len(keys):
            break
        if isinstance(new, pa.Table):
            old, made, numbers = rows[name], new[name], after[keys]
        else:
            old = made = rows[name]
            numbers = new.picks[name][after[keys]]
        values = take(old, before[keys]), take_or_null(made, numbers)
        keys = keys[deduplicated_values(*map(contiguous, values))]
    return keys


def _kinds(changes: Changes) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(changes.kinds)])


def _picked_adds(new: PickedRows, numbers: Positions) -> Flags:
    """Whether each number refers to a new row, and the row is of kind +I or +U."""
    found = numbers >= 0
    if not (adds := is_add(new.rows)).all():
        found[found] = adds[new.picks[VALUE_KIND][numbers[found]]]
    return found


def _adds(rows: pa.Table, positions: Positions) -> Flags:
    """Whether each position refers to a row, and the row is of kind +I or +U."""
    found = positions >= 0
    if not (adds := is_add(rows)).all():
        found[found] = adds[positions[found]]
    return found
