"""Placed columns: the metadata columns that say where a row is stored (file, position, partition, bucket)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from paimon_core.codec.binary_row.rows import decode_row, to_array
from paimon_core.errors import UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.plan.split import Split
from paimon_core.predicate import BoundPredicate
from paimon_core.read.columns import BUCKET, FILE_PATH, PARTITION, ROW_INDEX
from paimon_core.schema import DataField


@dataclass(frozen=True)
class PlacedColumns:
    """Adds the metadata columns ``fields`` to the rows of one split."""

    context: TableContext
    split: Split
    fields: tuple[DataField, ...]
    fixed: BoundPredicate | None = None
    """The part of the filter that tests only the partition, the bucket and the path of the file."""

    @property
    def position(self) -> str | None:
        """The name of the column with the position of each row in its file; None when this column is not requested."""
        return ROW_INDEX if any(f.name == ROW_INDEX for f in self.fields) else None

    @property
    def needs_file(self) -> bool:
        """Whether the value of one of the columns depends on the file of a row."""
        return any(f.name in (FILE_PATH, ROW_INDEX) for f in self.fields)

    def check_raw(self) -> None:
        """Raise UnsupportedFeature if the file path or the row index of merged rows is requested."""
        for field in self.fields:
            if field.name in (FILE_PATH, ROW_INDEX) and not self.split.raw:
                raise UnsupportedFeature(
                    f"column {field.name!r}: rows of bucket {self.split.bucket} of {self.context.name} are "
                    "merged from several files; only append tables, tables with deletion vectors and buckets after a "
                    "full compaction have it",
                    column=field.name,
                )

    def may_match(self, file: DataFile | None) -> bool:
        """Whether rows of the file can pass ``fixed``; None for ``file`` stands for the merged rows of the bucket."""
        if self.fixed is None:
            return True
        row = pa.table([pa.nulls(1)], [""])
        return len(self.added(row, file).filter(self.fixed.to_arrow())) > 0

    def added(self, rows: pa.Table, file: DataFile | None) -> pa.Table:
        """Return the rows with all metadata columns except the position, which the reader of the file adds."""
        for field in self.fields:
            if field.name != ROW_INDEX:
                rows = rows.append_column(field.arrow, pa.repeat(self._value(field, file), len(rows)))
        return rows

    def _value(self, field: DataField, file: DataFile | None) -> pa.Scalar:
        if field.name == FILE_PATH and file is not None:
            return pa.scalar(self.context.file_path(self.split.partition, self.split.bucket, file), pa.string())
        return self._partition if field.name == PARTITION else pa.scalar(self.split.bucket, pa.int32())

    @cached_property
    def _partition(self) -> pa.Scalar:
        fields = self.context.schema.partition_fields
        values = decode_row(self.split.partition, [f.type for f in fields])
        arrays = [to_array([value], f.type) for value, f in zip(values, fields, strict=True)]
        kind = next(f.type.to_arrow() for f in self.fields if f.name == PARTITION)
        return pa.StructArray.from_arrays(arrays, fields=list(kind))[0] if arrays else pa.scalar({}, kind)


def constant_names(fields: Sequence[DataField]) -> set[str]:
    """Return the names of the ``fields`` that have the same value in all rows of a file."""
    return {f.name for f in fields if f.name in (FILE_PATH, PARTITION, BUCKET)}
