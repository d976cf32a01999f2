"""Read: Spark's own Parquet reader reads raw files; Python tasks read the splits that must be merged.

The resulting DataFrame is the union of both parts, so Spark can push columns and filters down to its Parquet reader.
The splits are planned on the driver from one snapshot, so a DataFrame does not contain commits after its creation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.microseconds import in_microseconds
from paimon_core.plan.split import Split
from paimon_core.predicate import Predicate, Where
from paimon_core.read.damaged_files import DamagedFiles
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.schema import DataField
from paimon_core.spark.reads.filters import compares_types_natively, to_column
from paimon_core.spark.reference import TableReference
from paimon_core.spark.tasks import run_tasks
from paimon_core.spark.types import arrow_schema, spark_schema, to_spark
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.table.view import TableView
from paimon_core.types import TIMESTAMP_ROOTS, DataType, TypeRoot

_GLOB = re.compile(r"[\[\]{}*?\\]")
_NATIVE_COMPARISONS = 256
"""A filter with more comparisons is too deep for Spark's optimizer: all splits are then read in Python tasks."""


def read_spark(
    spark: SparkSession,
    table: TableView,
    columns: Sequence[str] | None = None,
    where: Where | None = None,
    *,
    timestamps_in_micros: bool = False,
) -> DataFrame:
    """Return the rows of ``table`` that satisfy ``where`` as a DataFrame of ``columns``.

    With ``timestamps_in_micros``, as in ``Table.scan``, the values of TIMESTAMP(7..9) columns are truncated to
    microseconds, the precision of Spark, and may be in any year. Otherwise a value with more digits, or of a year
    outside 1677 to 2262, makes the query fail. Raises SchemaMismatch for unknown columns.
    """
    table = table.reading()
    scan = table.scan(columns, where, timestamps_in_micros=timestamps_in_micros)
    predicate = scan.where
    seen = in_microseconds(table.context) if timestamps_in_micros else table.context
    fields = seen.schema.select(scan.columns)
    schema, arrow = spark_schema(fields), arrow_schema(fields)
    needed = list(dict.fromkeys([*scan.columns, *(sorted(predicate.columns) if predicate is not None else ())]))
    native: list[Split] = []
    merged: list[Split] = []
    short = predicate is None or (
        predicate.comparisons <= _NATIVE_COMPARISONS
        and compares_types_natively(predicate, spark_schema(table.schema.select(needed)))
    )
    for split in scan.splits():
        (native if short and _is_native(split, table, table.schema.select(needed)) else merged).append(split)
    branches = []
    if native:
        branches.append(_native(spark, native, table, scan.columns, needed, predicate))
    if merged:
        work = SplitReader(TableReference.of(table.context), scan.columns, predicate, arrow, timestamps_in_micros)
        sizes = [split.size_bytes for split in merged]
        branches.append(run_tasks(spark, [s.to_bytes() for s in merged], work, schema, sizes))
    if not branches:
        return spark.createDataFrame([], schema)
    return branches[0] if len(branches) == 1 else branches[0].unionAll(branches[1])


@dataclass(frozen=True)
class SplitReader:
    """Reads the splits of one Spark task, which opens the table once."""

    reference: TableReference
    columns: Sequence[str]
    where: Predicate | None
    schema: pa.Schema
    """The columns with the types of Spark."""
    timestamps_in_micros: bool = False

    def __call__(self, payload: bytes) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one split, given as bytes."""
        request = ReadRequest(list(self.columns), self.where, damaged=DamagedFiles.of(self._context.options))
        for rows in read_split(self._context, Split.from_bytes(payload), request):
            yield from to_spark(rows, self.schema).to_batches()

    @cached_property
    def _context(self) -> TableContext:
        context = self.reference.open()
        return in_microseconds(context) if self.timestamps_in_micros else context


def _is_native(split: Split, table: TableView, needed: Sequence[DataField]) -> bool:
    """Whether Spark's Parquet reader returns the same rows for this split as this library.

    The files must be local Parquet files of the current schema that need no merge, without TIME and INT96 timestamp
    columns. When damaged files are left out, Python tasks must read the splits, because only Python tasks report the
    files.
    """
    return (
        split.raw
        and DamagedFiles.of(table.options) is None
        and not split.vectors
        and all(f.schema_id == table.schema.id and f.file_name.endswith(".parquet") for f in split.files)
        and not any(_is_unsupported_natively(f.type) for f in needed)
        and table.context.storage.is_local
    )


def _is_unsupported_natively(kind: DataType) -> bool:
    if any(_is_unsupported_natively(c.type) for c in kind.children):
        return True
    return kind.root is TypeRoot.TIME or (kind.root in TIMESTAMP_ROOTS and kind.precision > 6)


def _native(
    spark: SparkSession,
    splits: Sequence[Split],
    table: TableView,
    columns: Sequence[str],
    needed: Sequence[str],
    where: Predicate | None,
) -> DataFrame:
    context = table.context
    paths = [context.file_path(s.partition, s.bucket, f) for s in splits for f in s.files]
    if isinstance(context.storage, FsspecStorage):
        for path in paths:  # refuse symbolic links, which Spark would follow
            context.storage.check_file(path)
    schema = spark_schema(table.schema.select(needed))
    # Spark treats paths as glob patterns, and looks for paths without a scheme in its default file system.
    rows = spark.read.schema(schema).parquet(*("file:" + _GLOB.sub(r"\\\g<0>", path) for path in paths))
    if where is not None:
        rows = rows.where(to_column(where, schema))
    return rows.select(*[f"`{c}`" for c in columns])
