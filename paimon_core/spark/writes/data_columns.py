"""Data columns: checks the columns of a DataFrame on the driver, before the tasks of a write start."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from paimon_core.errors import SchemaMismatch
from paimon_core.schema import TableSchema
from paimon_core.write.default_values import conform_with_defaults


def check_columns(table: TableSchema, data: StructType, skipped: Collection[str] = ()) -> None:
    """Raise SchemaMismatch when no row with the columns ``data`` can be stored; tasks check the values.

    ``skipped``: columns of the data that are no columns of the table, such as the row kind. As by
    ``paimon_core.arrow.conform``, an unknown column, a missing NOT NULL column and a type that does not fit are
    refused, and so is a column of ``skipped`` that the data do not have.
    """
    for name in skipped:
        if name not in data.names:
            raise SchemaMismatch(
                f"no column {name!r} in the data; its columns are {', '.join(data.names)}", column=name
            )
    columns = StructType([f for f in data.fields if f.name in table.by_name or f.name not in skipped])
    try:
        empty = to_arrow_schema(columns, timezone="UTC").empty_table()
    except PySparkException:
        return  # a type that Spark cannot send to a task: Spark reports it
    conform_with_defaults(empty, table.fields)
