"""Inserts: runs INSERT INTO and INSERT OVERWRITE with ``write_spark``.

Values are assigned by the rules of ``assignment``. A number that does not fit its column raises SchemaMismatch.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Predicate
from paimon_core.schema import DataField
from paimon_core.spark.columns import quoted
from paimon_core.spark.sql.assignment import Matching, assigned, assignment_problem, wanted_type
from paimon_core.spark.sql.grammar.cursor import fail
from paimon_core.spark.sql.grammar.statements import Insert, Spec
from paimon_core.spark.sql.names import Names, column_of
from paimon_core.spark.sql.partitions import partition_predicate, typed_value
from paimon_core.spark.sql.queries import frame
from paimon_core.spark.sql.writing import errors_of_writes
from paimon_core.spark.types import spark_schema
from paimon_core.spark.writes.writer import write_spark
from paimon_core.table.table import Table


def insert(spark: SparkSession, names: Names, statement: Insert) -> Snapshot | None:
    """Run the statement in one commit; return its snapshot, or None when there was nothing to write.

    The query reads one snapshot of each table, including the table that the statement writes to. As with
    ``write_spark``, INSERT INTO keeps the rows that concurrent commits add, and INSERT OVERWRITE replaces all rows that
    the table (or the partitions) has at the time of the commit.
    """
    text, name = statement.query.text, statement.table
    table = names.table(name, text)
    static = {column_of(table.schema, c, text, name.start, table.name): v for c, v in statement.partition.items()}
    for column in (*static, *(column_of(table.schema, c, text, name.start, table.name) for c in statement.dynamic)):
        if column not in table.schema.partition_keys:
            fail(text, name.start, f"column {column!r} of table {table.name} is not a partition column")
    where = partition_predicate(table, static)
    rows = frame(spark, names, statement.query)
    targets = _targets(statement, table, rows, static)
    columns = [_assigned(rows, at, field, spark, statement) for at, field in targets]
    for column, value in static.items():
        given = None if typed_value(table, column, value) is None else value
        columns.append(_constant(table.schema.by_name[column], given).alias(column))
    table, overwrite = _overwrite(spark, statement, table, where)
    written = rows.toDF(*map(str, range(len(rows.columns)))).select(*columns)
    with errors_of_writes(table, text, name.start):
        return write_spark(written, table, overwrite=overwrite)


def _constant(field: DataField, value: object) -> Column:
    kind = spark_schema([field])[0].dataType
    return F.lit(None if value is None else str(value).lower() if isinstance(value, bool) else str(value)).cast(kind)


def _targets(statement: Insert, table: Table, rows: DataFrame, static: Spec) -> list[tuple[int, DataField]]:
    """Return the position in the query, and the column of the table, of each value."""
    text, name, fields = statement.query.text, statement.table, table.schema.by_name
    if statement.by_name:
        found = [fields[column_of(table.schema, c, text, statement.query.start, table.name)] for c in rows.columns]
    elif statement.columns is not None:
        found = [fields[column_of(table.schema, c, text, name.end, table.name)] for c in statement.columns]
    else:
        found = [field for field in table.schema.fields if field.name not in static]
    if len(found) != len(rows.columns):
        wanted = ", ".join(field.name for field in found)
        fail(
            text,
            statement.query.start,
            f"the query has {len(rows.columns)} columns, and {len(found)} are needed for table {table.name}: {wanted}",
        )
    seen: set[str] = set()
    for field in found:
        if field.name in static or field.name in seen:
            fail(text, statement.query.start, f"column {field.name!r} of table {table.name} gets two values")
        seen.add(field.name)
    return list(enumerate(found))


def _assigned(rows: DataFrame, at: int, field: DataField, spark: SparkSession, statement: Insert) -> Column:
    """Return the column of the query as a value of the table's column; raises SqlError if it cannot be assigned."""
    matching: Matching = "name" if statement.by_name else "position" if statement.columns is None else "either"
    given = rows.schema[at].dataType
    problem = assignment_problem(spark, given, field, matching=matching)
    if problem:
        start = statement.query.start
        fail(statement.query.text, start, f"column {at + 1} of the query ({rows.columns[at]}) {problem}")
    return assigned(F.col(quoted(str(at))), given, wanted_type(field), matching).alias(field.name)


def _overwrite(
    spark: SparkSession, statement: Insert, table: Table, where: Predicate | None
) -> tuple[Table, str | Predicate | None]:
    """Return the table and the argument ``overwrite`` of ``write_spark``.

    As in Spark, ``spark.sql.sources.partitionOverwriteMode`` is the mode. The mode static replaces all partitions that
    PARTITION (...) selects, or the whole table without PARTITION. The mode dynamic replaces the partitions for which
    the query has rows, unless PARTITION gives a value for each partition column.
    """
    if not statement.overwrite:
        return table, None
    mode = str(spark.conf.get("spark.sql.sources.partitionOverwriteMode")).upper()
    is_dynamic = mode == "DYNAMIC" and len(statement.partition) < len(table.schema.partition_keys)
    if where is not None and not is_dynamic:
        return table, where
    return table.with_options({"dynamic-partition-overwrite": is_dynamic}), "dynamic"
