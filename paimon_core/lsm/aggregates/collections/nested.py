"""nested_update: appends the rows of an array to earlier rows, or upserts the rows by a nested key (format 9.7).

Null elements are ignored. Rows with a nested key are in the order in which their keys were first seen; Java uses the
order of a hash table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.aggregates.aggregate import Aggregate, Retracts
from paimon_core.lsm.aggregates.collections.entries import (
    Entries,
    after_last,
    by_first,
    entries,
    rank_in_group,
    replaced,
)
from paimon_core.lsm.aggregates.collections.nested_key import NestedKey
from paimon_core.lsm.aggregates.collections.value_codes import Numbers, dense, is_valid, same_row
from paimon_core.lsm.aggregates.column_rules import check_names, check_needs_key, check_options, row_of_table
from paimon_core.lsm.gather import Flags, Positions
from paimon_core.lsm.key_groups import Groups, group
from paimon_core.lsm.order_codes import order_codes
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField

NO_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class NestedAppend:
    """Adds rows while the result has fewer than ``limit`` rows; a retract removes all rows that are equal to one of its
    rows.
    """

    limit: int = NO_LIMIT
    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the rows of each group; null when all added arrays are null.

        Works on whole columns, except for groups that have retracts and more added rows than the limit. The result of
        such a group depends on the number of rows at each step, so these groups are computed row by row.
        """
        found = entries(column, groups, retracts)
        found = found.keep(is_valid(found.values))
        if not found.retracted.any():
            return found.column(self._first(found, np.arange(len(found.values))))
        numbers = same_row(found.values)
        same = after_last(found.same(numbers), found.retracted)
        stays = self._first(found, np.sort(same.compact().order))
        added = np.bincount(found.group_of[~found.retracted], minlength=len(groups))
        slow = _with_retracts(found) & (added > self.limit)
        return found.column(replaced(stays, found.group_of, slow, lambda number: self._step(found, numbers, number)))

    def _first(self, found: Entries, at: Positions) -> Positions:
        return at[rank_in_group(found.group_of[at]) < self.limit]

    def _step(self, found: Entries, numbers: Numbers, number: int) -> list[int]:
        """Return the remaining entries of one group."""
        left: list[int] = []
        for at in _entries_of(found, number):
            if found.retracted[at]:
                left = [other for other in left if numbers[other] != numbers[at]]
            elif len(left) < self.limit:
                left.append(at)
        return left


@dataclass(frozen=True, slots=True)
class NestedUpsert:
    """Keeps the last row of each nested key.

    With ``sequence`` fields, it is the last row among the rows with the greatest values in these fields; null is
    smallest.

    New keys are added while there are fewer than ``limit`` keys; a retract removes the keys of its rows.
    """

    key: NestedKey
    sequence: tuple[str, ...] = ()
    limit: int = NO_LIMIT
    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the rows of each group; null when all added arrays are null.

        Works on whole columns, except for groups that have retracts and more keys than the limit. The result of such a
        group depends on the number of keys at each step, so these groups are computed row by row. Raises InvalidRequest
        for a null in a key if the option nested-key-null-strategy is error.
        """
        found = self.key.rows(entries(column, groups, retracts))
        ids = found.identities(self.key.numbers(found.values))
        ranks = self._ranks(found.values)
        put = group(ids, None)
        same = after_last(put, found.retracted)
        firsts = same.first
        if ranks is None:
            winners = same.order[same.ends - 1]
        else:
            alive = np.sort(same.compact().order)
            winners = alive[group(ids[alive], [ranks[alive]]).last]
        chosen, firsts = by_first(same, winners), np.sort(firsts)
        within = rank_in_group(found.group_of[firsts]) < self.limit
        keys = np.bincount(found.group_of[put.first], minlength=len(groups))
        slow = _with_retracts(found) & (keys > self.limit)
        return found.column(
            replaced(chosen[within], found.group_of, slow, lambda number: self._step(found, ids, ranks, number))
        )

    def _ranks(self, rows: pa.Array) -> Numbers | None:
        """Return the rank of each row by the sequence fields; -0.0 and 0.0 are equal."""
        if not self.sequence:
            return None
        columns = [pc.struct_field(rows, [name]) for name in self.sequence]
        floating = [pa.types.is_floating(column.type) for column in columns]
        columns = [pc.add(c, pa.scalar(0.0, c.type)) if f else c for c, f in zip(columns, floating, strict=True)]
        return dense(order_codes(columns))

    def _step(self, found: Entries, ids: Numbers, ranks: Numbers | None, number: int) -> list[int]:
        """Return the remaining entries of one group."""
        left: dict[int, int] = {}
        for at in _entries_of(found, number):
            key = int(ids[at])
            if found.retracted[at]:
                left.pop(key, None)
            elif key not in left:
                if len(left) < self.limit:
                    left[key] = at
            elif ranks is None or ranks[at] >= ranks[left[key]]:
                left[key] = at
        return list(left.values())


def _with_retracts(found: Entries) -> Flags:
    """Return one boolean per group: whether it has a retracted entry."""
    flags = np.zeros(len(found.present), np.bool_)
    flags[found.group_of[found.retracted]] = True
    return flags


def _entries_of(found: Entries, number: int) -> range:
    """Return the entries of one group."""
    ends: Positions = np.searchsorted(found.group_of, [number, number + 1])
    return range(int(ends[0]), int(ends[1]))


def nested_update(field: DataField, options: FieldOptions) -> Aggregate:
    """Return nested_update for a column of type ARRAY of ROW.

    Raises InvalidOption, which names the column, for other types, options of other functions and unknown fields, and
    for nested-sequence-field or nested-key-null-strategy without nested-key.
    """
    row = row_of_table("nested_update", field)
    known = ("nested_key", "nested_sequence_field", "nested_key_null_strategy", "count_limit")
    check_options("nested_update", field, options, known)
    check_needs_key(field, "nested-key-null-strategy", options.nested_key_null_strategy, options.nested_key)
    check_needs_key(field, "nested-sequence-field", options.nested_sequence_field, options.nested_key)
    limit = NO_LIMIT if options.count_limit is None else options.count_limit
    if not options.nested_key:
        return NestedAppend(limit)
    sequence = options.nested_sequence_field or ()
    check_names(field, "nested-key", options.nested_key, row)
    check_names(field, "nested-sequence-field", sequence, row)
    key = NestedKey(field.name, options.nested_key, options.nested_key_null_strategy or "merge")
    return NestedUpsert(key, sequence, limit)
