"""Arguments: checks of the session and of the table that the functions of this package take."""

from __future__ import annotations

from paimon_core.errors import InvalidRequest, shown
from paimon_core.table.view import TableView


def check_session(spark: object) -> None:
    """Raise InvalidRequest unless ``spark`` is a session of Spark, also one of Spark Connect."""
    if not hasattr(spark, "createDataFrame"):
        raise InvalidRequest(f"the argument spark is a SparkSession, not {shown(spark, 60)}", name="spark")


def check_table(table: object, kind: type = TableView) -> None:
    """Raise InvalidRequest unless ``table`` is an open table of this ``kind``; a name is no open table."""
    if not isinstance(table, kind):
        raise InvalidRequest(
            f"the argument table is an open table, such as catalog.table('db.t'), not {shown(table, 60)}", name="table"
        )


def check_session_and_table(spark: object, table: object, kind: type = TableView) -> None:
    """Raise InvalidRequest unless both arguments are what the functions of this package take."""
    check_session(spark)
    check_table(table, kind)
