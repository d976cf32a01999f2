"""Changelog of a merge: merges the rows of keys and computes the changes, from one order of the rows (format 10.7).

Each changelog row is a full row: it has the key, sequence number and values of the row that it shows
(``changed_rows``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.positions import last_where, valid_rows
from paimon_core.lsm.changed_rows import Changes, PickedRows, stored, stored_and_told, told
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.gather import Flags, Positions
from paimon_core.lsm.key_groups import Groups
from paimon_core.lsm.lookup import GroupLevels, without_older_states


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
        touched = (groups.lengths > 1) | (before < 0)
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
        for name in skipping:
            picks[name] = last_where(valid_rows(rows[name]), groups)
        return PickedRows(rows, picks)

    def _computed(self, rows: pa.Table, groups: Groups) -> tuple[pa.Table, Groups]:
        """Return the merged rows, and their groups."""
        kept = self.engine.survivors(rows, groups, drop_deletes=False)
        return self.engine.fold(rows, kept, self.columns), kept
