"""Temporary views by SQL: they show the newest rows in SQL of the lake, and queries mix them with tables."""

import pytest

import paimon_core as paimon
from paimon_core.errors import DatabaseNotFound, SqlError, TableNotFound
from paimon_core.spark import session


@pytest.fixture
def lake(spark, tmp_path):
    catalog = paimon.open_catalog(str(tmp_path))
    for database in ("db", "other"):
        catalog.create_database(database)
    catalog.create_table("db.t", "id INT, n INT", options={"bucket": "-1"}).write([{"id": 1, "n": 10}])
    yield session(spark, catalog, "db")
    for name in ("big", "twice", "t", "v", "w"):
        spark.catalog.dropTempView(name)


def rows(lake, text, args=None):
    return sorted(tuple(row) for row in lake.sql(text, args).collect())


def test_a_view_shows_the_newest_rows_and_the_session_shows_them_after_refresh(spark, lake):
    lake.sql("CREATE TEMPORARY VIEW big AS SELECT id, n FROM t WHERE n >= :n", {"n": 10})
    lake.sql("CREATE TEMP VIEW twice (ident COMMENT 'the id', `n 2`) AS SELECT id, n * 2 FROM Big")
    lake.sql("USE other")
    lake.catalog.table("db.t").write([{"id": 2, "n": 20}, {"id": 3, "n": 1}])
    assert rows(lake, "SELECT ident, `n 2`, t.n FROM TWICE JOIN db.t ON t.id = twice.ident") == [
        (1, 20, 10),
        (2, 40, 20),
    ]
    assert [tuple(row) for row in spark.sql("SELECT id FROM big").collect()] == [(1,)]
    assert lake.refresh() == ["big", "twice"]
    assert spark.table("big").count() == 2
    assert rows(lake, "DESCRIBE twice") == [("ident", "int", "the id"), ("n 2", "int", None)]
    assert rows(lake, "SHOW VIEWS LIKE 'bi*|none'") == [("", "big", True)]
    assert {("", "big", True), ("", "twice", True)} <= {*rows(lake, "SHOW VIEWS IN db")}
    lake.sql("UPDATE db.t SET n = (SELECT max(`n 2`) FROM twice) WHERE id IN (SELECT id FROM big)")
    assert rows(lake, "SELECT * FROM db.t") == [(1, 40), (2, 40), (3, 1)]


def test_a_view_may_have_the_name_of_the_table_that_it_reads(lake):
    lake.sql("CREATE TEMP VIEW t AS SELECT id FROM t")
    assert rows(lake, "SELECT * FROM t") == [(1,)]
    assert rows(lake, "SELECT * FROM db.t") == [(1, 10)]
    lake.sql("DROP VIEW t")
    assert rows(lake, "SELECT * FROM t") == [(1, 10)]


def test_views_of_the_session_are_not_taken_for_those_of_the_lake(spark, lake):
    lake.sql("CREATE TEMP VIEW v AS SELECT 1 AS a")
    lake.sql("CREATE OR REPLACE TEMP VIEW w AS SELECT a + 1 AS b FROM v")
    spark.sql("SELECT 7 AS a").createOrReplaceTempView("v")
    assert rows(lake, "SELECT a, b FROM v, w") == [(7, 8)]
    spark.catalog.dropTempView("w")
    assert lake.refresh() == []
    with pytest.raises(TableNotFound, match="no table or view w"):
        lake.sql("SELECT * FROM w")


def test_wrong_statements_about_views(lake):
    lake.sql("CREATE TEMP VIEW v AS SELECT id FROM t")
    lake.sql("CREATE TEMP VIEW w AS SELECT id FROM v")
    for text, column, error, problem in (
        ("CREATE TEMP VIEW v AS SELECT 1", 18, SqlError, "use CREATE OR REPLACE TEMPORARY VIEW"),
        ("CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM v", 48, SqlError, "view v reads itself"),
        ("CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM w", 48, SqlError, "view w: view v reads itself"),
        ("CREATE TEMP VIEW x (a) AS SELECT 1, 2", 27, SqlError, "the view has 1 columns, and its query has 2"),
        ("CREATE TEMP VIEW x AS SELECT nope FROM t", 30, SqlError, "there is no column nope"),
        ("CREATE TEMP VIEW x AS SELECT 1 AS a, 2 AS A", 23, SqlError, "two columns a and A"),
        ("SELECT * FROM v VERSION AS OF 1", 15, SqlError, "which has no versions"),
        ("INSERT INTO v SELECT 1", 13, SqlError, "v is a temporary view, and the statement needs a table"),
        ("DROP TABLE v", 12, SqlError, "v is a temporary view"),
        ("DROP VIEW t", 11, SqlError, "t is a table: use DROP TABLE"),
        ("DROP VIEW vv", 11, SqlError, "did you mean v"),
        ("SHOW VIEWS IN nope", 15, DatabaseNotFound, "no database 'nope'"),
    ):
        with pytest.raises(error, match=problem) as raised:
            lake.sql(text)
        assert raised.value.facts["column"] == column, text
    assert rows(lake, "SELECT * FROM w") == [(1,)]
    lake.sql("DROP VIEW IF EXISTS nope")
    lake.catalog.drop_table("db.t")
    with pytest.raises(TableNotFound, match="view w: view v: there is no table or view t") as raised:
        lake.sql("SELECT * FROM w")
    assert raised.value.facts["column"] == 15
    with pytest.raises(TableNotFound, match="view v: there is no table or view t"):
        lake.refresh()
