"""SortOrder: the columns by which a sort compaction orders rows, and the strategy: order, zorder or hilbert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.compact.space_filling_curves import hilbert, ordered_longs, z_order
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.metadata.context import TableContext
from paimon_core.types import NESTED_ROOTS

STRATEGIES = ("order", "zorder", "hilbert")
_KEY = "\x00key"
_KEY_ROWS = 1 << 16
"""The number of rows whose bits are in memory at once, one byte for each bit."""


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The columns and the strategy of a sort.

    ``order`` compares the columns one after the other, nulls first; ``zorder`` and ``hilbert`` compute one key from all
    columns.
    """

    columns: tuple[str, ...]
    strategy: str = "order"

    @staticmethod
    def of(context: TableContext, columns: Sequence[str], strategy: str) -> SortOrder:
        """Check columns and strategy and return the order.

        Raises SchemaMismatch for an unknown column, InvalidRequest for any other column or strategy that is not
        allowed.
        """
        if strategy not in STRATEGIES:
            raise InvalidRequest(
                f"strategy {strategy!r:.40} of a sort compaction is not one of {', '.join(STRATEGIES)}"
            )
        if isinstance(columns, str) or not isinstance(columns, Sequence) or not columns:
            raise InvalidRequest(f"order_by needs a list of at least one column, not {columns!r:.80}")
        names = tuple(columns)
        for name in names:
            if not isinstance(name, str) or name not in context.schema.by_name:
                raise SchemaMismatch(f"table {context.name} has no column {name!r:.80} to sort by", column=name)
            kind = context.schema.by_name[name].type
            if kind.root in NESTED_ROOTS:
                raise InvalidRequest(
                    f"table {context.name}: rows cannot be sorted by column {name!r} of type {kind}", column=name
                )
            if name in context.schema.partition_keys or names.count(name) > 1:
                why = "is a partition column" if name in context.schema.partition_keys else "occurs twice"
                raise InvalidRequest(f"table {context.name}: column {name!r} of order_by {why}", column=name)
        if strategy == "hilbert" and len(names) < 2:
            raise InvalidRequest(f"a Hilbert curve needs at least two columns in order_by, not {names[0]!r:.80} alone")
        return SortOrder(names, strategy)

    def with_keys(self, context: TableContext, rows: pa.Table) -> tuple[pa.Table, list[str]]:
        """Return the rows with added key columns, and the names of the columns to sort the rows by.

        Raises SchemaMismatch when the table no longer has one of the columns.
        """
        if self.strategy == "order":
            return _comparable(rows, self._checked(context))
        types = [context.schema.by_name[name].type for name in self._checked(context)]
        text_bytes = context.options["zorder.var-length-contribution"]
        keys = []
        for start in range(0, max(len(rows), 1), _KEY_ROWS):
            part = rows.slice(start, _KEY_ROWS)
            columns = [_array(part[name]) for name in self.columns]
            keys.append(hilbert(columns, types) if self.strategy == "hilbert" else z_order(columns, types, text_bytes))
        return rows.append_column(_KEY, pa.chunked_array(keys)), [_KEY]

    def _checked(self, context: TableContext) -> tuple[str, ...]:
        for name in self.columns:
            if name not in context.schema.by_name:
                raise SchemaMismatch(f"table {context.name} has no column {name!r:.80} to sort by", column=name)
        return self.columns


def _comparable(rows: pa.Table, columns: Sequence[str]) -> tuple[pa.Table, list[str]]:
    """Return the rows with key columns for strategy ``order``, and the names of the columns to sort by.

    For each nullable column, a column is added that sorts nulls first, because Arrow sorts nulls last. For each float
    column, a column of integers is added, because Arrow does not sort NaN like other values.
    """
    names: list[str] = []

    def add(column: pa.Array | pa.ChunkedArray) -> None:
        nonlocal rows
        names.append(f"{_KEY}{len(names)}")
        rows = rows.append_column(names[-1], column)

    for name in columns:
        column, is_nullable = rows[name], rows.schema.field(name).nullable
        if is_nullable:
            add(column.is_valid().cast(pa.int8()))
        if pa.types.is_floating(column.type):
            add(pa.array(ordered_longs(np.asarray(_array(column).cast(pa.float64()).fill_null(0)))))
        else:
            names.append(name)
    return rows, names


def without_keys(rows: pa.Table) -> pa.Table:
    """Return the rows without the columns that ``with_keys`` added."""
    return rows.drop_columns([name for name in rows.schema.names if name.startswith(_KEY)])


def sorting(names: Sequence[str], rows: pa.Table) -> pa.Array:
    """Return the positions of the rows in ascending order of the columns ``names``; equal rows keep their order."""
    return pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in names])


def _array(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
