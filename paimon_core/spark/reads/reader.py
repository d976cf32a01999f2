"""Read: Spark's own Parquet reader reads raw files; Python tasks read the splits that must be merged.

The resulting DataFrame is the union of both parts, so Spark can push columns and filters down to its Parquet reader.
The splits are planned on the driver from one snapshot, so a DataFrame does not contain commits after its creation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from paimon_core.errors import UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.microseconds import in_microseconds
from paimon_core.plan.split import Split
from paimon_core.predicate import Predicate, Where
from paimon_core.query.description import Batching
from paimon_core.query.fallback import FallbackRows
from paimon_core.query.scan import Scan
from paimon_core.read.columns import PARTITION, result_fields
from paimon_core.read.damaged_files import DamagedFiles
from paimon_core.read.request import ReadRequest
from paimon_core.read.row_reader import read_rows
from paimon_core.read.small_splits import groups_of_splits, read_together
from paimon_core.spark.arguments import check_session_and_table
from paimon_core.spark.reads.hadoop import place_of
from paimon_core.spark.reads.native import NativeRule, divided, native_frame
from paimon_core.spark.reads.split_tasks import read_in_tasks
from paimon_core.spark.reference import TableReference
from paimon_core.spark.types import arrow_schema, spark_schema, to_spark
from paimon_core.table.changes.incremental import DifferenceRows
from paimon_core.table.view import TableView


def read_spark(
    spark: SparkSession,
    table: TableView,
    columns: Sequence[str] | None = None,
    where: Where | None = None,
    *,
    timestamps_in_micros: bool = False,
) -> DataFrame:
    """Return the rows of ``table`` that satisfy ``where`` as a DataFrame of ``columns``.

    ``columns`` and ``where`` are as in ``Table.scan``; members of ROW columns and metadata columns are allowed. The
    options ``scan.*`` and ``incremental-*`` select the rows as in ``Table.scan``. This call selects the files; Spark
    reads them later: rows committed after the call are not returned, and the query fails if the snapshot expires before
    its files are read. Spark pushes filters and columns that are chosen later only into raw files, not into rows that
    are merged.

    With ``timestamps_in_micros``, as in ``Table.scan``, the values of TIMESTAMP(7..9) columns are truncated to
    microseconds, the precision of Spark, and may be in any year. Otherwise a value with more digits, or of a year
    outside 1677 to 2262, makes the query fail. Raises SchemaMismatch for unknown columns, and the errors of
    ``Table.scan``.
    """
    check_session_and_table(spark, table)
    scan = table.scan(columns, where, timestamps_in_micros=timestamps_in_micros)
    fields = result_fields(scan.context.schema, scan.columns)
    if any(f.name == PARTITION and not f.type.children for f in fields):
        raise UnsupportedFeature(
            f"column {PARTITION!r}: table {table.name} has no partition columns, and Spark has no row without fields: "
            "leave the column out",
            column=PARTITION,
        )
    read = _Read(spark, spark_schema(fields), arrow_schema(fields), timestamps_in_micros)
    if isinstance(scan.source, FallbackRows):
        _ = scan.source.second.plan  # Plan both branches before the files of the first branch are listed.
        frames = [frame for member in (scan.source.first, scan.source.second) for frame in read.frames(member)]
    elif isinstance(scan.source, DifferenceRows):
        frames = [read.whole(scan)]
    else:
        frames = read.frames(scan)
    return reduce(DataFrame.unionAll, frames) if frames else spark.createDataFrame([], read.schema)


@dataclass(frozen=True)
class SplitReader:
    """Reads the splits of one Spark task, which opens the table once; small splits are read together."""

    reference: TableReference
    columns: Sequence[str]
    where: Predicate | None
    schema: pa.Schema
    """The columns with the types of Spark."""
    timestamps_in_micros: bool = False

    def __call__(self, payloads: Iterable[bytes]) -> Iterator[pa.Table]:
        """Yield the rows of splits, given as bytes, in their order."""
        context = self._context
        request = ReadRequest(list(self.columns), self.where, damaged=DamagedFiles.of(context.options))
        splits = [*map(Split.from_bytes, payloads)]
        # The first rows need not come early: they wait for a full batch.
        for group in groups_of_splits(context, splits, request, first_is_alone=False):
            (first, *others) = group
            tables = read_together(context, group, request) if others else read_rows(context, first, request)
            for rows in tables:
                yield to_spark(rows, self.schema)

    @cached_property
    def _context(self) -> TableContext:
        context = self.reference.open()
        return in_microseconds(context) if self.timestamps_in_micros else context


@dataclass(frozen=True)
class _Read:
    """One call of ``read_spark``."""

    spark: SparkSession
    schema: StructType
    arrow: pa.Schema
    timestamps_in_micros: bool

    def frames(self, scan: Scan) -> list[DataFrame]:
        """Return the DataFrames that together have the rows of a scan with splits."""
        context, where = scan.context, scan.where
        needed = list(dict.fromkeys([*scan.columns, *(() if where is None else sorted(where.columns))]))
        place = place_of(self.spark, context.storage)
        rule = NativeRule.of(context, needed, where)
        groups, others = divided(rule, scan.splits()) if place is not None else ({}, scan.splits())
        frames = []
        if place is not None:
            for names, files in groups.items():
                frames.append(native_frame(self.spark, rule, place, names, files, scan.columns, where))
        if others:
            work = SplitReader(TableReference.of(context), scan.columns, where, self.arrow, self.timestamps_in_micros)
            payloads, sizes = [split.to_bytes() for split in others], [split.size_bytes for split in others]
            share = _width(self.arrow) / _width(arrow_schema(context.schema.fields))
            frames.append(read_in_tasks(self.spark, payloads, work, self.schema, sizes, min(share, 1.0)))
        return frames

    def whole(self, scan: Scan) -> DataFrame:
        """Return the rows of a scan that has no splits; one task reads these rows in bounded memory."""
        schema = self.arrow

        def work(_: Sequence[bytes]) -> Iterator[pa.Table]:
            for batch in scan.source.batches(scan, Batching()):
                yield to_spark(pa.Table.from_batches([batch]), schema)

        return read_in_tasks(self.spark, [b""], work, self.schema, [_UNKNOWN_BYTES])


def _width(schema: pa.Schema) -> int:
    """Return the bytes of a row by Spark's rule: 8, plus the size of each column (20 for a text or a nested type)."""
    kinds = [field.type for field in schema]
    return 8 + sum(kind.bit_width // 8 if pa.types.is_primitive(kind) else 20 for kind in kinds)


_UNKNOWN_BYTES = 1 << 30
"""The size that is stated to Spark when the size is not known: too many bytes for a broadcast."""
