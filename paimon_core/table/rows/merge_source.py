"""Merge source: the rows that ``Table.merge`` merges into a table, with a search by key.

The distinct keys of the source are numbered (``key_numbers``). For the rows of a table, one binary search over whole
columns returns the numbers of their keys. A key that contains a null is not numbered, so it matches no row. NaN equals
NaN, and -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import and_
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import conform, gaps, read_tables, table_of_rows
from paimon_core.errors import InvalidRequest, SchemaMismatch, listed
from paimon_core.lsm.gather import is_long, take_rows, with_contiguous
from paimon_core.metadata.context import TableContext
from paimon_core.predicate import Predicate, col
from paimon_core.schema import DataField
from paimon_core.table.rows.encoded_texts import conform_encoded, joined_encoded
from paimon_core.table.rows.key_numbers import KeyNumbers, Numbers, comparable
from paimon_core.table.rows.merge_clauses import Clauses
from paimon_core.types import NESTED_ROOTS, TypeRoot, from_arrow

Flags = npt.NDArray[np.bool_]
_READ_BYTES = 64 << 20
"""Bytes of decoded rows of the source that are converted at once."""
LISTED_KEYS = 10_000
"""The maximum number of key values that a filter of files lists; with more values, the filter is their range."""


@dataclass(frozen=True)
class MergeSource:
    """The rows of the source.

    Columns that the table also has are converted to the table's types; texts may be dictionary arrays in columns that
    neither a condition nor ``on`` uses.
    """

    rows: pa.Table
    fields: tuple[DataField, ...]
    """The columns that conditions may use."""
    on: tuple[str, ...]

    @staticmethod
    def read(context: TableContext, data: Any, on: Any, clauses: Clauses) -> MergeSource:
        """Read the source into memory.

        Raises InvalidRequest and SchemaMismatch, which name the column, for data that does not fit the table.
        """
        on = columns_on(context, on)
        extra, tested = clauses.source_columns, clauses.condition_columns
        fields = [replace(f, type=f.type.with_nullable(True), default=None) for f in context.schema.fields]
        known, tables, first_row = set(context.schema.names), [], 0

        def converted(rows: Sequence[Mapping[str, Any]], first: int) -> pa.Table:
            if clauses.updates_all:
                refuse_gaps(rows, first, on)
            return table_of_rows(rows, fields, first)

        for table in read_tables(data, converted, _READ_BYTES):
            others = [n for n in table.column_names if n in extra and n not in known]
            if not table.column_names:
                continue
            rows = conform_encoded(table.drop_columns(others), fields, {*on, *tested}, first_row=first_row)
            rows = rows.select([n for n in rows.column_names if n in table.column_names])
            tables.append(_with_others(rows, table, others, tested, first_row))
            first_row += len(table)
        empty = pa.schema([f.arrow for f in fields]).empty_table()
        try:
            rows = joined_encoded(tables) if tables else empty
        except pa.ArrowException as error:
            raise InvalidRequest(f"the tables of the source have different columns: {error}") from error
        for name in (*on, *sorted(tested)):
            if name not in rows.column_names:
                raise SchemaMismatch(
                    f"the source has no column {name!r}; the columns are {listed(rows.column_names)}", column=name
                )
        used = [f for f in fields if f.name in rows.column_names]
        used += [_field(rows, n) for n in rows.column_names if n in tested and n not in known]
        short = [name for name in rows.column_names if not is_long(rows[name])]
        return MergeSource(with_contiguous(rows, short), tuple(used), on)

    @cached_property
    def _keys(self) -> KeyNumbers:
        known = {f.name: f.type for f in self.fields}
        return KeyNumbers.of(self._key_columns(self.rows), [known[name] for name in self.on])

    def _key_columns(self, rows: pa.Table) -> list[pa.ChunkedArray]:
        return [comparable(rows[name]) for name in self.on]

    def numbers(self, rows: pa.Table) -> Numbers:
        """Return the number of the key of each row; -1 for a key that the source does not have."""
        return self._keys.find(self._key_columns(rows))

    @cached_property
    def key_of_row(self) -> Numbers:
        """The number of the key of each row of the source; -1 for a key with a null."""
        return self.numbers(self.rows)

    @cached_property
    def _groups(self) -> tuple[Numbers, Numbers, Numbers]:
        """The source rows ordered by key number; the start of each key in this order; the number of rows per key."""
        keyed = np.flatnonzero(self.key_of_row >= 0)
        order = keyed[np.argsort(self.key_of_row[keyed], kind="stable")]
        counts = np.bincount(self.key_of_row[keyed], minlength=self.key_count).astype(np.int64)
        return order, np.cumsum(counts) - counts, counts

    @property
    def key_count(self) -> int:
        """The number of distinct keys."""
        return int(self.key_of_row.max(initial=-1)) + 1

    @property
    def most_rows_of_a_key(self) -> int:
        """The largest number of rows with the same key; at least 1."""
        return int(self._groups[2].max(initial=1))

    def pairs(self, numbers: Numbers) -> tuple[Numbers, Numbers]:
        """Return the pairs of rows with equal keys, as two arrays: ascending positions in ``numbers``; source rows."""
        order, starts, counts = self._groups
        if self.most_rows_of_a_key == 1:
            return np.arange(len(numbers)), order[starts[numbers]]
        times = counts[numbers]
        ends = np.cumsum(times)
        offsets = np.arange(len(numbers) and int(ends[-1])) - np.repeat(ends - times, times)
        return np.repeat(np.arange(len(numbers)), times), order[np.repeat(starts[numbers], times) + offsets]

    def taken(self, rows: Numbers) -> pa.Table:
        """Return the given rows of the source, without dictionary arrays."""
        return take_rows(self.rows, rows, self.rows.column_names)

    def selected(self, where: Predicate | None) -> Flags:
        """Return for each row of the source whether a condition on its columns is true."""
        return selected(self.rows, where, self.fields)

    def may_match(self, context: TableContext) -> Predicate:
        """Return a filter that is true for all table rows whose key is in the source, and maybe for other rows."""
        filters = [key_filter(context, name, comparable(self.rows[name]).drop_null().unique()) for name in self.on]
        return reduce(and_, [f for f in filters if f is not None] or [col(self.on[0]).is_not_null()])

    def key_text(self, rows: pa.Table, row: int) -> str:
        """Return the key of a row as text for an error."""
        values = rows.select(list(self.on)).slice(row, 1).to_pylist()[0]
        return ", ".join(f"{name} = {value!r:.80}" for name, value in values.items())


def selected(rows: pa.Table, where: Predicate | None, fields: Sequence[DataField]) -> Flags:
    """Return for each row whether the condition is true."""
    if where is None:
        return np.ones(len(rows), np.bool_)
    return np.asarray(pc.fill_null(where.bind(fields).mask(rows), False), np.bool_)


def columns_on(context: TableContext, on: Any) -> tuple[str, ...]:
    """Return the columns ``on``: a name, or a list of names.

    Raises InvalidRequest or SchemaMismatch unless rows can be matched on them.
    """
    names = (on,) if isinstance(on, str) else on
    if (
        not isinstance(names, list | tuple)
        or not names
        or any(not isinstance(n, str) for n in names)
        or len(set(names)) < len(names)
    ):
        raise InvalidRequest(f"on must be a column or a list of different columns, not {on!r:.80}")
    for name in names:
        field = context.schema.by_name.get(name)
        if field is None:
            raise SchemaMismatch(f"table {context.name} has no column {name!r:.80} to match on", column=name)
        if field.type.root in NESTED_ROOTS or field.type.root is TypeRoot.VARIANT:
            raise InvalidRequest(f"column {name!r} is {field.type}: rows cannot be matched on it", column=name)
    return tuple(names)


def refuse_gaps(rows: Sequence[Mapping[str, Any]], first_row: int, on: Sequence[str]) -> None:
    """Raise SchemaMismatch for a dict without a column that another dict has: an update would set it to null.

    A dict without a column ``on`` matches no row, so it updates nothing.
    """
    for name, row in ((name, row) for name, row in gaps(rows).items() if name not in on):
        raise SchemaMismatch(
            f"row {first_row + row} of the source has no column {name!r}, which other rows have, so a merge would set "
            "it to null: merge rows with the same columns, or give it None",
            column=name,
            row=first_row + row,
        )


def _with_others(
    rows: pa.Table, table: pa.Table, others: Sequence[str], tested: frozenset[str], first_row: int
) -> pa.Table:
    """Append the source columns ``others``, which the table to change lacks.

    Columns that conditions use are converted to types of Paimon.
    """
    for name in others:
        column = table.select([name])
        if name in tested:
            column = conform(column, [_field(table, name)], first_row=first_row)
        rows = rows.append_column(name, column[name])
    return rows


def _field(table: pa.Table, name: str) -> DataField:
    return DataField(-1, name, from_arrow(table.schema.field(name).type))


def key_filter(context: TableContext, name: str, values: pa.Array) -> Predicate | None:
    """Return a filter that is true for all ``values`` of a key column; None when the filter cannot be made.

    At most ``LISTED_KEYS`` values are listed. With more values, the filter is their range.
    """
    field = context.schema.by_name[name]
    try:
        if len(values) <= LISTED_KEYS:
            found = col(name).is_in(values.to_pylist())
        elif pa.types.is_floating(values.type):
            return None
        else:
            ends = pc.min_max(values)
            found = col(name).between(ends["min"].as_py(), ends["max"].as_py())
        found.bind([field])
    except (ValueError, OverflowError):  # such as a time with nanoseconds, or a year that Python does not have
        return None
    return found
