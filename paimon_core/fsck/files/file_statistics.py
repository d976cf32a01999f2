"""StatsCheck: compares the recorded statistics of one file with its rows (I19, format 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.binary_row.rows import decode_row, to_array
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.recorded_bounds import recorded_bounds
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import NESTED_ROOTS


@dataclass
class _Column:
    name: str
    low: pa.Scalar | None
    high: pa.Scalar | None
    nulls: int | None
    seen_nulls: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """A recorded number or bound that is wrong.

    ``rule`` names the column and the kind of bound; ``text`` is the message, with the values.
    """

    rule: tuple[str, str]
    text: str


@dataclass
class StatsCheck:
    """The recorded statistics of each column, and the number of nulls in the rows that were checked so far."""

    columns: list[_Column] = field(default_factory=list)

    @staticmethod
    def of(file: DataFile, schema: TableSchema, *, keyed: bool) -> StatsCheck:
        """Return the check of a file; raises CorruptTable for statistics that are damaged or of an unknown column."""
        names = schema.names if file.value_stats_cols is None else file.value_stats_cols
        unknown = [name for name in names if name not in schema.by_name]
        if unknown:
            raise CorruptTable(f"file {file.file_name} has statistics of {unknown[0]!r}, which is not a column")
        columns = list(_columns(schema.select(names), file.value_stats))
        return StatsCheck(columns + (list(_columns(schema.file_key_fields, file.key_stats)) if keyed else []))

    def problems(self, batch: pa.RecordBatch) -> Iterator[Problem]:
        """Yield a problem for each bound that is wrong for the batch; it names the first value outside of the bound."""
        for column in self.columns:
            values = batch[column.name]
            column.seen_nulls += values.null_count
            for bound, compare, words in ((column.low, pc.less, "below"), (column.high, pc.greater, "above")):
                if bound is None:
                    continue
                outside = values.filter(pc.fill_null(compare(values, bound), False))
                if len(outside):
                    found, recorded = outside[0].as_py(), bound.as_py()
                    text = f"column {column.name} has {found!r:.60}, {words} the recorded {recorded!r:.60}"
                    yield Problem((column.name, words), text)

    def count_problems(self) -> Iterator[Problem]:
        """Yield a problem for each wrong null count; called after all rows were checked."""
        for column in self.columns:
            if column.nulls is not None and column.nulls != column.seen_nulls:
                text = f"column {column.name} has {column.seen_nulls} nulls, but {column.nulls} are recorded"
                yield Problem((column.name, "nulls"), text)


def _columns(fields: Sequence[DataField], stats: ColumnStats) -> Iterator[_Column]:
    if not any(stats.min_values[:4]):
        return
    types = [f.type for f in fields]
    low, high = decode_row(stats.min_values, types), decode_row(stats.max_values, types)
    nulls: Sequence[Any] = stats.null_counts if len(stats.null_counts) == len(fields) else [None] * len(fields)
    for at, column in enumerate(fields):
        least, greatest, count = recorded_bounds(low[at], high[at], nulls[at], column.type)
        if column.type.root in NESTED_ROOTS:
            yield _Column(column.name, None, None, count)
        else:
            yield _Column(column.name, _scalar(least, column), _scalar(greatest, column), count)


def _scalar(value: Any, column: DataField) -> pa.Scalar | None:
    try:
        return None if value is None else to_array([value], column.type)[0]
    except UnsupportedFeature:  # a timestamp beyond Arrow's range: no value that Arrow can read exceeds it
        return None
