"""Target rows: the rows of a plan as a DataFrame, each with the place from which a change removes it.

In a table with a primary key the place is the key. In an append table it is the number of the file in the plan and the
position of the row in this file. The rows come from the pinned snapshot, with level 0 merged. Python tasks read them,
because only this library knows the positions; they read only the columns that are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType, IntegerType, LongType, StructField, StructType

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.versioned_json import pack, unpacked
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.plan.split import Split
from paimon_core.predicate import Predicate
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.spark.reference import TableReference
from paimon_core.spark.row_changes.key_filter import KeyFilter
from paimon_core.spark.tasks import run_tasks
from paimon_core.spark.types import arrow_schema, spark_schema, to_spark
from paimon_core.table.rows.merge_source import selected
from paimon_core.table.rows.row_changes import POSITION

FILE, POS = "__paimon_file", "__paimon_position"
_VERSION = 1


def target_rows(
    spark: SparkSession,
    context: TableContext,
    plan: ScanPlan,
    where: Predicate | None,
    columns: Sequence[str],
    flags: Mapping[str, Predicate] | None = None,
    keys: KeyFilter | None = None,
) -> DataFrame:
    """Return the rows that satisfy ``where``: ``columns``, a boolean column for each of ``flags``, and the place.

    For an append table, the place is the columns FILE and POS; with a primary key, it is the key, which ``columns``
    contains. A flag is false where its predicate is null. ``keys`` tests some of ``columns``: rows whose key is not in
    this filter are left out.
    """
    tracked = context.tracked()
    fields = tracked.schema.select(columns)
    schema = StructType([*spark_schema(fields).fields, *(StructField(n, BooleanType(), False) for n in flags or {})])
    if not context.is_keyed:
        places = [StructField(FILE, IntegerType()), StructField(POS, LongType())]
        schema = StructType([*schema.fields, *places])
    if not plan.splits:
        return spark.createDataFrame([], schema)
    reader = _Reader(TableReference.of(context), tuple(columns), where, dict(flags or {}), arrow_schema(fields), keys)
    payloads, first = [], 0
    for split in plan.splits:
        payloads.append(pack(_VERSION, {"first": first, "split": split.to_bytes().decode()}))
        first += len(split.files)
    return run_tasks(spark, payloads, reader, schema, [split.size_bytes for split in plan.splits])


@dataclass(frozen=True)
class _Reader:
    """Reads one split in a task."""

    reference: TableReference
    columns: tuple[str, ...]
    where: Predicate | None
    flags: Mapping[str, Predicate]
    schema: pa.Schema
    keys: KeyFilter | None

    def __call__(self, payload: bytes) -> Iterator[pa.RecordBatch]:
        with unpacked(payload, "split", _VERSION) as value:
            first, split = int(value["first"]), Split.from_bytes(value["split"].encode())
        context = self.reference.open().tracked()
        extra = frozenset[str]().union(*(p.columns for p in self.flags.values())) - {*self.columns}
        names = [*self.columns, *sorted(extra)]
        if context.is_keyed:
            for rows in read_split(context, split, ReadRequest(names, self.where)):
                yield from self._shown(context, self._candidates(rows)).to_batches()
            return
        request = ReadRequest(names, self.where, position=POSITION)
        for number, file in enumerate(split.files, first):
            for found in read_split(context, replace(split, files=(file,)), request):
                rows = self._candidates(found)
                shown = self._shown(context, rows)
                file_number = pa.repeat(pa.scalar(number, pa.int32()), len(rows))
                position = rows[POSITION].cast(pa.int64())
                yield from shown.append_column(FILE, file_number).append_column(POS, position).to_batches()

    def _candidates(self, rows: pa.Table) -> pa.Table:
        return rows if self.keys is None else rows.filter(pa.array(self.keys.may_match(rows)))

    def _shown(self, context: TableContext, rows: pa.Table) -> pa.Table:
        shown = to_spark(rows.select(list(self.columns)), self.schema)
        for name, predicate in self.flags.items():
            shown = shown.append_column(name, pa.array(selected(rows, predicate, context.schema.fields)))
        return shown
