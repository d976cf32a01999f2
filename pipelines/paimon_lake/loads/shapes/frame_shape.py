"""Frame shape: divide the rows of a query or a function into rows that fit their table and rejects.

All rows of a batch are converted as ``write_spark`` converts them. When a row does not fit, the batch is converted
again, one column after the other, to find all rows that do not fit.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.arrow import conform
from paimon_core.errors import SchemaMismatch
from paimon_core.schema import DataField
from paimon_core.types import parse_type
from paimon_lake.declarations.sources.kinds import Kinds
from paimon_lake.loads.rejected.reject_partitions import RejectPartitions
from paimon_lake.loads.shapes.row_shape import kind_texts, without_deleted
from paimon_lake.protocol import KIND, PipelineError
from paimon_lake.sources.files.columnar import reason_of, row_text
from paimon_lake.sources.files.columns import accepting, arrow_field, exact_type
from paimon_lake.sources.files.rejects import REJECTS, Parsed, cut, no_rejects
from paimon_lake.sources.files.row_builder import RowBuilder
from paimon_lake.sources.files.typed_values import convert_typed


@dataclass(frozen=True)
class FrameShape:
    """The columns of a table, the source of its rows, and the column of kinds."""

    name: str
    """The value of the column ``file`` of rejects: the function, the file of the query, or a name of the query."""
    fields: tuple[DataField, ...]
    kinds: Kinds | None
    partitions: RejectPartitions | None = None
    """Adds the partition of a reject to ``file``; None when rejects do not name their partition."""
    emptied: tuple[str, ...] = ()
    """The columns that are null in rows that delete."""

    def parsed(self, rows: pa.Table) -> Parsed:
        """Return the rows that fit, with the column ``KIND`` if the load has row kinds, and the other rows as rejects.

        Raises SchemaMismatch for a column whose type can never fit, independent of its values.
        """
        given = rows
        if self.kinds is not None:
            name = self.kinds.column
            rows = rows.append_column(KIND, rows[name].cast(pa.string()))
            rows = rows if any(field.name == name for field in self.fields) else rows.drop_columns([name])
        try:
            fitting = self._table_rows(rows)
        except (SchemaMismatch, PipelineError):
            return self._divided(rows, _batch(given))
        return Parsed(without_deleted(_batch(fitting), self.emptied), no_rejects(), len(rows))

    def _table_rows(self, rows: pa.Table) -> pa.Table:
        if self.kinds is None:
            return conform(rows, self.fields)
        kinds = kind_texts(rows[KIND].combine_chunks(), self.kinds)
        return conform(rows.drop_columns([KIND]), self.fields).append_column(KIND, kinds)

    def _divided(self, rows: pa.Table, given: pa.RecordBatch) -> Parsed:
        """Return the rows that fit, and rejects for the other rows.

        ``raw`` of a reject has all values of the given row.
        """
        self._table_rows(rows.slice(0, 0))  # raises SchemaMismatch for a type that does not fit
        wanted = [field for field in self.fields if field.name in rows.column_names]
        required = [field.name for field in wanted if not field.type.nullable]
        schema = pa.schema([arrow_field(field.name, field.type.with_nullable(True)) for field in wanted])
        if self.kinds is not None:
            texts = (*self.kinds.insert, *self.kinds.update, *self.kinds.delete)
            schema = schema.append(accepting(arrow_field(KIND, parse_type("STRING")), texts))
            required.append(KIND)
        batch = _batch(rows)
        builder = RowBuilder(schema, required, len(batch))
        partitions: pa.Array | None = None
        for field in schema:
            kind, values = exact_type(field), batch[field.name]
            column, bad = convert_typed(values, kind, field.name)
            if self.partitions is not None and field.name == self.partitions.field.name:
                partitions = column
            builder.add(column, bad, functools.partial(reason_of, values, str(kind)))
        rejected = sorted(builder.rejects, key=lambda reject: reject.row)
        files = [self.name] * len(rejected)
        if partitions is not None and self.partitions is not None:
            files = self.partitions.files(self.name, partitions.take([reject.row for reject in rejected]))
        kinds_column = "" if self.kinds is None else self.kinds.column
        found = {
            "file": files,
            "line": [None] * len(rejected),
            "column": [kinds_column if reject.column == KIND else reject.column for reject in rejected],
            "reason": [reject.reason for reject in rejected],
            "raw": [cut(row_text(given, reject.row)) for reject in rejected],
        }
        fitting = self._table_rows(pa.Table.from_batches([builder.rows()]))
        written = without_deleted(_batch(fitting), self.emptied)
        return Parsed(written, pa.RecordBatch.from_pydict(found, REJECTS), len(rows))


def _batch(table: pa.Table) -> pa.RecordBatch:
    columns = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)
