"""Subqueries in UPDATE, DELETE and MERGE INTO: the rows that Spark's own tables give, and concurrent commits."""

import pytest

import paimon_core as paimon
import paimon_core.spark.row_changes.delete_update as delete_update_module
from paimon_core.errors import CommitConflict, SqlError, TableNotFound
from paimon_core.spark import session

KINDS = {
    "keyed": "'primary-key' = 'id', 'bucket' = '2'",
    "vectors": "'deletion-vectors.enabled' = 'true'",
    "tracked": "'row-tracking.enabled' = 'true'",
}
ROWS = "(1, 'a', 10), (2, 'b', 20), (3, 'c', 30), (4, NULL, 40)"
OTHERS = "(1, 'a'), (3, 'c'), (NULL, 'n')"
CONDITIONS = (
    "id IN (SELECT k FROM u)",
    "id NOT IN (SELECT k FROM u)",
    "NOT EXISTS (SELECT * FROM shop.u WHERE shop.u.k = shop.t.id AND z = t.v) AND n < 40",
    "EXISTS (SELECT 1 FROM u WHERE k = id) AND n > 10",
    "n >= (SELECT max(t.n) FROM t WHERE t.v IS NOT NULL) OR id = 1",
    "shop.t.id IN (SELECT shop.t.id FROM shop.t WHERE shop.t.n >= 30) AND id NOT IN (SELECT k FROM u WHERE k > 0)",
    "(id, v) IN (WITH c AS (SELECT * FROM u VERSION AS OF 1) SELECT k, z FROM c WHERE z <> 'a')",
)


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory):
    catalog = paimon.open_catalog(str(tmp_path_factory.mktemp("subqueries")))
    catalog.create_database("shop")
    lake = session(spark, catalog, "shop")
    lake.sql("CREATE TABLE u (k INT, z STRING)")
    lake.sql(f"INSERT INTO u VALUES {OTHERS}")
    return lake


def table_of(lake, options):
    lake.catalog.drop_table("shop.t", ignore_if_missing=True)
    lake.sql(f"CREATE TABLE t (id INT, v STRING, n INT) TBLPROPERTIES ({options})")
    lake.sql(f"INSERT INTO t VALUES {ROWS}")


def content(lake):
    return sorted(map(tuple, lake.sql("SELECT * FROM t").collect()), key=repr)


@pytest.mark.parametrize(("condition", "kind"), list(zip(CONDITIONS, [*KINDS] * 3, strict=False)))
def test_deletions_leave_the_rows_that_spark_leaves(spark, lake, condition, kind):
    table_of(lake, KINDS[kind])
    spark.sql(f"SELECT * FROM VALUES {ROWS} AS t(id, v, n)").createOrReplaceTempView("plain_t")
    spark.sql(f"SELECT * FROM VALUES {OTHERS} AS u(k, z)").createOrReplaceTempView("plain_u")
    written = condition.replace("shop.", "").replace(" VERSION AS OF 1", "")
    written = written.replace("FROM u", "FROM plain_u u").replace("FROM t", "FROM plain_t t")
    kept = spark.sql(f"SELECT * FROM plain_t t WHERE NOT coalesce({written}, false)").collect()
    lake.sql(f"DELETE FROM t WHERE {condition}")
    assert content(lake) == sorted(map(tuple, kept), key=repr)


def test_updates_with_subqueries(lake):
    table_of(lake, KINDS["keyed"])
    lake.sql("UPDATE t x SET n = x.n + 1, v = 'u' WHERE EXISTS (SELECT 1 FROM u WHERE u.k = x.id AND u.z = 'c')")
    lake.sql("UPDATE t SET n = 0 WHERE id = (SELECT min(k) FROM u)")
    assert content(lake) == [(1, "a", 0), (2, "b", 20), (3, "u", 31), (4, None, 40)]


def test_a_deletion_whose_subquery_reads_the_table_is_not_repeated(lake, monkeypatch):
    table_of(lake, KINDS["vectors"])
    run = delete_update_module.row_messages

    def meanwhile(*arguments):
        monkeypatch.setattr(delete_update_module, "row_messages", run)
        lake.catalog.table("shop.t").update("id = 1", {"n": 1})
        return run(*arguments)

    monkeypatch.setattr(delete_update_module, "row_messages", meanwhile)
    with pytest.raises(CommitConflict, match=r"which a query of the statement reads, .* run the statement again"):
        lake.sql("DELETE FROM t WHERE n = (SELECT max(n) FROM t)")
    assert content(lake) == [(1, "a", 1), (2, "b", 20), (3, "c", 30), (4, None, 40)]


