"""Deduplicate: keeps the last row of a key, with all its columns (format 9.2).

The choice of the rows uses only the key, sequence and kind columns; other columns are copied only for the chosen rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.lsm.engines.singles import ignoring_retracts
from paimon_core.lsm.fold import fold, last
from paimon_core.lsm.key_groups import Groups
from paimon_core.lsm.merge_order import has_retracts, is_add
from paimon_core.schema import VALUE_KIND


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """The engine. ``ignore_delete``: if a key has several rows, its rows of kind -U and -D are ignored."""

    ignore_delete: bool = False

    @property
    def keeps_last(self) -> bool:
        """Whether the last row is always kept: False with ``ignore_delete``, which excludes rows."""
        return not self.ignore_delete

    def last_values(self, rows: pa.Table, columns: Sequence[str]) -> frozenset[str] | None:
        """Return no column; None if there are ignored rows."""
        return frozenset() if self.keeps_last or not has_retracts(rows) else None

    def inputs(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return ``columns`` without duplicates, because the engine needs no other column."""
        return tuple(dict.fromkeys(columns))

    def survivors(self, rows: pa.Table, groups: Groups, *, drop_deletes: bool) -> Groups:
        """Return the groups without ignored rows.

        With ``drop_deletes``, leave out groups whose last row is a retract.
        """
        if not (drop_deletes or self.ignore_delete) or VALUE_KIND not in rows.column_names:
            return groups
        adds = is_add(rows)
        if self.ignore_delete:
            groups = ignoring_retracts(groups, adds)
        return groups.keep(adds[groups.last]) if drop_deletes else groups

    def fold(self, rows: pa.Table, groups: Groups, columns: Sequence[str]) -> pa.Table:
        """Return the last row of each group."""
        return fold(rows, groups, dict.fromkeys(columns, last))

    def check_retract(self, kinds: Collection[int]) -> None:
        """Do nothing: rows of every kind are accepted."""

    def check_rows(self, rows: pa.Table) -> None:
        """Do nothing: every row is accepted."""
