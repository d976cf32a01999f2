"""Partial update: non-null values replace earlier values, column by column (format 9.4).

A column gets the last non-null value of a key's rows. The columns of a sequence group are updated in the order of this
group (``sequence_group``): a newer row sets all columns of the group, even to null, or combines the values by aggregate
functions. A late row affects only columns with a function (``late_rows``). Options define the effect of retracts:
retracts have no effect (ignore-delete), remove the record of the key, or reset the columns of a sequence group. If no
row is a retract, a column that has no nulls and is in no sequence group gets the value of the last row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import pyarrow as pa

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.aggregates.positions import valid_rows
from paimon_core.lsm.engines.key_state import KeyState
from paimon_core.lsm.engines.last_values import last_add_numbers, last_values, result_kinds
from paimon_core.lsm.engines.ordered_columns import Function, OrderedColumns
from paimon_core.lsm.engines.removals import removals
from paimon_core.lsm.engines.sequence_group import arrivals, counting
from paimon_core.lsm.engines.singles import with_singles
from paimon_core.lsm.fold import Rule, fold, last
from paimon_core.lsm.gather import Flags, contiguous
from paimon_core.lsm.key_groups import Groups
from paimon_core.lsm.merge_order import has_retracts, is_add, only_inserts
from paimon_core.options import SequenceGroup
from paimon_core.schema import SEQUENCE_NUMBER, VALUE_KIND, RowKind

_REFUSED = (
    "a partial-update table accepts rows of kind -U and -D only if an option defines their effect: ignore-delete, "
    "partial-update.remove-record-on-delete or fields.<columns>.sequence-group"
)


@dataclass(frozen=True, slots=True)
class PartialUpdate:
    """The rules of one table, checked by ``partial_update_rules``."""

    keeps_last: ClassVar[bool] = False
    columns: frozenset[str] = frozenset()
    """The columns that are not in the primary key; a column of the primary key gets the last row's value."""
    required: frozenset[str] = frozenset()
    """The NOT NULL columns among ``columns``."""
    groups: tuple[SequenceGroup, ...] = ()
    functions: Mapping[str, Function] = field(default_factory=dict)
    """Functions of the columns of sequence groups, by column name."""
    ignore_delete: bool = False
    remove_on_delete: bool = False
    removing: tuple[tuple[str, ...], ...] = ()
    """The ordering columns of each sequence group in which a -D row removes the record of its key."""
    merges_single_rows: bool = False
    """Whether keys with only one row are merged too; ``engine_choice.merge_engine`` sets this field."""

    def last_values(self, rows: pa.Table, columns: Sequence[str]) -> frozenset[str] | None:
        """Return the columns with nulls; None for retracts, columns of sequence groups and nulls in NOT NULL columns.

        With ``_VALUE_KIND``, also None for rows of kind +U, because a merged row is of kind +I.
        """
        if any(not {*group.ordering, *group.protected}.isdisjoint(columns) for group in self.groups):
            return None
        if not only_inserts(rows) and (VALUE_KIND in columns or has_retracts(rows)):
            return None
        found = frozenset(name for name in self.columns.intersection(columns) if rows[name].null_count)
        return found if found.isdisjoint(self.required) else None

    def inputs(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the columns, the ordering columns of their sequence groups, and the columns that decide on removal."""
        wanted = dict.fromkeys(columns)
        for group in self.groups:
            if group.ordering in self.removing or wanted.keys() & {*group.ordering, *group.protected}:
                wanted |= dict.fromkeys(group.ordering)
        return tuple(wanted)

    def survivors(self, rows: pa.Table, groups: Groups, *, drop_deletes: bool) -> Groups:
        """Return all groups. With ``drop_deletes``, leave out groups whose result is of kind -D.

        Raises InvalidRequest for a retract that no option allows.
        """
        if not drop_deletes or VALUE_KIND not in rows.column_names:
            return groups
        adds = is_add(rows)
        if adds.all():
            return groups
        alive = adds[groups.last]
        many = groups.lengths > (0 if self.merges_single_rows else 1)
        alive[many] = self._state(rows, groups.keep(many)).kinds != RowKind.DELETE
        return groups.keep(alive)

    def fold(self, rows: pa.Table, groups: Groups, columns: Sequence[str]) -> pa.Table:
        """Return the columns of the results, as described in the module docstring.

        Raises InvalidRequest for a retract that no option allows (naming the options), for a retract that a function
        cannot apply (naming column and function), and for a null in a NOT NULL column (naming the column).
        """
        many = groups.lengths > (0 if self.merges_single_rows else 1)
        state = self._state(rows, groups.keep(many))
        rules: dict[str, Rule] = {name: self._plain(name, state, many) for name in columns}
        for group in self.groups:
            members = [name for name in columns if name in group.ordering or name in group.protected]
            if members:
                ordered = OrderedColumns(state, arrivals(rows, group.ordering, state.segments))
                rules |= {name: partial(self._ordered, self._of_group(name, group, ordered), many) for name in members}
        folded = fold(rows, groups, rules)
        for name in self.required.intersection(columns):
            self._check_required(name, rows[name], folded[name], state)
        return folded

    def check_retract(self, kinds: Collection[int]) -> None:
        """Check that an option defines the effect of retracts, and that the columns of sequence groups allow retracts.

        Raises InvalidRequest when no option defines the effect, a function cannot retract, or a NOT NULL column could
        become null.
        """
        if self.ignore_delete or self.remove_on_delete:
            return
        if not self.groups:
            raise InvalidRequest(_REFUSED)
        for group in self.groups:
            removes = group.ordering in self.removing and set(kinds) <= {RowKind.DELETE}
            for name in group.protected:
                function = self.functions.get(name)
                if function is not None and function.ignores_retracts:
                    continue
                if function is not None and not function.fold.can_retract:
                    raise function.cannot_retract(name)
                nulls = function is None or function.name in ("last_value", "last_non_null_value")
                if nulls and name in self.required and not removes:
                    raise _leaves_null(name)

    def check_rows(self, rows: pa.Table) -> None:
        """Raise InvalidRequest when a sequence group with a NOT NULL column ignores a row.

        The column could then have no value.
        """
        for group in self.groups:
            for name in group.protected:
                if name in self.required and not counting(rows, group.ordering).all():
                    raise InvalidRequest(
                        f"column {name!r} is NOT NULL, but its sequence group ignores rows with null in "
                        f"{', '.join(group.ordering)}",
                        column=name,
                    )

    def _state(self, rows: pa.Table, groups: Groups) -> KeyState:
        """Return the state of the keys of ``groups``.

        If there are retracts or sequence groups, the groups of the state are compact.
        """
        if self.groups:
            groups = groups.compact()
        if VALUE_KIND not in rows.column_names:
            return KeyState(groups)
        retracts = ~is_add(rows)
        if not retracts.any():
            return KeyState(groups)
        groups = groups.compact()
        if not retracts[groups.order].any():
            return KeyState(groups)
        if self.ignore_delete:
            # If the first row of a key is a retract, the state starts with this row, as in Java.
            counts = ~retracts
            counts[groups.first] = True
            return KeyState(groups.where(counts), retracts, inert=retracts)
        deletes = contiguous(rows[VALUE_KIND]).to_numpy() == RowKind.DELETE
        if self.remove_on_delete:
            return KeyState(groups, retracts, removed=deletes)
        if self.removing:
            removed = removals(rows, groups, deletes, self.removing)
            return KeyState(groups, retracts, removed=removed, inert=removed)
        if not self.groups:
            raise InvalidRequest(_REFUSED)
        return KeyState(groups, retracts)

    def _plain(self, name: str, state: KeyState, many: Flags) -> Rule:
        """Return the rule of a column that is in no sequence group."""
        if name in self.columns:
            return partial(last_values, state, many)
        if name == VALUE_KIND:
            return partial(result_kinds, state, many)
        if name == SEQUENCE_NUMBER and self.ignore_delete and state.retracts is not None:
            return partial(last_add_numbers, state, many)
        return last

    def _of_group(
        self, name: str, group: SequenceGroup, ordered: OrderedColumns
    ) -> Callable[[pa.ChunkedArray], pa.ChunkedArray]:
        if name in group.ordering:
            return ordered.ordering
        function = self.functions.get(name)
        return ordered.protected if function is None else partial(ordered.folded, name, function=function)

    @staticmethod
    def _ordered(
        result: Callable[[pa.ChunkedArray], pa.ChunkedArray], many: Flags, column: pa.ChunkedArray, groups: Groups
    ) -> pa.ChunkedArray:
        return with_singles(column, groups, many, result(column))

    def _check_required(self, name: str, given: pa.ChunkedArray, result: pa.ChunkedArray, state: KeyState) -> None:
        """Raise InvalidRequest if the NOT NULL column ``name`` is null in a result.

        In a table without sequence groups, the column must also have a value in every row whose values are used.
        """
        if result.null_count:
            raise _leaves_null(name)
        valid = None if self.groups else valid_rows(given)
        if valid is not None and not valid[state.value_rows.compact().order].all():
            raise InvalidRequest(f"column {name!r} is NOT NULL, but a row to merge has null there", column=name)


def _leaves_null(name: str) -> InvalidRequest:
    return InvalidRequest(
        f"column {name!r} is NOT NULL, but a row of kind -U or -D, or one outside of its sequence group, would set "
        "it to null",
        column=name,
    )
