"""Aggregation: combines the values of each column in the rows of a key by an aggregate function (format 9.5).

The result is of kind +I and has the last row's sequence number. With aggregation.remove-record-on-delete, the rows
before a -D row are ignored, and the aggregation starts again with the -D row. The result is of kind -D when the -D row
is the last row of the key.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.errors import InvalidOption, InvalidRequest
from paimon_core.lsm.aggregates.aggregate import Aggregate, IgnoreRetract, Retracts
from paimon_core.lsm.aggregates.booleans import Connective
from paimon_core.lsm.aggregates.collections.listagg import ListAgg, counting_texts
from paimon_core.lsm.aggregates.decimals import DecimalSum
from paimon_core.lsm.aggregates.extremes import Extreme
from paimon_core.lsm.aggregates.floats import FloatProduct, FloatSum
from paimon_core.lsm.aggregates.function_choice import aggregate
from paimon_core.lsm.aggregates.integers import IntegerSum
from paimon_core.lsm.aggregates.picks import First, Last
from paimon_core.lsm.aggregates.values import has_nan
from paimon_core.lsm.engines.singles import with_singles
from paimon_core.lsm.fold import fold, last
from paimon_core.lsm.gather import Flags, contiguous
from paimon_core.lsm.key_groups import Groups
from paimon_core.lsm.merge_order import has_retracts, only_inserts
from paimon_core.options import TableOptions
from paimon_core.schema import VALUE_KIND, RowKind, TableSchema

DEFAULT = "last_non_null_value"
_REMOVE = "aggregation.remove-record-on-delete"


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The engine. ``functions``: the aggregate functions by column.

    Columns without a function, such as keys, get the last row's value.
    """

    keeps_last: ClassVar[bool] = False
    functions: Mapping[str, Aggregate]
    remove_on_delete: bool = False
    not_null: frozenset[str] = frozenset()
    merges_single_rows: bool = False
    """Whether keys with only one row are aggregated too; ``engine_choice.merge_engine`` sets this field."""

    @staticmethod
    def of(schema: TableSchema, options: TableOptions) -> Aggregation:
        """Return the engine with the functions that the options choose.

        Raises InvalidOption, which names the column and the option, for an aggregate function of a ``sequence.field``
        column, for a column type or an option that the function does not support, and for options that exclude each
        other. Raises UnsupportedFeature for an unknown function.
        """
        sequence = options["sequence.field"] or ()
        functions = {}
        for field in schema.fields:
            chosen = options.of_field(field.name)
            if field.name in schema.primary_keys:
                continue
            if options[_REMOVE]:
                _refuse(chosen.ignore_retract, field.name, "ignore-retract", f"{_REMOVE} = true excludes it")
            function = chosen.aggregate_function or options.default_function or DEFAULT
            if field.name in sequence:
                _refuse(chosen.aggregate_function, field.name, "aggregate-function", "it is a sequence.field")
                function = "last_value"
            functions[field.name] = aggregate(function, field, chosen)
        not_null = frozenset(f.name for f in schema.fields if not f.type.nullable)
        return Aggregation(functions, options[_REMOVE], not_null)

    def last_values(self, rows: pa.Table, columns: Sequence[str]) -> frozenset[str] | None:
        """Return the columns of last_non_null_value with nulls.

        None for retracts, for columns with another function than last_value and last_non_null_value, and for nulls in
        NOT NULL columns. With ``_VALUE_KIND``, also None for rows of kind +U, because a merged row is of kind +I.
        """
        found = set()
        for name in columns:
            function = self.functions.get(name)
            last_of = function.inner if isinstance(function, IgnoreRetract) else function
            if last_of is None:
                continue
            if not isinstance(last_of, Last) or (rows[name].null_count and name in self.not_null):
                return None
            if last_of.non_null and rows[name].null_count:
                found.add(name)
        if not only_inserts(rows) and (VALUE_KIND in columns or has_retracts(rows)):
            return None
        return frozenset(found)

    def inputs(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return ``columns`` without duplicates, because the engine needs no other column."""
        return tuple(dict.fromkeys(columns))

    def survivors(self, rows: pa.Table, groups: Groups, *, drop_deletes: bool) -> Groups:
        """Return all groups.

        With ``drop_deletes``, leave out groups that consist of a single retract, unless ``merges_single_rows`` is true,
        and groups whose last row is a -D row that removes the record of the key.
        """
        if not drop_deletes or VALUE_KIND not in rows.column_names:
            return groups
        kinds = _kinds(rows)
        if not (kinds & 1).any():
            return groups
        kinds = kinds[groups.last]
        removed = self.remove_on_delete & (kinds == RowKind.DELETE)
        return groups.keep((kinds & 1 == 0) | ((groups.several | self.merges_single_rows) & ~removed))

    def fold(self, rows: pa.Table, groups: Groups, columns: Sequence[str]) -> pa.Table:
        """Combine each column by its function; key columns and sequence numbers are taken from the last row."""
        whole = groups.compact()
        since, deletes, retracts = whole, None, None
        if VALUE_KIND in rows.column_names:
            kinds = _kinds(rows)
            retracts = kinds & 1 == 1
            if self.remove_on_delete:
                deletes = kinds == RowKind.DELETE
                since, retracts = _since_last(deletes, whole), kinds == RowKind.UPDATE_BEFORE
        many = since.several
        if self.merges_single_rows:
            many = many | (True if deletes is None else ~deletes[since.last])
        folding = _Folding(whole, since, many, deletes if since is not whole else None)
        if retracts is None or not retracts.any() or not retracts[folding.dense.order].any():
            retracts = None
        folding = replace(folding, retracts=retracts)
        rules = {name: partial(self._column, name, folding) for name in columns}
        return fold(rows, since, rules)

    def _column(self, name: str, folding: _Folding, column: pa.ChunkedArray, groups: Groups) -> pa.ChunkedArray:
        if name == VALUE_KIND:
            own = contiguous(last(column, groups)).to_numpy()
            return pa.chunked_array([pa.array(np.where(folding.many, RowKind.INSERT, own), column.type)])
        function = self.functions.get(name)
        if function is None or not folding.many.any():
            return last(column, groups)
        if folding.retracts is not None and not function.can_retract:
            raise self._no_retract(name)
        if pa.types.is_primitive(column.type):
            column = pa.chunked_array([contiguous(column)])  # joined once, because it is read more than once
        plain = folding.retracts is None and folding.deletes is None
        checked = not isinstance(function, First | Last) and name in self.not_null and column.null_count
        if plain and not checked and _keeps_single(function, column):
            return function(column, groups, None)  # a single row gives its own value, so one call handles all groups
        if isinstance(function, First) and folding.deletes is not None:
            folded = function.after_deletes(column, folding.folded, folding.dense, folding.deletes)
        else:
            folded = function(column, folding.dense, folding.retracts)
        if folded.null_count and name in self.not_null:
            raise InvalidRequest(
                f"column {name!r} is NOT NULL, but its aggregate function leaves a key without a value", column=name
            )
        return with_singles(column, groups, folding.many, folded)

    def check_retract(self, kinds: Collection[int]) -> None:
        """With ``remove_on_delete``, accept rows of kind -D without a check of the functions.

        For other ``kinds``, check every function. Raises InvalidRequest naming the column when its function cannot
        retract or would set a NOT NULL column to null.
        """
        if self.remove_on_delete and set(kinds) <= {RowKind.DELETE}:
            return
        for name, function in self.functions.items():
            if not function.can_retract:
                raise self._no_retract(name)
            if isinstance(function, Last) and name in self.not_null:
                raise InvalidRequest(
                    f"rows of kind -U and -D are refused: they would set column {name!r}, which is NOT NULL, to null; "
                    f"set the option fields.{name}.ignore-retract = true to keep the column's value",
                    column=name,
                )

    def check_rows(self, rows: pa.Table) -> None:
        """Raise InvalidRequest for a blank text in a NOT NULL column with listagg: listagg of blank texts is null."""
        for name in self.not_null.intersection(self.functions):
            function = self.functions[name]
            inner = function.inner if isinstance(function, IgnoreRetract) else function
            if isinstance(inner, ListAgg) and not counting_texts(contiguous(rows[name])).all():
                raise InvalidRequest(
                    f"column {name!r} is NOT NULL, but a text to write is blank, and listagg of blank texts is null",
                    column=name,
                )

    def _no_retract(self, name: str) -> InvalidRequest:
        return InvalidRequest(
            f"rows of kind -U and -D are refused: the aggregate function of column {name!r} cannot retract values; "
            f"set the option fields.{name}.ignore-retract = true to keep the column's value, or {_REMOVE} = true to "
            "let -D remove the row",
            column=name,
        )


@dataclass(frozen=True)
class _Folding:
    """The groups of one call of ``fold``.

    ``since``: all groups; a group begins with its last -D row that removes the record, if it has such a row.
    """

    whole: Groups
    """The groups of ``since``, including the rows before the last -D row that removes the record."""
    since: Groups
    many: Flags
    """One boolean per group: whether it is aggregated."""
    deletes: Flags | None
    """One boolean per row: whether it removes the record of its key; None when no row does."""
    retracts: Retracts | None = None

    @cached_property
    def dense(self) -> Groups:
        """The groups of ``since`` that are aggregated."""
        return self.since.keep(self.many).compact()

    @cached_property
    def folded(self) -> Groups:
        """The groups of ``whole`` that are aggregated."""
        return self.whole.keep(self.many)


def _keeps_single(function: Aggregate, column: pa.ChunkedArray) -> bool:
    """Whether the function returns the value of a single added row unchanged, with all its bits."""
    if isinstance(function, Extreme):  # the largest and smallest NaN is the canonical one
        return not (pa.types.is_floating(column.type) and any(map(has_nan, column.chunks)))
    return isinstance(function, First | Last | IntegerSum | DecimalSum | FloatSum | FloatProduct | Connective)


def _since_last(deletes: Flags, whole: Groups) -> Groups:
    """Return each group from its last row in ``deletes`` on; a group without such a row is unchanged."""
    found = deletes[whole.order]
    if not found.any():
        return whole
    latest = np.maximum.accumulate(np.where(found, np.arange(len(found)), -1))
    return Groups(whole.order, np.maximum(whole.starts, latest[whole.ends - 1]), whole.ends)


def _kinds(rows: pa.Table) -> npt.NDArray[np.int8]:
    return np.asarray(contiguous(rows[VALUE_KIND]).to_numpy())


def _refuse(value: object, column: str, option: str, why: str) -> None:
    """Raise InvalidOption when the column's option is set."""
    if value:
        key = f"fields.{column}.{option}"
        raise InvalidOption(f"option {key} is not allowed for column {column!r}: {why}", column=column, option=key)
