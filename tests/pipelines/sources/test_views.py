"""Queries over tables of the lake in Spark, and SQL checks."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import paimon_core as paimon
from paimon_core.table.table import Table
from paimon_core.table.view import TableView
from paimon_lake.checks.context import CheckContext
from paimon_lake.checks.run import run_check
from paimon_lake.declarations import TableSpec
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.views import collected, with_views

SOURCE = {"type": "files", "path": "orders/*.csv"}
CONTEXT = CheckContext(datetime(2024, 1, 1, tzinfo=UTC))


@pytest.fixture
def orders(warehouse: str) -> Table:
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("ods")
    rows = pa.table({"id": [1, 2, 3], "customer": ["a", None, "b"]})
    table = catalog.create_table("ods.orders", rows.schema)
    table.write(rows)
    return table


def rows(spark: SparkSession, query: str, **tables: object) -> list[str]:
    named = {name.replace("__", "."): table for name, table in tables.items()}
    return collected(with_views(spark, query, named), limit=10)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM ods.orders WHERE customer = 'a' -- ods.orders",
        "SELECT orders.id FROM ods.orders WHERE ods.orders.customer = 'a'",
        "SELECT o.id FROM ODS.Orders o JOIN ods.orders AS p ON o.id = p.id WHERE o.customer = 'a'",
        "SELECT ods.id FROM `ods`.`orders` ods WHERE 'ods.orders' = concat('ods', '.orders') AND ods.customer = 'a'",
        "WITH t AS (TABLE ods.orders) SELECT id FROM t WHERE t.customer = 'a'",
        "FROM ods.orders TABLESAMPLE (100 PERCENT) SELECT id WHERE customer = 'a'",
        "FROM ods.orders |> WHERE customer = 'a' |> JOIN ods.orders o USING (id) |> SELECT id",
        "SELECT id FROM (ods.orders CROSS JOIN (SELECT 1 AS one)) WHERE orders.customer = 'a';",
    ],
)
def test_tables_are_named_as_in_the_lake(spark: SparkSession, orders: Table, query: str) -> None:
    assert rows(spark, query, ods__orders=orders) == ["{id: 1}"]
    assert spark.catalog.listTables() == [], "the views are dropped"


def test_tables_with_equal_last_names(spark: SparkSession, orders: Table) -> None:
    other = spark.sql("SELECT 7 AS id")
    query = "SELECT ods.orders.id, dws.orders.id FROM ods.orders JOIN dws.orders ON ods.orders.id = 1"
    assert rows(spark, query, ods__orders=orders, dws__orders=other) == ["{id: 1, id: 7}"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT * FROM ods.customers", "the query names ods.customers, which is not one of its tables: ods.orders"),
        ("SELECT * FROM ods.orders, c.ods.orders", "names c.ods.orders, which is not one of its tables: ods.orders"),
        (
            "SELECT * FROM customers",
            "the query names customers, at line 1, column 15, which is not one of its tables: ods.orders",
        ),
        ("SELECT * FROM csv.`/etc/hosts`", "the query names csv./etc/hosts, which"),
        ("SELECT nope FROM ods.orders", "the query cannot be run, at line 1, column 8: .*nope"),
        ("SELECT id FROM ods.orders\n  WHERE nope > 1", "the query cannot be run, at line 2, column 9: .*nope"),
        ("SELECT ods.orders.nope FROM ods.orders", "the query cannot be run, at line 1, column 8: .*nope"),
        ("SELECT FROM WHERE", "the query cannot be run|the query names WHERE, at line 1, column 13"),
        ("SELECT id FROM ods.orders\nWHERE (", "the query cannot be run, at line 2, column 8: .PARSE_SYNTAX_ERROR"),
        ("DROP TABLE ods.orders", "must be a query, with SELECT.* first: 'DROP TABLE ods.orders'"),
    ],
)
def test_queries_that_are_refused(spark: SparkSession, orders: Table, query: str, reason: str) -> None:
    with pytest.raises(PipelineError, match=reason):
        with_views(spark, query, {"ods.orders": orders})
    assert spark.catalog.listTables() == []


def test_a_query_reads_only_the_tables_that_it_names(spark: SparkSession, orders: Table) -> None:
    class Lazy(dict[str, Table]):
        def __getitem__(self, name: str) -> Table:
            assert name == "ods.orders"
            return orders

    tables = Lazy({"ods.orders": orders, "ods.other": orders})
    assert with_views(spark, "SELECT count(*) AS n FROM ods.orders", tables).collect()[0].n == 3


def found(
    spark: SparkSession, orders: Table, query: str, table: TableView | None = None, context: CheckContext = CONTEXT
) -> tuple[int, str]:
    check = {"type": "sql", "name": "none", "query": query}
    spec = TableSpec.model_validate({"name": "ods.orders", "natural_key": "id", "source": SOURCE, "checks": [check]})
    finding = run_check(spec.checks[0], spec, table or orders, context=context, spark=lambda: spark)
    return finding.wrong, finding.sentence


def test_a_sql_check_must_return_no_row(spark: SparkSession, orders: Table) -> None:
    query = "SELECT id, customer, 1 AS id FROM ods.orders WHERE customer IS NULL"
    assert found(spark, orders, query) == (
        1,
        "the query returned 1 row and must return none: {id: 2, customer: null, id: 1}",
    )
    assert found(spark, orders, "SELECT * FROM ods.orders WHERE id > 3") == (0, "the query returned no row")
    many = "SELECT explode(sequence(1, 5000)) FROM ods.orders"
    assert found(spark, orders, many)[1].startswith("the query returned more than 1,000 rows and must return none: ")


def test_a_sql_check_names_other_tables_of_the_lake(spark: SparkSession, orders: Table) -> None:
    query = "SELECT o.id FROM ods.orders o ANTI JOIN ods.known k ON o.id = k.id"
    assert "names ods.known, which is not one of its tables: ods.orders" in found(spark, orders, query)[1]
    context = CheckContext(CONTEXT.now, tables={"ods.known": orders.at(snapshot=1)})
    orders.write(pa.table({"id": [4]}))
    assert found(spark, orders, query, context=context)[1].endswith("must return none: {id: 4}")


def test_a_sql_check_that_fails_while_it_runs(spark: SparkSession, orders: Table) -> None:
    sentence = found(spark, orders, "SELECT raise_error('bad row') FROM ods.orders")[1]
    assert sentence.startswith("cannot be evaluated: the query failed: ")
    assert "bad row" in sentence


def test_a_sql_check_sees_a_prepared_commit(spark: SparkSession, orders: Table) -> None:
    prepared = orders.prepare(pa.table({"id": [9]}))
    assert prepared is not None
    query = "SELECT id FROM ods.orders WHERE id > 3"
    assert found(spark, orders, query, prepared.table)[1].endswith("must return none: {id: 9}")
    assert found(spark, orders, query)[0] == 0
