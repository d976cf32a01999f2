"""Arguments: checks of the session, the table and the DataFrame that the functions of this package take."""

from __future__ import annotations

from collections import Counter

from pyspark.sql import DataFrame

from paimon_core.errors import InvalidRequest, SchemaMismatch, shown
from paimon_core.table.view import TableView


def check_session(spark: object) -> None:
    """Raise InvalidRequest unless ``spark`` is a session of Spark, also one of Spark Connect."""
    if not hasattr(spark, "createDataFrame"):
        raise InvalidRequest(f"the argument spark is a SparkSession, not {shown(spark, 60)}", name="spark")


def check_table(table: object, kind: type = TableView) -> None:
    """Raise InvalidRequest unless ``table`` is an open table of this ``kind``; a name is no open table."""
    if isinstance(table, TableView) and not isinstance(table, kind):
        raise InvalidRequest(f"{table!r} is read-only: pass catalog.table({table.name!r})", name="table")
    if not isinstance(table, kind):
        raise InvalidRequest(
            f"the argument table is an open table, such as catalog.table('db.t'), not {shown(table, 60)}", name="table"
        )


def check_session_and_table(spark: object, table: object, kind: type = TableView) -> None:
    """Raise InvalidRequest unless both arguments are what the functions of this package take."""
    check_session(spark)
    check_table(table, kind)


def check_frame(df: object, function: str) -> None:
    """Raise InvalidRequest unless ``df`` is a DataFrame of Spark that is no stream.

    Raises SchemaMismatch if two of its columns share a name. ``function``: the name of the function in the error.
    """
    if not isinstance(df, DataFrame):
        raise InvalidRequest(f"{function} takes a DataFrame of Spark, not {shown(df, 60)}", name="df")
    if df.isStreaming:
        raise InvalidRequest(f"{function} takes no streaming DataFrame: use write_stream_spark", name="df")
    for name, count in Counter(df.columns).items():
        if count > 1:
            raise SchemaMismatch(f"the DataFrame has {count} columns with the name {name!r}", column=name)