def test_wrong_subqueries_change_nothing(spark, lake):
    table_of(lake, KINDS["keyed"])
    lake.sql("CREATE TABLE IF NOT EXISTS v (target INT)")
    views = spark.sql("SHOW VIEWS").count()
    for text, column, error, problem in (
        ("DELETE FROM t WHERE id IN (SELECT k FROM nope)", 42, TableNotFound, "no table or view nope"),
        ("DELETE FROM t WHERE id IN (SELECT nope FROM u)", 21, SqlError, "`nope` cannot be resolved"),
        ("DELETE FROM t WHERE id = (SELECT k FROM u)", 13, SqlError, "nothing is written: .*More than one row"),
        ("DELETE FROM t WHERE EXISTS (SELECT 1 FROM v WHERE v.target = t.id)", 62, SqlError, "a column 'target'"),
        ("UPDATE t SET n = 1 + (SELECT nope FROM u)", 18, SqlError, "`nope` cannot be resolved"),
    ):
        with pytest.raises(error, match=problem) as raised:
            lake.sql(text)
        assert raised.value.facts["column"] == column, text
    assert spark.sql("SHOW VIEWS").count() == views
    assert lake.catalog.table("shop.t").latest_snapshot().id == 1


def test_names_in_a_subquery_cannot_stand_for_the_changed_table(spark, lake):
    table_of(lake, KINDS["keyed"])
    spark.sql("SELECT 1 AS k, struct(1 AS id) AS target").createOrReplaceTempView("has_target")
    for subquery, column in (
        ("SELECT 1 FROM u target WHERE target.k = t.id", "target"),
        ("SELECT 1 FROM (SELECT k, struct(1 AS id) AS Target FROM u) x WHERE x.k = t.id", "target"),
        ("SELECT 1 FROM (SELECT k, struct(1 AS id) AS t FROM u) x WHERE x.k = t.id", "t"),
        ("WITH target AS (SELECT k, 1 AS id FROM u) SELECT 1 FROM target WHERE k = t.id", "target"),
        ("SELECT 1 FROM u LATERAL VIEW explode(array(struct(1 AS id))) e AS target WHERE k = t.id", "target"),
        ("SELECT 1 FROM has_target h WHERE h.k = t.id", "target"),
    ):
        with pytest.raises(SqlError, match=f"a subquery that has a column '{column}'.* use other aliases"):
            lake.sql(f"DELETE FROM t WHERE EXISTS ({subquery})")
    assert lake.catalog.table("shop.t").latest_snapshot().id == 1


def test_tables_in_parentheses_and_lateral_views_are_tables_of_the_subquery(lake):
    table_of(lake, KINDS["keyed"])
    lake.sql("DELETE FROM t WHERE EXISTS (SELECT 1 FROM (u JOIN t ON u.k = t.id) WHERE t.n = 20)")
    lake.sql("DELETE FROM t WHERE EXISTS (SELECT 1 FROM u LATERAL VIEW explode(array(7)) t AS id WHERE t.id = 1)")
    assert lake.catalog.table("shop.t").latest_snapshot().id == 1
    lake.sql("DELETE FROM t a WHERE EXISTS (SELECT 1 FROM (u JOIN t ON u.k = t.id) WHERE t.n = a.n)")
    assert [row[0] for row in content(lake)] == [2, 4]


VALUES = (
    "(SELECT max(k) FROM u)",
    "n + (SELECT count(*) FROM shop.u WHERE shop.u.k = shop.t.id)",
    "CASE WHEN EXISTS (SELECT 1 FROM u WHERE k = id) THEN 1 WHEN id NOT IN (SELECT k FROM u WHERE k > 0) THEN 2 END",
    "(SELECT sum(o.n) FROM t o WHERE o.id < t.id)",
    "(WITH c AS (SELECT * FROM u VERSION AS OF 1) SELECT min(k) FROM c WHERE z = t.v)",
)


@pytest.mark.parametrize(("value", "kind"), list(zip(VALUES, [*KINDS] * 2, strict=False)))
def test_updates_set_the_values_that_spark_computes(spark, lake, value, kind):
    table_of(lake, KINDS[kind])
    spark.sql(f"SELECT * FROM VALUES {ROWS} AS t(id, v, n)").createOrReplaceTempView("plain_t")
    spark.sql(f"SELECT * FROM VALUES {OTHERS} AS u(k, z)").createOrReplaceTempView("plain_u")
    written = value.replace("shop.", "").replace(" VERSION AS OF 1", "")
    written = written.replace("FROM u", "FROM plain_u u").replace("FROM t o", "FROM plain_t o")
    expected = spark.sql(f"SELECT id, v, CAST({written} AS INT) FROM plain_t t").collect()
    lake.sql(f"UPDATE t SET n = {value}")
    assert content(lake) == sorted(map(tuple, expected), key=repr)


