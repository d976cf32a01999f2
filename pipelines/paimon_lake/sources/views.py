"""Views: run a query of Spark SQL in which tables of the lake are named ``database.table``.

The names are replaced by temporary views with unique names, which are dropped as soon as Spark has analysed the query.
"""

from __future__ import annotations

import bisect
import re
import sys
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from paimon_core.spark import read_spark
from paimon_core.table.view import TableView
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.table_names import NamedTable, is_query, named_tables

_LINE_AND_COLUMN = re.compile(r"line (\d+),? pos (\d+)")


@dataclass(frozen=True)
class QueryResult:
    """The result of a query, and the views in its plan that stand for tables."""

    frame: DataFrame
    views: Mapping[str, str]
    """Maps the name of a view to the name of its table."""


def with_views(spark: SparkSession, query: str, tables: Mapping[str, TableView | DataFrame]) -> DataFrame:
    """Return the result of the query over these tables as a DataFrame, see ``query_result``."""
    return query_result(spark, query, tables).frame


def query_result(spark: SparkSession, query: str, tables: Mapping[str, TableView | DataFrame]) -> QueryResult:
    """Return the result of the query over the tables; only tables that the query names are read.

    A table without an alias can be used by its last part, as in ``orders.amount`` for ``ods.orders``. Names are
    compared without case, as Spark does, unless two tables differ only by case. Raises PipelineError for a table that
    is not given, for a statement that is not a query, and for a query that Spark refuses.
    """
    if not is_query(query):
        shown = " ".join(query.split())
        raise PipelineError(f"the SQL must be a query, with SELECT, WITH, FROM, VALUES or TABLE first: {shown!r:.80}")
    named = [(one, _given(one, tables)) for one in named_tables(query)]
    used = list(dict.fromkeys(name for one, name in named if name is not None and one.is_table))
    views = {name: f"paimon_{uuid.uuid4().hex}" for name in used}
    created = []
    replaced = _replaced(query, named, views)
    try:
        for name, view in views.items():
            _frame(spark, tables[name]).createTempView(view)
            created.append(view)
        frame = spark.sql(replaced.text)
        return QueryResult(frame, {view: name for name, view in views.items()})
    except PySparkException as error:
        raise _refused(error, query, replaced, views, tables) from None
    finally:
        for view in created:
            spark.catalog.dropTempView(view)


def collected(frame: DataFrame, *, limit: int) -> list[str]:
    """Return the first ``limit`` rows as texts ``{column: value}``.

    Raises PipelineError when Spark cannot compute the rows.
    """
    names = [f"c{n}" for n in range(len(frame.columns))]
    rows = frame.toDF(*names).limit(limit)  # columns of a query may have equal names
    fields = [f.to_json(f.struct(f.col(name)), {"ignoreNullFields": "false"}).alias(name) for name in names]
    try:
        found = rows.select(*fields).collect()
    except (PySparkException, Py4JError) as error:
        raise PipelineError(f"the query failed: {_first_line(error)}") from None
    return ["{" + ", ".join(map(_member, frame.columns, names, row)) + "}" for row in found]


def _member(column: str, name: str, text: str) -> str:
    """Return ``column: value`` from the JSON object of one column."""
    return f"{column}: {text[len(name) + 4 : -1]}"


def _frame(spark: SparkSession, table: TableView | DataFrame) -> DataFrame:
    if isinstance(table, TableView):
        return read_spark(spark, table)
    return table


def _given(named: NamedTable, tables: Mapping[str, TableView | DataFrame]) -> str | None:
    """Return the key of the named table in ``tables``; None for a column name that only looks like a table."""
    if named.name in tables:
        return named.name
    alike = [name for name in tables if name.lower() == named.name.lower()]
    if len(alike) == 1:
        return alike[0]
    if named.is_table:
        raise _undeclared(named.name, tables)
    return None


@dataclass(frozen=True)
class _Replaced:
    """A query with names of views; ``pieces``: the start of each piece in this text and in the original query."""

    text: str
    pieces: tuple[tuple[int, int], ...]

    def original(self, position: int) -> int:
        """Return the position in the original query of a position in ``text``.

        For a position inside of a view's name, return the position of the table's name.
        """
        at = bisect.bisect_right(self.pieces, (position, sys.maxsize)) - 1
        begin, given = self.pieces[max(at, 0)]
        end = self.pieces[at + 1][1] if at + 1 < len(self.pieces) else sys.maxsize
        return min(given + position - begin, end)


def _replaced(query: str, named: list[tuple[NamedTable, str | None]], views: Mapping[str, str]) -> _Replaced:
    """Return the query with names of tables replaced by views, and with an alias for each table that had none."""
    last = Counter(name.split(".")[-1].lower() for name in views)
    text, position, pieces = "", 0, [(0, 0)]
    for one, name in named:
        if name is None or name not in views:
            continue
        short = name.split(".")[-1]
        alias = f"`{short if last[short.lower()] == 1 else name}`"
        view = f"`{views[name]}`" + (f" AS {alias}" if one.takes_alias else "") if one.is_table else alias
        text += query[position : one.start]
        pieces.append((len(text), one.start))
        text, position = text + view, one.end
        pieces.append((len(text), position))
    return _Replaced(text + query[position:], tuple(pieces))


def _refused(
    error: PySparkException,
    query: str,
    replaced: _Replaced,
    views: Mapping[str, str],
    tables: Mapping[str, object],
) -> PipelineError:
    place = _place(error, query, replaced)
    if error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
        relation = str((error.getMessageParameters() or {}).get("relationName", ""))
        return _undeclared(relation.replace("`", ""), tables, place)
    text = re.sub(r";? ?\(?line \d+,? pos \d+\)?;?$", "", _first_line(error))
    for name, view in views.items():
        text = text.replace(view, name)
    return PipelineError(f"the query cannot be run{place}: {text}")


def _place(error: PySparkException, query: str, replaced: _Replaced) -> str:
    """Return a text such as ``, at line 2, column 5``, for the original query; "" when Spark states no place."""
    found = _LINE_AND_COLUMN.search(str(error))
    if found is None:
        return ""
    lines = replaced.text.splitlines(keepends=True)
    position = sum(map(len, lines[: int(found[1]) - 1])) + int(found[2])
    before = query[: replaced.original(position)]
    return f", at line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}"


def _undeclared(name: str, tables: Mapping[str, object], place: str = "") -> PipelineError:
    return PipelineError(
        f"the query names {name}{place}, which is not one of its tables: {', '.join(sorted(tables)) or 'it has none'}"
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
