"""ColumnBounds: the minimum and maximum of each column of a file, for formats whose writers do not report them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.binary_row.rows import storage_values
from paimon_core.datafile.statistics.column_statistics import Bounds
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, NESTED_ROOTS


class ColumnBounds:
    """Collects the bounds of the ``bounded`` columns while rows are written.

    Nested and binary columns have no bounds, as in Parquet files.
    """

    def __init__(self, fields: Sequence[DataField], bounded: Sequence[bool]) -> None:
        self._fields = tuple(fields)
        self._places = [
            at
            for at, (f, wanted) in enumerate(zip(fields, bounded, strict=True))
            if wanted and f.type.root not in BINARY_ROOTS and f.type.root not in NESTED_ROOTS
        ]
        self._ends: list[tuple[Any, Any] | None] = [None] * len(self._fields)

    def add(self, rows: pa.Table) -> None:
        """Update the bounds with rows of exactly the file's columns."""
        for at in self._places:
            field, column = self._fields[at], rows.column(at)
            if column.null_count == len(column):
                continue
            found = pc.min_max(column)
            both = pa.chunked_array([pa.array([found["min"], found["max"]], column.type)])
            low, high = storage_values(both, field.type)
            known = self._ends[at]
            self._ends[at] = (low, high) if known is None else (min(known[0], low), max(known[1], high))

    def bounds(self, null_counts: Sequence[int], has_nan: Sequence[bool]) -> list[Bounds]:
        """Return the bounds of each column; unknown bounds where ``has_nan`` is true."""
        return [
            Bounds(None, None, nulls)
            if ends is None or nan
            else Bounds(_signed(ends[0], -0.0), _signed(ends[1], 0.0), nulls)
            for ends, nulls, nan in zip(self._ends, null_counts, has_nan, strict=True)
        ]


def _signed(bound: Any, zero: float) -> Any:
    """Return the bound; a bound of zero gets the sign of ``zero``, so that the bound is correct for both -0.0 and
    0.0.
    """
    return zero if isinstance(bound, float) and bound == 0 else bound