@pytest.mark.parametrize("kind", ["keyed", "vectors"])
def test_merges_with_subqueries_in_conditions_and_values(lake, kind):
    table_of(lake, KINDS[kind])
    lake.sql(
        "WITH c AS (SELECT * FROM u), m AS (SELECT max(n) AS most FROM t) "
        "MERGE INTO t USING (SELECT k, z FROM c WHERE k > 0 UNION ALL SELECT 9, 'i') s ON t.id = s.k "
        "WHEN MATCHED AND EXISTS (SELECT 1 FROM u WHERE u.k = s.k AND u.z = t.v AND u.k < 2) "
        "THEN UPDATE SET n = (SELECT most FROM m) + t.n, v = (SELECT max(z) FROM c) "
        "WHEN MATCHED THEN UPDATE SET v = concat(s.z, (SELECT min(u.z) FROM u WHERE u.k = t.id)) "
        "WHEN NOT MATCHED AND s.z NOT IN (SELECT z FROM u) THEN INSERT (id, n) "
        "VALUES (s.k, (SELECT count(*) FROM u WHERE u.k < s.k)) "
        "WHEN NOT MATCHED BY SOURCE AND t.n = (SELECT most FROM m) THEN DELETE"
    )
    assert content(lake) == [(1, "n", 50), (2, "b", 20), (3, "cc", 30), (9, None, 2)]


def test_the_source_of_a_merge_may_be_the_table_of_a_subquery(lake):
    table_of(lake, KINDS["vectors"])
    lake.sql(
        "MERGE INTO t USING u ON t.id = u.k WHEN MATCHED THEN UPDATE SET n = (SELECT count(*) FROM u o WHERE o.k = u.k)"
    )
    assert content(lake) == [(1, "a", 1), (2, "b", 20), (3, "c", 1), (4, None, 40)]


def test_a_source_with_equal_keys_and_correlated_subqueries(lake):
    table_of(lake, KINDS["vectors"])
    lake.sql(
        "MERGE INTO t USING (SELECT u.k + 10 AS k FROM u, range(2) WHERE u.k > 0) s ON t.id = s.k "
        "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.k, (SELECT count(*) FROM u WHERE u.k + 10 = s.k))"
    )
    assert [(row[0], row[2]) for row in content(lake)][:4] == [(1, 10), (11, 1), (11, 1), (13, 1)]


def test_with_before_changes(lake):
    table_of(lake, KINDS["keyed"])
    lake.sql("WITH t AS (SELECT id + 10 AS id, v, n FROM t WHERE id < 3) INSERT INTO t SELECT * FROM t")
    lake.sql("WITH RECURSIVE r(i) AS (SELECT 20 UNION ALL SELECT i + 1 FROM r WHERE i < 21) INSERT INTO t (id) TABLE r")
    lake.sql("WITH c AS (SELECT k FROM u), d AS (SELECT * FROM c) UPDATE t SET n = 0 WHERE id IN (SELECT k FROM d)")
    lake.sql("WITH c AS (SELECT max(id) AS m FROM t) DELETE FROM t WHERE id = (SELECT m FROM c)")
    assert [(row[0], row[2]) for row in content(lake)] == [
        (1, 0),
        (11, 10),
        (12, 20),
        (2, 20),
        (20, None),
        (3, 0),
        (4, 40),
    ]


def test_wrong_subqueries_in_values_and_merges_change_nothing(spark, lake):
    table_of(lake, KINDS["keyed"])
    views = spark.sql("SHOW VIEWS").count()
    merge = "MERGE INTO t USING (SELECT 1 AS id, 2 AS q) s ON t.id = s.id WHEN"
    for text, column, problem in (
        ("UPDATE t SET n = (SELECT k, z FROM u)", 18, "must return only one column"),
        ("UPDATE t SET n = (SELECT max(z) FROM u)", 18, "the value is string and cannot be assigned"),
        ("UPDATE t SET n = (SELECT k FROM u)", 8, "nothing is written: .*More than one row"),
        ("UPDATE t SET n = (SELECT max(target.k) FROM u target WHERE target.k = t.id)", 71, "a column 'target'"),
        (f"{merge} MATCHED THEN UPDATE SET n = (SELECT max(k) FROM u WHERE k = q)", 95, "`q` cannot be resolved"),
        (f"{merge} MATCHED THEN UPDATE SET n = (SELECT max(k) FROM u source WHERE k = s.q)", 134, "a column 'source'"),
        (
            f"{merge} NOT MATCHED THEN INSERT (id) VALUES ((SELECT max(k) FROM u WHERE k = t.n))",
            136,
            "has no columns of",
        ),
        ("MERGE INTO t USING u ON t.id = (SELECT 1) WHEN MATCHED THEN DELETE", 25, "a subquery is not possible here"),
        (
            "WITH c AS (SELECT * FROM u) DELETE FROM t WHERE id IN (SELECT k FROM c VERSION AS OF 1)",
            70,
            "has no versions",
        ),
        ("WITH c AS (SELECT nope FROM u) UPDATE t SET n = (SELECT 1 FROM c)", 19, "no column nope"),
    ):
        with pytest.raises(SqlError, match=problem) as raised:
            lake.sql(text)
        assert raised.value.facts["column"] == column, text
    assert spark.sql("SHOW VIEWS").count() == views
    assert lake.catalog.table("shop.t").latest_snapshot().id == 1


def test_an_error_shows_the_text_of_the_user(lake):
    table_of(lake, KINDS["keyed"])
    with pytest.raises(SqlError, match=r"VALUES \(DEFAULT, \^?nope"):
        lake.sql("INSERT INTO t (id, n) VALUES (DEFAULT, nope)")
