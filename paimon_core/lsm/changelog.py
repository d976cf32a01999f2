"""Changelog rows: the change of each key, computed from its old and its new row (format 10.7).

A key that is new gives +I. A key that is deleted gives -D. A key that changes gives -U with the old row, then +U with
the new row. Each changelog row is a full row: it has the key, sequence number and values of the row that it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.equality import same_rows
from paimon_core.lsm.fold import fold, last
from paimon_core.lsm.gather import Flags, Positions, take
from paimon_core.lsm.key_groups import Groups
from paimon_core.lsm.lookup import at_level, states, without_older_states
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
        before = at_level(rows, groups, last_level)
        merged, source, after = self._merge(rows, groups)
        touched = (groups.lengths > 1) | (before < 0)
        return Merged(merged, self._changes(rows, before[touched], source, after[touched]))

    def by_state(self, rows: pa.Table, groups: Groups, *, changelog: bool) -> Merged:
        """Merge the rows of a compaction with lookups; the old row of a key is its state (``lsm.lookup``).

        The new row is the state merged with the rows of level 0. ``rows`` also contains the states that were looked up.
        With ``changelog``, changelog rows are computed for the keys that have a row of level 0.
        """
        before = states(rows, groups)
        merged, source, after = self._merge(rows, without_older_states(rows, groups, before))
        if not changelog:
            return Merged(merged)
        touched = at_level(rows, groups, 0) >= 0
        return Merged(merged, self._changes(rows, before[touched], source, after[touched]))

    def by_first(self, rows: pa.Table, groups: Groups, known: Flags, *, changelog: bool) -> Merged:
        """Merge the rows of a compaction with merge engine first-row; keep the states and the first rows of new keys.

        ``known``: one boolean per group, true if a lookup found the key in a higher level that has no row in ``rows``.
        Such a group is left out. With ``changelog``, the first rows of new keys are also the changelog rows.
        """
        has_state = states(rows, groups) >= 0
        merged = self._merge(rows, groups.keep(has_state | ~known))[0]
        return Merged(merged, self._merge(rows, groups.keep(~has_state & ~known))[0] if changelog else None)

    def _changes(self, rows: pa.Table, before: Positions, source: pa.Table, after: Positions) -> pa.Table:
        return changes(rows, before, source, after, self.compared, self.columns)

    def _merge(self, rows: pa.Table, groups: Groups) -> tuple[pa.Table, pa.Table, Positions]:
        """Return the merged rows, and where they are: a table, and for each group the position of its merged row there.

        The table is ``rows`` if the merged row of each key is its last row, and the merged rows otherwise. The position
        is -1 for a group without a merged row.
        """
        if self.engine.last_values(rows, self.columns) == frozenset():
            return fold(rows, groups, dict.fromkeys(self.columns, last)), rows, groups.last
        kept = self.engine.survivors(rows, groups, drop_deletes=False)
        merged = self.engine.fold(rows, kept, self.columns)
        if len(kept) == len(groups):
            return merged, merged, np.arange(len(groups))
        compact = groups.compact()
        group_of = np.full(len(rows), -1, np.int64)
        group_of[compact.order] = compact.numbers
        after = np.full(len(groups), -1, np.int64)
        after[group_of[kept.first]] = np.arange(len(kept))
        return merged, merged, after


def changes(
    rows: pa.Table,
    before: Positions,
    merged: pa.Table,
    after: Positions,
    compared: Sequence[str] | None,
    names: Sequence[str] | None = None,
) -> pa.Table:
    """Return the changelog rows of some keys in key order, with the columns ``names``, by default those of ``merged``.

    If ``merged`` is ``rows``, each changelog row is copied once, otherwise twice.

    For each key, ``before`` is the position of its old row in ``rows``, and ``after`` is the position of its new row in
    ``merged``; -1 means no row. Rows of kind -U and -D count as no row. With ``compared``, a key with equal values in
    these columns before and after gives no -U and +U.
    """
    had, has = _adds(rows, before), _adds(merged, after)
    updated = had & has
    if compared is not None:
        at = np.flatnonzero(updated)
        pairs = _rows(rows, before[at], compared), _rows(merged, after[at], compared)
        updated[at] = ~same_rows(*pairs, compared) if compared else False
    old, new = np.flatnonzero((had & ~has) | updated), np.flatnonzero((has & ~had) | updated)
    names = merged.column_names if names is None else names
    kinds = (
        np.where(has[old], RowKind.UPDATE_BEFORE, RowKind.DELETE),
        np.where(had[new], RowKind.UPDATE_AFTER, RowKind.INSERT),
    )
    if merged is rows:
        in_key_order = np.argsort(np.concatenate((old, new)), kind="stable")
        positions = np.concatenate((before[old], after[new]))[in_key_order]
        return _of_kind(_rows(rows, positions, names), np.concatenate(kinds)[in_key_order])
    shown = [_of_kind(_rows(rows, before[old], names), kinds[0]), _of_kind(_rows(merged, after[new], names), kinds[1])]
    if not len(old) or not len(new):
        return shown[0] if len(old) else shown[1]
    in_key_order = np.argsort(np.concatenate((old, new)), kind="stable")
    return _rows(pa.concat_tables(shown), in_key_order, names)


def _adds(rows: pa.Table, positions: Positions) -> Flags:
    """Whether each position refers to a row, and the row is of kind +I or +U."""
    out = positions >= 0
    out[out] = is_add(rows)[positions[out]]
    return out


def _rows(rows: pa.Table, positions: Positions, names: Sequence[str]) -> pa.Table:
    schema = pa.schema([rows.schema.field(name) for name in names])
    return pa.Table.from_arrays([take(rows[name], positions) for name in names], schema=schema)


def _of_kind(rows: pa.Table, kinds: npt.NDArray[np.int64]) -> pa.Table:
    at = rows.schema.get_field_index(VALUE_KIND)
    return rows.set_column(at, rows.schema.field(at), pa.array(kinds.astype(np.int8)))
