"""Changelog of a merge: merges the rows of keys and computes the changes, from one order of the rows (format 10.7).

A key that is new gives +I. A key that is deleted gives -D. A key that changes gives -U with the old row, then +U with
the new row. Each changelog row is a full row: it has the key, sequence number and values of the row that it shows. The
old and the new values of a column are taken in one call, in key order, so that each value is copied once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.aggregates.positions import by_nulls, last_where, take_or_null
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.equality import deduplicated_values
from paimon_core.lsm.gather import Flags, Positions, contiguous, decoded_schema, take
from paimon_core.lsm.key_groups import Groups
from paimon_core.lsm.lookup import GroupLevels, without_older_states
from paimon_core.lsm.merge_order import is_add
from paimon_core.schema import VALUE_KIND, RowKind


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of a merge step: the ``rows`` to store (one per key, of any kind), and the ``changelog`` rows."""

    rows: pa.Table
    changelog: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class RowComparison:
    """Merges rows with ``engine`` and compares the results with the old rows.

    ``columns``: the columns of the results. A row counts as changed when it differs in the columns ``compared``.
    ``compared`` None: every row that is written counts as changed, because option changelog-producer.row-deduplicate is
    not set.
    """

    engine: MergeEngine
    columns: tuple[str, ...]
    compared: tuple[str, ...] | None = None

    def by_last_level(self, rows: pa.Table, groups: Groups, last_level: int) -> Merged:
        """Merge the rows of a full compaction.

        The old row of a key is its row in ``last_level``. The new row is the merged row. A key with only one row, in
        the last level, has not changed.
        """
        levels = GroupLevels.of(rows, groups)
        before = levels.at(last_level)
        touched = groups.several | (before < 0)
        return self._merged(rows, groups, levels, before, touched)

    def by_state(self, rows: pa.Table, groups: Groups, levels: GroupLevels, *, changelog: bool) -> Merged:
        """Merge the rows of a compaction with lookups; the old row of a key is its state (``lsm.lookup``).

        The new row is the state merged with the rows of level 0. ``rows`` also contains the states that were looked up.
        ``levels`` are the levels of ``groups``. With ``changelog``, changelog rows are computed for the keys that have
        a row of level 0.
        """
        kept = without_older_states(rows, groups, levels.states)
        touched = levels.at(0) >= 0 if changelog else None
        return self._merged(rows, kept, levels, levels.states, touched)

    def by_first(self, rows: pa.Table, groups: Groups, levels: GroupLevels, known: Flags, *, changelog: bool) -> Merged:
        """Merge the rows of a compaction with merge engine first-row; keep the states and the first rows of new keys.

        ``known``: one boolean per group, true if a lookup found the key in a higher level that has no row in ``rows``.
        Such a group is left out. With ``changelog``, the first rows of new keys are also the changelog rows.
        """
        has_state = levels.states >= 0
        merged = self._computed(rows, groups.keep(has_state | ~known))[0]
        return Merged(merged, self._computed(rows, groups.keep(~has_state & ~known))[0] if changelog else None)

    def _merged(
        self, rows: pa.Table, groups: Groups, levels: GroupLevels, before: Positions, touched: Flags | None
    ) -> Merged:
        """Merge the rows of ``groups`` and compute the changes of the groups in ``touched``; None: of no group.

        ``before``: the old row of each group.
        """
        picked = self._picked(rows, groups)
        if picked is not None:
            if touched is None:
                return Merged(stored(picked, self.columns))
            keys = np.flatnonzero(touched)
            changes = Changes.of(rows, before[keys], picked, keys, self.compared)
            return Merged(*stored_and_told(picked, changes, self.columns))
        merged, kept = self._computed(rows, groups)
        if touched is None:
            return Merged(merged)
        after = np.full(len(groups), -1, np.int64)
        after[levels.owner[kept.first]] = np.arange(len(kept))
        changes = Changes.of(rows, before[touched], merged, after[touched], self.compared)
        return Merged(merged, told(rows, merged, changes, self.columns))

    def _picked(self, rows: pa.Table, groups: Groups) -> PickedRows | None:
        """Return the merged rows of all groups if their values are values of ``rows``, otherwise None."""
        skipping = self.engine.last_values(rows, self.columns)
        if skipping is None:
            return None
        picks = dict.fromkeys(self.columns, groups.last)
        for valid, same in by_nulls(rows, skipping):
            picks.update(dict.fromkeys(same, last_where(valid, groups)))
        return PickedRows(rows, picks)

    def _computed(self, rows: pa.Table, groups: Groups) -> tuple[pa.Table, Groups]:
        """Return the merged rows, and their groups."""
        kept = self.engine.survivors(rows, groups, drop_deletes=False)
        return self.engine.fold(rows, kept, self.columns), kept


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
