"""Routing: sends the rows of a write to tasks, so that all rows of a bucket are in one task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.metadata.context import TableContext
from paimon_core.schema import DataField
from paimon_core.spark.columns import column, quoted
from paimon_core.spark.reference import TableReference
from paimon_core.spark.tasks import map_batches
from paimon_core.spark.types import spark_schema
from paimon_core.spark.writes.bucket_expression import bucket_expression
from paimon_core.spark.writes.distribution import route_count, spread_rows
from paimon_core.spark.writes.key_assignment import KeyAssignment
from paimon_core.spark.writes.text_padding import has_texts, padded
from paimon_core.table.table import Table
from paimon_core.write.bucketing import assign_buckets, assigned_buckets, key_hashes, valid_keys
from paimon_core.write.default_values import conform_with_defaults
from paimon_core.write.staging import is_staged

_ROUTE = "__paimon_route"
_BUCKET = "__paimon_bucket"
FIRST, LAST = "first", "last"
"""Where texts are padded: before the rows are shuffled and sorted, or after that."""


def place_of_padding(
    df: DataFrame, context: TableContext, order_by: Sequence[str], keys: KeyAssignment | None
) -> str | None:
    """Return whether texts are padded FIRST, before the shuffle, or LAST; None: they cannot be padded.

    Padding must get to the task of its row, right behind it. A shuffle keeps the order of the rows of each of its
    inputs, so padding before it costs less; but padding has no texts by which a row could be routed or sorted.
    """
    schema = context.schema
    if not (context.has_buckets or is_staged(context)):
        return LAST
    routes = {*schema.partition_keys, *context.bucket_keys, *schema.primary_keys}
    if has_texts(df.schema, routes) or order_by:
        in_sql = keys is None and _bucket_sql(context, 1) is not None
        return LAST if in_sql else None  # Python tasks before the shuffle would get the rows without padding
    return FIRST


def routed_rows(
    df: DataFrame,
    table: Table,
    *,
    kinds: str | None = None,
    order_by: Sequence[str] = (),
    tasks: int | None = None,
    keys: KeyAssignment | None = None,
    padding: str | None = None,
) -> tuple[DataFrame, list[str]]:
    """Return ``df`` repartitioned so that each bucket is in one task, and the columns that must not be written.

    ``df`` must have passed ``check_columns_of``, and then ``with_routing_columns``. The rows of a task are sorted by
    ``order_by``. ``keys``: the buckets of all keys, for a table with dynamic buckets. For dynamic buckets without
    ``keys``, and for a postpone bucket, all rows of a key are in one task. A row with a null in the key may be in any
    task. ``padding``: pad texts FIRST or LAST.
    """
    count = partial(route_count, df, table.context)
    df = padded(df) if padding == FIRST else df
    dropped = [c for c in order_by if c not in table.schema.by_name and c != kinds]
    if table.context.has_buckets or is_staged(table.context):
        rows = _routed(df, table, tasks or count(), keys)
        dropped += [_ROUTE] if _ROUTE in rows.columns else []
    else:
        rows = spread_rows(df, table.context, tasks)
    if order_by:
        rows = rows.sortWithinPartitions(*map(quoted, order_by))
    return (padded(rows) if padding == LAST else rows), dropped


def with_routing_columns(df: DataFrame, context: TableContext) -> DataFrame:
    """Return ``df`` with a column of nulls for each partition column, bucket key and primary key that ``df`` lacks."""
    schema = context.schema
    needed = {*schema.partition_keys, *context.bucket_keys, *schema.primary_keys}
    missing = [f for f in spark_schema(schema.fields) if f.name in needed and f.name not in df.columns]
    return df.withColumns({f.name: F.lit(None).cast(f.dataType) for f in missing}) if missing else df


def check_columns_of(df: DataFrame, table: Table, kinds: str | None, order_by: Sequence[str]) -> None:
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
    partition = [*map(column, context.schema.partition_keys)]
    spread = F.hash(*partition) if partition else F.lit(0)
    if keys is not None:
        return _routed_by_index(df, table, spread, tasks, keys)
    spread = F.lit(0) if is_staged(context) else spread
    expression = _bucket_sql(context, tasks)
    if expression is not None:
        route = F.coalesce(F.pmod(spread + F.expr(expression), F.lit(tasks)).cast("int"), F.lit(0))
        return df.repartitionById(tasks, route)  # the shuffle computes it: no column more to send to Python
    return _routed_by_arrow(df, table, spread, tasks, [field.name for field in _bucket_fields(context)])


def _bucket_fields(context: TableContext) -> Sequence[DataField]:
    """Return the columns whose hash selects the bucket; for staged rows, the hash selects the task."""
    return context.schema.select(context.schema.trimmed_primary_keys if is_staged(context) else context.bucket_keys)


def _bucket_sql(context: TableContext, tasks: int) -> str | None:
    """Return SQL text for the bucket of a row, or for the task of a staged row; None if Python must compute it."""
    if context.options["bucket-function.type"] != "default":
        return None
    return bucket_expression(_bucket_fields(context), tasks if is_staged(context) else context.options["bucket"])


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
