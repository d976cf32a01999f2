"""changes_spark: the rows that a range of snapshots changed, as a DataFrame."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.changelog_plan import changed_snapshot, changed_snapshots
from paimon_core.plan.stream_plan import plan_changes
from paimon_core.predicate import Predicate
from paimon_core.query.scan import new_scan
from paimon_core.read.changelog_reader import ROW_KIND
from paimon_core.spark.arguments import check_session_and_table
from paimon_core.spark.reads.split_tasks import read_in_tasks
from paimon_core.spark.reference import TableReference
from paimon_core.spark.streams.source import Limits, UnitPartition, as_partition, unit_of
from paimon_core.spark.types import arrow_schema, spark_schema, to_spark
from paimon_core.table.stream.start import overwrite_rule
from paimon_core.table.stream.table_stream import read_unit
from paimon_core.table.view import TableView

SNAPSHOT_ID = pa.field("_snapshot_id", pa.int64(), nullable=False)


def changes_spark(
    spark: SparkSession,
    table: TableView,
    after: int | None = None,
    until: int | None = None,
    columns: Sequence[str] | None = None,
    where: Predicate | None = None,
    *,
    on_overwrite: str | None = None,
) -> DataFrame:
    """Return the rows that the snapshots from ``after`` (exclusive) to ``until`` (inclusive) changed.

    ``_snapshot_id`` and ``rowkind`` are the first columns; the rows have no order. ``after`` and ``until`` are snapshot
    ids; by default, the range starts with the first snapshot and ends with the pinned or latest one. ``where`` tests
    each changed row separately. ``on_overwrite``: see ``Table.stream``. This call selects the files, and Spark tasks
    read the files later: rows committed after the call are not returned, and the query fails if a snapshot expires
    before its rows are read. Raises SnapshotNotFound for a snapshot that has expired or never existed, InvalidRequest
    for a wrong range, SchemaMismatch for wrong columns or filters.
    """
    check_session_and_table(spark, table)
    context, pinned = table.context, table.pinned
    scan = new_scan(context, pinned, columns, where, None)
    rule = overwrite_rule(context, on_overwrite)
    payloads: list[bytes] = []
    sizes: list[int] = []
    for snapshot_id in changed_snapshots(context, after, until, pinned.id if pinned else None):
        plan = plan_changes(context, changed_snapshot(context, snapshot_id), rule)
        if plan is not None:
            payloads += [_to_bytes(as_partition(plan.snapshot, unit)) for unit in plan.units]
            sizes += [Limits().plus(unit).bytes or 0 for unit in plan.units]
    names, where = list(scan.columns), scan.where
    fields = context.schema.select(names)
    kinds = [StructField(SNAPSHOT_ID.name, LongType(), False), StructField(ROW_KIND.name, StringType(), False)]
    schema, arrow = StructType([*kinds, *spark_schema(fields).fields]), arrow_schema(fields)
    if not payloads:
        return spark.createDataFrame([], schema)
    reference = TableReference.of(context)

    def work(payloads: Sequence[bytes]) -> Iterator[pa.Table]:
        opened = reference.open()
        for part in map(_from_bytes, payloads):
            snapshot = Snapshot.from_json(part.snapshot)
            for batch in read_unit(opened, snapshot, unit_of(part), names, where):
                rows = pa.Table.from_batches([batch])
                values = to_spark(rows.drop_columns([ROW_KIND.name]), arrow).add_column(0, ROW_KIND, rows.column(0))
                ids = pa.repeat(pa.scalar(snapshot.id, pa.int64()), len(batch))
                yield values.add_column(0, SNAPSHOT_ID, ids)

    return read_in_tasks(spark, payloads, work, schema, sizes)


def _to_bytes(part: UnitPartition) -> bytes:
    return json.dumps([part.snapshot, part.unit.decode(), part.kind]).encode()


def _from_bytes(payload: bytes) -> UnitPartition:
    snapshot, unit, kind = json.loads(payload)
    return UnitPartition(snapshot, unit.encode(), kind)
