"""SQL on the tables of a catalog: queries on views of snapshots, changes in one commit, and positions in errors."""

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidRequest, SqlError, TableNotFound
from paimon_core.spark import session

ROWS = pa.table({"day": ["mon", "mon", "tue"], "id": [1, 2, 3], "price": [1.5, 2.5, 3.5], "note": ["a", None, "c"]})


@pytest.fixture
def lake(spark, warehouse):
    """A lake with the table ``shop.orders``, which has three rows in one snapshot."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("shop")
    lake = session(spark, catalog, "shop")
    columns = {"day": "STRING NOT NULL", "id": "BIGINT NOT NULL", "price": "DOUBLE", "note": "STRING"}
    options = {"bucket": "1", "write-only": "true"}
    orders = catalog.create_table(
        "shop.orders", columns, primary_key=["day", "id"], partition_by=["day"], options=options
    )
    orders.write(ROWS)
    return lake


def rows(frame):
    return sorted(map(tuple, frame.collect()), key=repr)


def test_a_query_reads_one_snapshot_of_each_table_and_views_of_the_session(spark, lake):
    orders = lake.catalog.table("shop.orders")
    spark.createDataFrame([("mon", 10)], "day string, x int").createOrReplaceTempView("sql_weights")
    try:
        found = lake.sql(
            "WITH o AS (SELECT day, id FROM orders WHERE id < 3) "
            "SELECT o.id, w.x, shop.orders.note FROM o JOIN sql_weights w ON w.day = o.day "
            "JOIN shop.orders ON shop.orders.id = o.id"
        )
        orders.write([{"day": "mon", "id": 1, "price": 0.0, "note": "later"}])  # after the call, before the rows
        assert rows(found) == [(1, 10, "a"), (2, 10, None)]
        assert "paimon_" not in str(spark.sql("SHOW VIEWS").collect())
    finally:
        spark.catalog.dropTempView("sql_weights")
    assert rows(lake.sql("SELECT note FROM orders VERSION AS OF 1 WHERE id = 1")) == [("a",)]


def test_insert_casts_as_spark_assigns_and_refuses_what_spark_refuses(lake):
    found = lake.sql("INSERT INTO orders (id, day, price) SELECT id + 10, day, 4 FROM orders WHERE day = 'mon'")
    assert rows(found) == [(2, 2, 5)]
    assert rows(lake.sql("SELECT id, price FROM orders WHERE id > 10")) == [(11, 4.0), (12, 4.0)]
    with pytest.raises(SqlError, match=r"is string and cannot be assigned to column 'id'.* at line 2, column 1"):
        lake.sql("INSERT INTO orders\nSELECT day, 'x', 1, note FROM orders")
    assert lake.catalog.table("shop.orders").latest_snapshot().id == 2


@pytest.mark.long
def test_merge_with_values_of_both_sides(lake):
    lake.sql(
        "MERGE INTO orders t USING (SELECT * FROM VALUES ('mon', 1L, 'D', 0), ('tue', 3, 'U', 7), ('wed', 4, 'I', 8) "
        "AS v(day, n, op, p)) s ON t.id = s.n AND s.day = t.day WHEN MATCHED AND s.op = 'D' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET price = t.price + s.p, note = concat(s.op, '!') "
        "WHEN NOT MATCHED THEN INSERT (day, id, price) VALUES (s.day, s.n, s.p)"
    )
    assert rows(lake.sql("SELECT id, price, note FROM orders")) == [(2, 2.5, None), (3, 10.5, "U!"), (4, 8.0, None)]


@pytest.mark.long
def test_views_show_their_snapshot_until_they_are_refreshed(spark, lake):
    assert lake.views() == ["orders"]
    try:
        lake.sql("DELETE FROM orders WHERE id = 1")
        assert spark.table("orders").count() == 3
        assert rows(lake.sql("SELECT count(*) FROM orders")) == [(2,)]  # SQL of the lake reads the table, not the view
        assert rows(lake.sql("SELECT count(*) FROM ORDERS")) == [(2,)]  # Spark finds views in any case of letters
        lake.catalog.create_database("other")
        lake.sql("USE other")
        assert rows(lake.sql("SELECT count(*) FROM orders")) == [(2,)]
        assert lake.refresh() == ["orders"]
        assert spark.table("orders").count() == 2
    finally:
        spark.catalog.dropTempView("orders")
    spark.range(1).createOrReplaceTempView("orders")
    try:
        with pytest.raises(InvalidRequest, match="there is a temporary view 'orders' already"):
            session(spark, lake.catalog, "shop").views()
    finally:
        spark.catalog.dropTempView("orders")


def test_parameters_reach_queries_and_changes_as_values(lake):
    text = 'it\'s {a} \\ "?" -- :x'
    lake.sql(
        "UPDATE orders SET note = :note, price = (SELECT max(price) FROM orders) WHERE id = :id",
        {"note": text, "id": 1},
    )
    assert rows(lake.sql("SELECT note, price FROM orders WHERE id IN (?, ?) AND note = ?", [1, 2, text])) == [
        (text, 3.5)
    ]
    with pytest.raises(SqlError, match="the parameter :id has no value"):
        lake.sql("DELETE FROM orders WHERE id = :id")


def test_joins_after_a_leading_from_keep_their_rows(lake):
    lake.sql("CREATE TABLE keys AS SELECT * FROM VALUES (1L, 'a'), (9L, 'b') AS v(id, note)")
    for text in (
        "FROM orders o RIGHT JOIN keys k ON o.id = k.id SELECT k.id WHERE o.price IS NULL",
        "SELECT k.id FROM orders o RIGHT JOIN keys k ON o.id = k.id WHERE o.price IS NULL",
    ):
        assert rows(lake.sql(text)) == [(9,)], text
    assert rows(lake.sql("FROM orders NATURAL JOIN keys SELECT price")) == [(1.5,)]


def test_errors_of_names_have_the_position_and_similar_names(lake):
    with pytest.raises(TableNotFound, match=r"no table or view order; did you mean .*\borders\?, at line 1, column 15"):
        lake.sql("SELECT * FROM order")
    with pytest.raises(SqlError, match="no column prise; did you mean price") as error:
        lake.sql("SELECT id,\n  prise FROM orders")
    assert (error.value.facts["line"], error.value.facts["column"]) == (2, 3)
