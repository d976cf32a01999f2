"""Column lineage of queries, from the plans that Spark makes of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from pyspark.sql import SparkSession

from paimon_lake.sources.column_lineage import InputView, column_lineage, plan_lineage
from paimon_lake.sources.views import query_result

COLUMNS = {"s.o": "id BIGINT, day STRING, amount INT, tags ARRAY<STRING>", "s.c": "id BIGINT, name STRING, amount INT"}


@cache
def empty(spark: SparkSession) -> dict[str, Any]:
    return {name: spark.createDataFrame([], schema) for name, schema in COLUMNS.items()}


def lineage(spark: SparkSession, query: str) -> dict[str, str]:
    """Return the lineage of a query, such as ``{"a": "s.o.id s.c.name"}``."""
    tables = empty(spark)
    result = query_result(spark, query, tables)
    views = {view: InputView(name, frozenset(tables[name].columns)) for view, name in result.views.items()}
    found = column_lineage(result.frame, views)
    return {name: " ".join(f"{table}.{column}" for table, column in columns) for name, columns in found.items()}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id AS a, day FROM s.o", {"a": "s.o.id", "day": "s.o.day"}),
        ("SELECT * FROM s.c", {"id": "s.c.id", "name": "s.c.name", "amount": "s.c.amount"}),
        ("SELECT amount * id + 1 AS a, 7 AS b, now() AS c FROM s.o", {"a": "s.o.amount s.o.id"}),
        ("SELECT amount AS a, a + id AS b FROM s.o", {"a": "s.o.amount", "b": "s.o.amount s.o.id"}),
        ("SELECT o.id, c.amount AS a FROM s.o o JOIN s.c c ON o.id = c.id", {"id": "s.o.id", "a": "s.c.amount"}),
        ("SELECT id FROM s.o FULL JOIN s.c USING (id)", {"id": "s.c.id s.o.id"}),
        ("SELECT o.id FROM s.o o LEFT SEMI JOIN s.c c ON o.day = c.name", {"id": "s.o.id"}),
        ("SELECT a.id AS x, b.day AS y FROM s.o a, s.o b", {"x": "s.o.id", "y": "s.o.day"}),
        ("SELECT day, sum(amount) AS a, count(*) AS n FROM s.o GROUP BY day", {"day": "s.o.day", "a": "s.o.amount"}),
        ("SELECT max(id) AS a FROM s.o GROUP BY day HAVING count(*) > 1 ORDER BY a LIMIT 3", {"a": "s.o.id"}),
        ("SELECT day, sum(amount) AS a FROM s.o GROUP BY CUBE (day)", {"day": "s.o.day", "a": "s.o.amount"}),
        ("SELECT id, day AS a FROM s.o UNION SELECT 1, name FROM s.c", {"id": "s.o.id", "a": "s.c.name s.o.day"}),
        ("SELECT id FROM s.o UNION ALL SELECT id FROM s.o", {"id": "s.o.id"}),
        ("SELECT id FROM s.o EXCEPT SELECT id FROM s.c", {"id": "s.o.id"}),
        (
            "WITH t AS (SELECT id AS k, amount FROM s.o), u AS (SELECT k, sum(amount) AS a FROM t GROUP BY k) "
            "SELECT u.k, u.a, t.amount AS b FROM u JOIN t ON u.k = t.k",
            {"k": "s.o.id", "a": "s.o.amount", "b": "s.o.amount"},
        ),
        ("SELECT * FROM (WITH t AS (SELECT id AS k FROM s.o) SELECT k FROM t)", {"k": "s.o.id"}),
        (
            "SELECT id, row_number() OVER (PARTITION BY day ORDER BY amount) AS r FROM s.o",
            {"id": "s.o.id", "r": "s.o.amount s.o.day"},
        ),
        ("SELECT x.k FROM (SELECT id AS k, * FROM s.o) x WHERE k > 0", {"k": "s.o.id"}),
        (
            "SELECT day, (SELECT max(name) FROM s.c WHERE s.c.id = s.o.id) AS n FROM s.o",
            {"day": "s.o.day", "n": "s.c.name"},
        ),
        (
            "WITH t AS (SELECT max(amount) AS m FROM s.c) SELECT amount - (SELECT m FROM t) AS d FROM s.o",
            {"d": "s.c.amount s.o.amount"},
        ),
        ("SELECT id IN (SELECT id FROM s.c) AS a FROM s.o", {"a": "s.c.id s.o.id"}),
        ("SELECT id, t FROM s.o LATERAL VIEW OUTER explode(tags) x AS t", {"id": "s.o.id", "t": "s.o.tags"}),
        ("SELECT transform(tags, t -> t || day) AS a FROM s.o", {"a": "s.o.day s.o.tags"}),
        ("SELECT * FROM s.c UNPIVOT (v FOR n IN (id, amount))", {"name": "s.c.name", "v": "s.c.amount s.c.id"}),
        ("SELECT col1 AS a, id FROM s.o, (VALUES (1, 2))", {"id": "s.o.id"}),
    ],
)
def test_the_columns_from_which_each_column_is_computed(
    spark: SparkSession, query: str, expected: dict[str, str]
) -> None:
    assert lineage(spark, query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "SELECT EXISTS (SELECT 1 FROM s.c WHERE s.c.id = s.o.id) AS b, day AS known FROM s.o",
        "SELECT x.name AS b, day AS known FROM s.o, LATERAL (SELECT name FROM s.c WHERE s.c.id = s.o.id) x",
        "WITH RECURSIVE r(n) AS (SELECT max(id) FROM s.o UNION ALL SELECT n - 1 FROM r WHERE n > 0) SELECT n FROM r",
    ],
)
def test_what_is_not_understood_has_no_lineage(spark: SparkSession, query: str) -> None:
    assert set(lineage(spark, query)) <= {"known"}


def test_a_plan_of_another_form_has_no_lineage() -> None:
    node = {"class": "org.apache.Project", "num-children": 1}
    for plan in ([], [node], [{**node, "num-children": 0}], [{"class": "Project"}], [{**node, "projectList": [[]]}]):
        assert plan_lineage(plan, ["a"], {}) == {}


def test_a_column_that_is_not_in_the_table_has_no_lineage(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], "id BIGINT, rowkind STRING")
    result = query_result(spark, "SELECT *, id || rowkind AS a FROM s.o", {"s.o": frame})
    (view,) = result.views
    found = column_lineage(result.frame, {view: InputView("s.o", frozenset(["id"]))})
    assert found == {"id": (("s.o", "id"),), "a": (("s.o", "id"),)}


@pytest.mark.long
def test_plans_may_be_deep_and_wide(spark: SparkSession) -> None:
    query = " UNION ALL ".join(["SELECT " + ", ".join(f"id + {n} AS c{n}" for n in range(30)) + " FROM s.o"] * 100)
    assert lineage(spark, query) == {f"c{n}": "s.o.id" for n in range(30)}
