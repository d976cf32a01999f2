"""Views: the temporary views that SQL of a lake creates.

A view is a query. A statement of the lake that names it reads the newest snapshots of the tables, as the tables
themselves. In the session there is a temporary view of the same name for ``spark.sql`` and for DataFrames, which reads
the snapshots of its creation until ``SparkLake.refresh``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from paimon_core.errors import PaimonError
from paimon_core.spark.columns import quoted
from paimon_core.spark.sql.grammar.cursor import fail
from paimon_core.spark.sql.grammar.statements import CreateView, DropView, TableName
from paimon_core.spark.sql.names import Names, View, similar
from paimon_core.spark.sql.queries import is_current, is_view, view_rows
from paimon_core.spark.sql.results import rows


def create_view(spark: SparkSession, names: Names, statement: CreateView, text: str) -> str:
    """Create a temporary view and return a text that describes it.

    Raises SqlError when there is a temporary view of the name and the statement does not replace it, when the view
    would read itself, and for a wrong query.
    """
    name, key = statement.name, statement.name.casefold()
    exists = is_view(spark, TableName((name,), statement.at, statement.at))
    if exists and not statement.replace:
        fail(text, statement.at, f"there is a temporary view {name} already: use CREATE OR REPLACE TEMPORARY VIEW")
    view = View(name, statement.query, statement.columns, names.database)
    with names.within(view, recursive=not exists) as referred:
        found = view_rows(spark, names, view)
    _register(spark, names, replace(view, referred=frozenset(referred)), found)
    names.views.pop(key, None)
    return f"created temporary view {name}"


def _register(spark: SparkSession, names: Names, view: View, found: DataFrame) -> None:
    found.createOrReplaceTempView(quoted(view.name))
    registered = spark.table(quoted(view.name)).semanticHash()
    names.definitions[view.name.casefold()] = replace(view, registered=registered)


def refresh_views(spark: SparkSession, names: Names) -> list[str]:
    """Create the temporary views of the session again at the newest snapshots; return their names."""
    for key, view in list(names.definitions.items()):
        if not is_view(spark, TableName((view.name,), 0, 0)) or not is_current(spark, view):
            del names.definitions[key]
    for view in list(names.definitions.values()):
        try:
            with names.within(view):
                found = view_rows(spark, names, view)
        except PaimonError as error:
            raise type(error)(f"view {view.name}: {error.message}", **error.facts) from None
        _register(spark, names, view, found)
    return [view.name for view in names.definitions.values()]


def drop_view(spark: SparkSession, names: Names, statement: DropView, text: str) -> str:
    """Drop a temporary view of the session; raises SqlError if there is none and the statement has no IF EXISTS."""
    name = statement.name
    if is_view(spark, name):
        spark.catalog.dropTempView(name.parts[0])
        names.definitions.pop(name.parts[0].casefold(), None)
        names.views.pop(name.parts[0].casefold(), None)
        return f"dropped temporary view {name}"
    if names.exists(name, text):
        fail(text, name.start, f"{name} is a table: use DROP TABLE")
    if statement.if_exists:
        return f"temporary view {name} does not exist"
    return fail(
        text, name.start, f"there is no temporary view {name}{similar(str(name), temporary_views(spark), 'views')}"
    )


def temporary_views(spark: SparkSession) -> list[str]:
    """Return the names of the temporary views of the session."""
    return [row["viewName"] for row in spark.sql("SHOW VIEWS").collect() if row["isTemporary"]]


def described(spark: SparkSession, name: TableName) -> DataFrame:
    """Return the columns of a temporary view, with Spark's names of types."""
    fields = spark.table(quoted(name.parts[0])).schema.fields
    found = [(f.name, f.dataType.simpleString(), _comment(f.metadata)) for f in fields]
    return rows(spark, "col_name STRING, data_type STRING, comment STRING", found)


def _comment(metadata: Mapping[str, object] | None) -> str | None:
    found = (metadata or {}).get("comment")
    return None if found is None else str(found)
