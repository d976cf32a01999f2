"""Write: sends all rows of a bucket to one task. The tasks write files, and the driver commits their messages.

A retried or speculative task writes files with new names, and only the messages that Spark returns are committed, so
each row is committed exactly once. A task that fails deletes its own files; the files of tasks that finished before
stay as orphans.

For a table with a postpone bucket or with cross-partition upsert, the tasks write the rows to staged files first. Then
the rows are written to their buckets: by tasks, with the numbers of buckets that the driver chose, or by one task that
looks up the keys (``placement``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from paimon_core.alter.merge_schema import MergeSchema
from paimon_core.arrow import gather
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Predicate
from paimon_core.spark.columns import column, quoted
from paimon_core.spark.compactor import maintenance_work
from paimon_core.spark.reference import TableReference
from paimon_core.spark.task_errors import lost_tasks
from paimon_core.spark.tasks import collect_tasks, map_batches
from paimon_core.spark.types import spark_schema
from paimon_core.spark.writes.batch_settings import large_batches
from paimon_core.spark.writes.bucket_expression import bucket_expression
from paimon_core.spark.writes.distribution import route_count, spread_rows
from paimon_core.spark.writes.key_assignment import KeyAssignment, assign_keys
from paimon_core.spark.writes.merged_schema import merged_for
from paimon_core.spark.writes.placement import place
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table
from paimon_core.write.bucketing import assign_buckets, assigned_buckets, key_hashes, valid_keys
from paimon_core.write.default_values import conform_with_defaults
from paimon_core.write.staging import Staged, StagingWriter, is_staged
from paimon_core.write.table_writer import TableWriter

_ROUTE = "__paimon_route"
_BUCKET = "__paimon_bucket"


def write_spark(
    df: DataFrame,
    table: Table,
    *,
    kinds: str | None = None,
    order_by: Sequence[str] = (),
    overwrite: str | Predicate | None = None,
    user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    tasks: int | None = None,
    merge_schema: MergeSchema = None,
) -> Snapshot | None:
    """Write the rows of ``df`` to ``table`` in one commit; return None when there was nothing to commit.

    ``kinds`` names the column of row kinds "+I", "-U", "+U", "-D". The rows of a DataFrame have no order. When the
    order of rows with the same key matters, give ``order_by`` columns (columns that are not in the table are not
    written) or set option sequence.field. ``overwrite`` is "dynamic" (replace the partitions in the data), a predicate
    on partition columns (replace these partitions), or None to replace no partition. With ``user`` and ``identifier`` a
    repeated call commits exactly once. Unless the table is write-only, Spark tasks then compact the written buckets,
    and the driver expires snapshots. An error of these steps is only logged, because the rows are committed.

    ``merge_schema``: see ``Table.write``. The driver alters the table before the tasks start, and the table stays
    altered when the write fails. Raises SchemaMismatch for columns that do not fit, CommitConflict for a conflict with
    another commit, and StorageError when a task was lost in all of its attempts.
    """
    spec = overwritten(table, overwrite)
    request = CommitRequest.of(table.context, user, identifier, properties)
    if (committed := request.committed_snapshot()) is not None:
        return table.settle(committed)
    table = merged_for(table, df.schema, merge_schema, {*order_by, *((kinds,) if kinds else ())})
    request = replace(request, context=table.context)
    with lost_tasks(table.name):
        messages = write_messages(
            df, table, kinds=kinds, order_by=order_by, overwrites=overwrite is not None, tasks=tasks
        )
    return table.complete(request, messages, spec, work=maintenance_work(df.sparkSession))


def overwritten(table: Table, overwrite: str | Predicate | None) -> Overwrite | None:
    """Return the partitions that the argument ``overwrite`` replaces; raises InvalidRequest for a wrong argument."""
    if overwrite is None:
        return None
    if overwrite == "dynamic":
        return table.overwrite_spec()
    if isinstance(overwrite, Predicate):
        return table.overwrite_spec(overwrite)
    raise InvalidRequest(f'overwrite must be "dynamic" or a predicate on partition columns, not {overwrite!r:.60}')


def write_messages(
    df: DataFrame,
    table: Table,
    *,
    kinds: str | None = None,
    order_by: Sequence[str] = (),
    overwrites: bool = False,
    tasks: int | None = None,
) -> list[CommitMessage]:
    """Write files for the rows of ``df`` in Spark tasks; return the messages, whose commit makes the rows visible."""
    _check_columns(df, table, kinds, order_by)
    df = _with_route(df, table.context)
    if table.context.is_postponed or table.context.is_cross_partition:
        return _stage_tasks(df, table, kinds, order_by, overwrites, tasks)
    if not table.context.has_dynamic_buckets:
        return _write_tasks(df, table, kinds, order_by, overwrites, tasks, None)
    cached = not df.is_cached
    df = df.persist() if cached else df
    try:
        keys = assign_keys(df, table, overwrites=overwrites)
        try:
            return [*_write_tasks(df, table, kinds, order_by, overwrites, tasks, keys), *keys.messages]
        except BaseException:
            keys.discard(table.context)
            raise
    finally:
        if cached:
            df.unpersist()


def _write_tasks(
    df: DataFrame,
    table: Table,
    kinds: str | None,
    order_by: Sequence[str],
    overwrites: bool,
    tasks: int | None,
    keys: KeyAssignment | None,
) -> list[CommitMessage]:
    """Write the rows in tasks and return their messages; ``keys``: the buckets of all keys, for dynamic buckets."""
    rows, dropped = routed_rows(df, table, kinds=kinds, order_by=order_by, tasks=tasks, keys=keys)
    reference = TableReference.of(table.context)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = reference.open()
        assigner = None if keys is None else keys.assigner(context)
        with TableWriter(context, ignore_existing=overwrites, assigner=assigner) as writer:
            for rows in gather(batches):
                writer.write(rows.drop_columns(dropped), kinds)
            found = [m.to_bytes() for m in writer.flush()]
        yield pa.record_batch([pa.array(found, pa.binary())], names=["message"])

    with large_batches(df, rows):
        found = map_batches(rows, work, "message binary").collect()
    return [CommitMessage.from_bytes(bytes(row["message"])) for row in found]


def _stage_tasks(
    df: DataFrame, table: Table, kinds: str | None, order_by: Sequence[str], overwrites: bool, tasks: int | None
) -> list[CommitMessage]:
    """Stage the rows in tasks, with all rows of a key in one task, and write the staged rows to buckets in tasks.

    Return the messages to commit.
    """
    rows, dropped = routed_rows(df, table, kinds=kinds, order_by=order_by, tasks=tasks)
    reference = TableReference.of(table.context)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with StagingWriter(reference.open()) as writer:
            for rows in gather(batches):
                writer.write(rows.drop_columns(dropped), kinds)
            staged = writer.finish().to_bytes()
        yield pa.record_batch([pa.array([staged], pa.binary())], names=["staged"])

    with large_batches(df, rows):
        found = map_batches(rows, work, "staged binary").collect()
    staged = [Staged.from_bytes(bytes(row["staged"])) for row in found]
    return place(table.context, staged, partial(collect_tasks, df.sparkSession), overwrites=overwrites)


def routed_rows(
    df: DataFrame,
    table: Table,
    *,
    kinds: str | None = None,
    order_by: Sequence[str] = (),
    tasks: int | None = None,
    keys: KeyAssignment | None = None,
) -> tuple[DataFrame, list[str]]:
    """Return ``df`` repartitioned so that each bucket is in one task, and the columns that must not be written.

    The rows of a task are sorted by ``order_by``. ``keys``: the buckets of all keys, for a table with dynamic buckets.
    For dynamic buckets without ``keys``, and for a postpone bucket, all rows of a key are in one task. A row with a
    null in the key may be in any task. Raises the errors of ``write_messages`` for columns that do not fit.
    """
    _check_columns(df, table, kinds, order_by)
    df = _with_route(df, table.context)
    dropped = [c for c in order_by if c not in table.schema.by_name and c != kinds]
    if table.context.has_buckets or is_staged(table.context):
        rows = _routed(df, table, tasks or route_count(df, table.context), keys)
        dropped += [_ROUTE] if _ROUTE in rows.columns else []
    else:
        rows = spread_rows(df, table.context, tasks)
    if order_by:
        rows = rows.sortWithinPartitions(*map(quoted, order_by))
    return rows, dropped


def _with_route(df: DataFrame, context: TableContext) -> DataFrame:
    """Return ``df`` with a column of nulls for each partition column, bucket key and primary key that ``df`` lacks."""
    schema = context.schema
    needed = {*schema.partition_keys, *context.bucket_keys, *schema.primary_keys}
    missing = [f for f in spark_schema(schema.fields) if f.name in needed and f.name not in df.columns]
    return df.withColumns({f.name: F.lit(None).cast(f.dataType) for f in missing}) if missing else df


def _check_columns(df: DataFrame, table: Table, kinds: str | None, order_by: Sequence[str]) -> None:
    """Check the columns before a Spark job starts; raises InvalidRequest or SchemaMismatch, which names the column."""
    field = table.options["rowkind.field"]
    if kinds and field is not None:
        raise InvalidRequest(f"table {table.name} reads row kinds from its column {field!r}: do not pass kinds")
    extra = {*order_by, *((kinds,) if kinds else ())}
    for name in extra:
        if name not in df.columns:
            raise SchemaMismatch(
                f"no column {name!r} in the data; its columns are {', '.join(df.columns)}", column=name
            )
    for name in df.columns:
        if name not in table.schema.by_name and name not in extra:
            known = ", ".join(table.schema.names)
            raise SchemaMismatch(f"table {table.name} has no column {name!r}; its columns are {known}", column=name)
    for field in table.schema.fields:
        if field.name not in df.columns and not field.type.nullable and field.default is None:
            raise SchemaMismatch(f"column {field.name!r} is NOT NULL and missing in the data", column=field.name)


def _routed(df: DataFrame, table: Table, tasks: int, keys: KeyAssignment | None) -> DataFrame:
    """Repartition the rows so that each (partition, bucket) is in one task."""
    context = table.context
    fields, buckets = context.schema.select(context.bucket_keys), context.options["bucket"]
    partition = [*map(column, context.schema.partition_keys)]
    spread = F.hash(*partition) if partition else F.lit(0)
    if keys is not None:
        return _routed_by_index(df, table, spread, tasks, keys)
    if is_staged(context):
        fields, buckets, spread = context.schema.select(context.schema.trimmed_primary_keys), tasks, F.lit(0)
    is_default = context.options["bucket-function.type"] == "default"
    expression = bucket_expression(fields, buckets) if is_default else None
    if expression is not None:
        route = F.coalesce(F.pmod(spread + F.expr(expression), F.lit(tasks)).cast("int"), F.lit(0))
        return df.repartitionById(tasks, route)  # the shuffle computes it: no column more to send to Python
    return _routed_by_arrow(df, table, spread, tasks, [field.name for field in fields])


def _routed_by_arrow(df: DataFrame, table: Table, spread: object, tasks: int, keys: list[str]) -> DataFrame:
    """Repartition as ``_routed`` does, without a SQL expression: Python computes the bucket on Arrow batches.

    ``keys``: the columns whose hash selects the bucket; for staged rows, the hash selects the task.
    """
    reference = TableReference.of(table.context)

    def bucket(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = reference.open()
        fields = context.schema.select(keys)
        for batch in batches:
            valid = np.ones(len(batch), bool)
            for field in fields:
                if not field.type.nullable and field.default is None:
                    valid &= np.asarray(batch[field.name].is_valid().to_numpy(zero_copy_only=False))
            buckets = np.zeros(len(batch), np.int32)  # the writer refuses all other rows
            key_rows = conform_with_defaults(batch.select(keys).filter(pa.array(valid)), fields)
            if is_staged(context):
                buckets[valid] = key_hashes(key_rows, context)
            else:
                buckets[valid] = assign_buckets(key_rows, context)
            yield batch.append_column(_BUCKET, pa.array(buckets))

    schema = StructType([*df.schema.fields, StructField(_BUCKET, IntegerType())])
    routed = map_batches(df, bucket, schema)
    route = F.pmod(spread + F.col(_BUCKET), F.lit(tasks)).cast("int")
    return routed.withColumn(_ROUTE, route).drop(_BUCKET).repartitionById(tasks, _ROUTE)


def _routed_by_index(df: DataFrame, table: Table, spread: object, tasks: int, keys: KeyAssignment) -> DataFrame:
    """Repartition as ``_routed`` does, for buckets assigned to keys: Python looks up the bucket of each key."""
    reference = TableReference.of(table.context)

    def bucket(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = reference.open()
        assigner = keys.assigner(context)
        for batch in batches:
            rows, valid = valid_keys(batch, context)
            buckets = np.zeros(len(batch), np.int32)  # the writer refuses all other rows
            buckets[valid] = assigned_buckets(rows, context, assigner)
            yield batch.append_column(_BUCKET, pa.array(buckets))

    schema = StructType([*df.schema.fields, StructField(_BUCKET, IntegerType())])
    routed = map_batches(df, bucket, schema)
    route = F.pmod(spread + F.col(_BUCKET), F.lit(tasks)).cast("int")
    return routed.withColumn(_ROUTE, route).drop(_BUCKET).repartitionById(tasks, _ROUTE)
