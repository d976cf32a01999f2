"""Every statement once, with its effect on the table, and wrong texts that change nothing."""

import datetime

import pytest

import paimon_core as paimon
import paimon_core.spark.row_changes.merge as merge_module
from paimon_core.errors import CommitConflict, InvalidRequest, NotFound, PaimonError, SchemaMismatch, SqlError
from paimon_core.spark import session
from paimon_core.spark.sql import tables

CREATE = (
    "CREATE TABLE orders (id BIGINT NOT NULL COMMENT 'the id', day STRING NOT NULL, price DOUBLE, note STRING) "
    "PARTITIONED BY (day) TBLPROPERTIES ('primary-key' = 'id,day', 'bucket' = '1') COMMENT 'all orders'"
)
VALUES = "VALUES (1, 'mon', 1.5, 'a'), (2, 'mon', 2.5, NULL), (3, 'tue', 3.5, 'c')"


@pytest.fixture(scope="module")
def shared(spark, tmp_path_factory):
    catalog = paimon.open_catalog(str(tmp_path_factory.mktemp("sql")))
    catalog.create_database("shop")
    return session(spark, catalog, "shop")


@pytest.fixture
def lake(shared):
    """The table ``orders`` with three rows in snapshot 1."""
    for name in shared.catalog.list_tables("shop"):
        shared.catalog.drop_table(f"shop.{name}")
    shared.sql(CREATE)
    shared.sql(f"INSERT INTO orders {VALUES}")
    return shared


def rows(lake, text):
    return sorted(map(tuple, lake.sql(text).collect()), key=repr)


def content(lake, name="orders"):
    """The rows of a table as the library reads them."""
    table = lake.catalog.table(f"shop.{name}").scan().to_arrow()
    return sorted(map(tuple, (row.values() for row in table.to_pylist())), key=repr)


def test_databases(lake):
    assert rows(lake, "CREATE DATABASE IF NOT EXISTS other") == [("created database other",)]
    lake.sql("CREATE DATABASE IF NOT EXISTS other")
    assert rows(lake, "SHOW DATABASES LIKE 'o*'") == [("other",)]
    lake.sql("USE other")
    assert (lake.database, rows(lake, "SHOW TABLES")) == ("other", [])
    lake.sql("USE shop")
    lake.sql("CREATE TABLE other.t (a INT)")
    with pytest.raises(InvalidRequest, match=r"contains tables \(t\).*CASCADE"):
        lake.sql("DROP DATABASE other")
    assert rows(lake, "DESCRIBE DATABASE other") == [("Database Name", "other"), ("Tables", "1")]
    lake.sql("DROP SCHEMA other CASCADE")
    lake.sql("DROP DATABASE IF EXISTS other")
    assert rows(lake, "SHOW DATABASES") == [("shop",)]


def test_descriptions(lake):
    described = [tuple(row) for row in lake.sql("DESCRIBE orders").collect()]
    assert described[:2] == [("id", "BIGINT NOT NULL", "the id"), ("day", "STRING NOT NULL", None)]
    assert ("# Partition Information", "", "") in described
    assert ("Comment", "all orders", "") in rows(lake, "DESC TABLE EXTENDED orders")
    assert rows(lake, "DESCRIBE orders PRICE")[0] == ("col_name", "price")
    assert rows(lake, "SHOW TABLES IN shop LIKE 'ord*|x'") == [("shop", "orders", False)]
    assert rows(lake, "SHOW PARTITIONS orders") == [("day=mon",), ("day=tue",)]
    assert rows(lake, "SHOW PARTITIONS orders PARTITION (day = 'tue')") == [("day=tue",)]
    assert rows(lake, "SHOW COLUMNS IN orders FROM shop") == [("day",), ("id",), ("note",), ("price",)]
    assert rows(lake, "SHOW TBLPROPERTIES orders ('bucket')") == [("bucket", "1")]
    text = lake.sql("SHOW CREATE TABLE orders").first()[0]
    before = lake.catalog.table("shop.orders").schema
    lake.sql("DROP TABLE orders")
    lake.sql(text)
    after = lake.catalog.table("shop.orders").schema
    assert (after.fields, after.primary_keys, after.options, after.comment) == (
        before.fields, before.primary_keys, before.options, before.comment
    )  # fmt: skip


def test_tables_from_queries_and_tables(lake):
    assert rows(lake, "CREATE TABLE copied AS SELECT id, price FROM orders WHERE price > 2") == [(1, 2, 2)]
    lake.sql("CREATE TABLE IF NOT EXISTS copied AS SELECT 1")
    assert content(lake, "copied") == [(2, 2.5), (3, 3.5)]
    lake.sql("CREATE OR REPLACE TABLE copied TBLPROPERTIES ('primary-key' = 'id') AS SELECT id, 'x' AS t FROM copied")
    assert content(lake, "copied") == [(2, "x"), (3, "x")]
    lake.sql("REPLACE TABLE copied (n INT)")
    assert content(lake, "copied") == []
    lake.sql("CREATE TABLE alike LIKE orders TBLPROPERTIES ('bucket' = '3')")
    alike, orders = (lake.catalog.table(f"shop.{name}").schema for name in ("alike", "orders"))
    assert (alike.fields, alike.partition_keys, alike.options["bucket"]) == (orders.fields, orders.partition_keys, "3")
    with pytest.raises(SchemaMismatch, match="NOT NULL"):  # a null in the key: the table is not left behind
        lake.sql("CREATE TABLE broken TBLPROPERTIES ('primary-key' = 'id') AS SELECT CAST(NULL AS INT) AS id")
    assert lake.catalog.list_tables("shop") == ["alike", "copied", "orders"]


def test_errors_of_a_replacement_name_the_table(lake):
    for query, problem in (
        ("SELECT CAST(99999999999 AS INT) AS n", "table shop.orders: value 99999999999L does not fit column n"),
        ("SELECT CAST('x' AS INT) AS n", "table shop.orders: a value cannot be computed"),
    ):
        with pytest.raises(InvalidRequest, match=problem) as error:
            lake.sql(f"CREATE OR REPLACE TABLE orders AS {query}")
        assert error.value.facts.get("table", "shop.orders") == "shop.orders"
    assert lake.catalog.list_tables("shop") == ["orders"]


def test_a_table_that_changes_while_it_is_replaced_is_kept(lake, monkeypatch):
    written = tables.write_spark

    def write(frame, table):
        lake.catalog.table("shop.orders").delete("id = 1")  # another process commits
        return written(frame, table)

    monkeypatch.setattr(tables, "write_spark", write)
    with pytest.raises(CommitConflict, match="run the statement again"):
        lake.sql("CREATE OR REPLACE TABLE orders AS SELECT id FROM orders")
    assert lake.catalog.list_tables("shop") == ["orders"]
    assert [row[0] for row in content(lake)] == [2, 3]


def test_inserts(lake):
    lake.sql("INSERT INTO orders BY NAME SELECT 'wed' AS DAY, 4 AS id")
    lake.sql("INSERT INTO orders (note, id, day) VALUES ('n', 5, 'wed')")
    lake.sql("INSERT INTO TABLE orders PARTITION (day = 'thu') SELECT 6, 6, 'x'")
    lake.sql("CREATE TABLE parted (id INT, p STRING) PARTITIONED BY (p)")
    lake.sql("INSERT INTO parted PARTITION (p = '__DEFAULT_PARTITION__') SELECT 1")
    assert content(lake, "parted") == [(1, None)]
    assert content(lake)[3:] == [(4, "wed", None, None), (5, "wed", None, "n"), (6, "thu", 6.0, "x")]


@pytest.mark.parametrize(
    ("mode", "partition", "kept"),
    [
        ("STATIC", "", ["wed"]),
        ("STATIC", "PARTITION (day)", ["wed"]),
        ("DYNAMIC", "", ["mon", "tue", "wed"]),
        ("STATIC", "PARTITION (day = 'mon')", ["mon", "tue"]),
        ("DYNAMIC", "PARTITION (day = 'mon')", ["mon", "tue"]),
    ],
)
def test_overwrites_replace_what_spark_replaces(spark, lake, mode, partition, kept):
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
    try:
        day = "" if "'" in partition else "'wed', "
        lake.sql(f"INSERT OVERWRITE orders {partition} SELECT 9, {day}9, NULL")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert sorted({row[1] for row in content(lake)}) == kept
    assert 9 in {row[0] for row in content(lake)}
    assert ("mon" in kept and "'" not in partition) == (1 in {row[0] for row in content(lake)})


def test_alterations(lake):
    for change in (
        "ADD COLUMNS (qty INT COMMENT 'pieces' AFTER id, tag STRING)",
        "ALTER COLUMN qty TYPE BIGINT",
        "ALTER COLUMN QTY COMMENT 'count'",
        "RENAME COLUMN tag TO label",
        "ALTER COLUMN label FIRST",
        "DROP COLUMN note",
        "DROP COLUMN IF EXISTS none",
        "ADD COLUMN gone INT",
        "DROP COLUMN IF EXISTS GONE",
        "SET TBLPROPERTIES ('write-only' = 'true', 'comment' = 'new')",
        "UNSET TBLPROPERTIES IF EXISTS ('write-only', 'snapshot.time-retained')",
    ):
        lake.sql(f"ALTER TABLE orders {change}")
    schema = lake.catalog.table("shop.orders").schema
    assert schema.names == ["label", "id", "qty", "day", "price"]
    assert (str(schema.by_name["qty"].type), schema.by_name["qty"].description) == ("BIGINT", "count")
    assert ("write-only" in schema.options, schema.comment) == (False, "new")
    lake.sql("COMMENT ON TABLE orders IS NULL")
    lake.sql("ALTER TABLE shop.orders RENAME TO sales")
    assert rows(lake, "SELECT count(*), count(label) FROM sales") == [(3, 0)]


def test_removals(lake):
    lake.sql("ALTER TABLE orders DROP IF EXISTS PARTITION (day = 'mon'), PARTITION (day = 'none')")
    assert [row[0] for row in content(lake)] == [3]
    assert rows(lake, "TRUNCATE TABLE orders PARTITION (day = 'none')") == [(None, 0, None)]
    lake.sql("TRUNCATE TABLE orders")
    assert content(lake) == []
    lake.sql("DROP TABLE orders")
    lake.sql("DROP TABLE IF EXISTS orders")
    assert rows(lake, "SHOW TABLES") == []


def test_row_changes(lake):
    lake.sql("UPDATE orders SET price = orders.price * 2, note = coalesce(note, upper(day)) WHERE id IN (1, 2)")
    lake.sql("DELETE FROM orders o WHERE o.day = 'tue'")
    assert content(lake) == [(1, "mon", 3.0, "a"), (2, "mon", 5.0, "MON")]
    lake.sql(
        "MERGE INTO shop.orders USING (SELECT 1 AS id, 'mon' AS day, 9D AS price, 's' AS note UNION ALL "
        "SELECT 7, 'sun', 7D, 't') s ON orders.id = s.id AND orders.day = s.day WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND orders.price > 4 THEN DELETE"
    )
    assert content(lake) == [(1, "mon", 9.0, "s"), (7, "sun", 7.0, "t")]
    lake.sql("DELETE FROM orders WHERE false")
    assert len(content(lake)) == 2
    lake.sql("DELETE FROM orders")
    assert content(lake) == []


def test_a_merge_that_only_deletes_takes_a_source_with_other_columns(lake):
    lake.sql(
        "MERGE INTO orders t USING (SELECT 1 AS id, 'mon' AS day, 'x' AS other) s ON t.id = s.id AND t.day = s.day "
        "WHEN MATCHED THEN DELETE"
    )
    assert [row[0] for row in content(lake)] == [2, 3]


@pytest.mark.parametrize("step", ["key_statistics", "row_messages"])
def test_a_merge_whose_source_reads_the_table_is_not_repeated(lake, monkeypatch, step):
    """Another commit comes before the merge reads the table, or after it."""
    orders = lake.catalog.table("shop.orders")
    called = getattr(merge_module, step)

    def then_commit(*arguments):
        found = called(*arguments)
        orders.write([{"id": 1, "day": "mon", "price": 100.0, "note": "other"}])
        return found

    monkeypatch.setattr(merge_module, step, then_commit)
    merge = (
        "MERGE INTO orders t USING (SELECT id, day, price + 1 AS p FROM orders) s "
        "ON t.id = s.id AND t.day = s.day WHEN MATCHED THEN UPDATE SET price = s.p"
    )
    with pytest.raises(CommitConflict, match="run the statement again"):
        lake.sql(merge)
    assert (1, "mon", 100.0, "other") in content(lake)
    assert orders.latest_snapshot().id == 2
    monkeypatch.undo()
    assert lake.sql(merge).first()[0] == 3
    assert [row[2] for row in content(lake)] == [101.0, 3.5, 4.5]


def test_texts_that_settings_change_are_left_to_spark(spark, lake):
    lake.sql("UPDATE orders SET note = 'day' WHERE id = 1")
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        lake.sql(r"INSERT INTO orders VALUES (4, 'wed', 4, '\\')")
        assert rows(lake, r"SELECT id FROM orders WHERE note = '\\'") == [(4,)]
        lake.sql(r"DELETE FROM orders WHERE note = '\\'")
        assert [row[0] for row in content(lake)] == [1, 2, 3]
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")


def test_a_star_of_a_merge_takes_the_columns_of_the_same_names(lake):
    lake.sql("CREATE TABLE t AS SELECT 1 AS id, 1 AS v")
    lake.sql(
        "MERGE INTO t USING (VALUES (1, 100, 11), (9, 900, 99)) AS s(K, ID, v) ON t.id = s.k "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert content(lake, "t") == [(100, 11), (900, 99)]
    lake.sql("MERGE INTO t USING (VALUES (100, 5)) s(k, id) ON t.id = s.k WHEN MATCHED THEN UPDATE SET v = s.id")
    assert content(lake, "t") == [(100, 5), (900, 99)]


def test_null_as_a_condition_selects_nothing(lake):
    lake.sql("DELETE FROM orders WHERE NULL")
    lake.sql("UPDATE orders SET price = 0 WHERE coalesce(NULL, NULL)")
    assert [row[2] for row in content(lake)] == [1.5, 2.5, 3.5]


def test_tags(lake):
    lake.sql("INSERT INTO orders VALUES (4, 'mon', 1, 'd')")
    assert rows(lake, "ALTER TABLE orders CREATE TAG `a-1`") == [("tag a-1 of snapshot 2",)]
    assert rows(lake, "ALTER TABLE orders CREATE TAG IF NOT EXISTS `a-1` AS OF VERSION 1") == [("tag a-1 exists",)]
    assert rows(lake, "ALTER TABLE orders CREATE OR REPLACE TAG `a-1` AS OF VERSION 1 RETAIN 7 DAYS") == [
        ("tag a-1 of snapshot 1",)
    ]
    lake.sql("ALTER TABLE orders CREATE OR REPLACE TAG b")
    lake.sql("ALTER TABLE orders REPLACE TAG b AS OF VERSION 1")
    lake.sql("ALTER TABLE orders RENAME TAG b TO c")
    assert rows(lake, "SHOW TAGS orders") == [("a-1",), ("c",)]
    tags = {tag.name: (tag.snapshot.id, tag.retained_millis) for tag in lake.catalog.table("shop.orders").tags.list()}
    assert tags == {"a-1": (1, 7 * 86_400_000), "c": (1, None)}
    with pytest.raises(NotFound, match="no tag 'b'"):
        lake.sql("ALTER TABLE orders DELETE TAG `c,b`")
    assert rows(lake, "ALTER TABLE orders DELETE TAG IF EXISTS `b,c`") == [("deleted tag c",)]
    assert rows(lake, "SHOW TAGS orders") == [("a-1",)]


def test_hidden_columns_are_read_when_they_are_named(lake):
    lake.sql("CREATE TABLE tracked TBLPROPERTIES ('row-tracking.enabled' = 'true') AS SELECT id FROM orders")
    assert rows(lake, "SELECT _row_id FROM tracked WHERE _ROW_ID < 2") == [(0,), (1,)]
    assert rows(lake, "SELECT id, __paimon_bucket, __paimon_partition.day FROM orders WHERE id > 2") == [(3, 0, "tue")]
    assert rows(lake, "SELECT DISTINCT o.__paimon_bucket FROM orders o JOIN tracked t ON o.id = t.id") == [(0,)]
    for text, column in (("SELECT *, __paimon_bucket FROM orders", 11), ("SELECT id, _ROW_ID FROM orders", 12)):
        with pytest.raises(SqlError, match="is hidden: name it and the other columns") as error:
            lake.sql(text)
        assert error.value.facts["column"] == column


def test_partitions_are_shown_as_spark_shows_them(lake):
    lake.sql("CREATE TABLE parts (id INT, d DATE, p STRING) PARTITIONED BY (d, p)")
    lake.sql("INSERT INTO parts VALUES (1, DATE'2024-01-02', 'a=b/c'), (2, NULL, NULL), (3, DATE'2024-01-02', '')")
    shown = [("d=2024-01-02/p=",), ("d=2024-01-02/p=a%3Db%2Fc",), ("d=null/p=null",)]
    assert [tuple(row) for row in lake.sql("SHOW PARTITIONS parts").collect()] == shown
    assert rows(lake, "SHOW PARTITIONS parts PARTITION (d = '2024-01-02', p = '')") == shown[:1]
    lake.sql("ALTER TABLE parts DROP PARTITION (d = '2024-01-02', p = 'a=b/c'), PARTITION (d = NULL)")
    assert rows(lake, "SELECT id FROM parts") == [(3,)]


def test_fields_are_altered_in_any_case_of_letters(lake):
    lake.sql("CREATE TABLE nested (v STRUCT<Ab: INT>, a ARRAY<STRUCT<Ab: INT>>)")
    lake.sql("ALTER TABLE nested ALTER COLUMN V.aB TYPE BIGINT")
    lake.sql("ALTER TABLE nested RENAME COLUMN a.ELEMENT.AB TO c")
    assert [str(f.type) for f in lake.catalog.table("shop.nested").schema.fields] == [
        "ROW<Ab BIGINT>",
        "ARRAY<ROW<c INT>>",
    ]


def test_statements_that_do_nothing_say_so(lake):
    for text, result in (
        ("DROP TABLE IF EXISTS nope", "table shop.nope does not exist"),
        ("DROP DATABASE IF EXISTS nope", "database nope does not exist"),
        ("CREATE DATABASE IF NOT EXISTS shop", "database shop exists"),
        ("CREATE TABLE IF NOT EXISTS orders LIKE orders", "table shop.orders exists"),
    ):
        assert rows(lake, text) == [(result,)]


def test_versions_and_changes(lake):
    lake.sql("INSERT INTO orders VALUES (4, 'wed', 4, 'd')")
    at = lake.catalog.table("shop.orders").latest_snapshot().time_millis
    now = datetime.datetime.fromtimestamp(at / 1000 + 1, datetime.UTC).isoformat()
    lake.sql("CALL sys.create_tag(table => 'orders', tag => 'first', snapshot => 1)")
    for version, count in (("VERSION AS OF 1", 3), ("VERSION AS OF 'first'", 3), (f"TIMESTAMP AS OF '{now}'", 4)):
        assert rows(lake, f"SELECT count(*) FROM orders {version}") == [(count,)]
    assert rows(lake, "SELECT o.id FROM paimon_incremental_query('orders', 1, 2) o") == [(4,)]
    changes = "paimon_incremental_query('shop.`orders$audit_log`', 1, 2)"
    assert rows(lake, f"SELECT rowkind, id FROM {changes}") == [("+I", 4)]
    assert rows(lake, "SELECT snapshot_id FROM `orders$snapshots`") == [(1,), (2,)]
    assert rows(lake, "SELECT table_name FROM sys.tables WHERE database_name = 'shop'") == [("orders",)]
    assert lake.table("orders$tags").count() == 1
    assert lake.table("orders").count() == 4
    assert "Physical Plan" in lake.sql("EXPLAIN SELECT id FROM orders").first()[0]


@pytest.mark.parametrize("zone", ["America/New_York", "+05:30", "JST"])
def test_a_time_that_snapshots_shows_finds_its_snapshot_in_any_zone(spark, lake, zone):
    lake.sql("INSERT INTO orders VALUES (4, 'wed', 4, 'd')")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        shown = lake.sql("SELECT snapshot_id, CAST(commit_time AS STRING) FROM `orders$snapshots`").collect()
        for snapshot, time in shown:
            assert rows(lake, f"SELECT count(*) FROM orders TIMESTAMP AS OF '{time}'") == [(2 + snapshot,)]
        same = "SELECT count(*) FROM `orders$snapshots` WHERE CAST(commit_time AS TIMESTAMP) = commit_time_utc"
        assert rows(lake, same) == [(2,)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_statistics(lake):
    lake.sql("ANALYZE TABLE orders COMPUTE STATISTICS")
    lake.sql("ANALYZE TABLE orders COMPUTE STATISTICS FOR COLUMNS PRICE")
    assert set(lake.catalog.table("shop.orders").statistics().columns) == {"price"}


def test_procedures(lake):
    lake.sql("INSERT INTO orders VALUES (4, 'wed', 4, 'd')")
    for text, result in (
        ("compact(table => 'orders', partition_idle_time => '1 d')", "nothing"),
        ("compact('orders', partitions => 'day=mon;day=wed', partition_idle_time => '0 s')", "snapshot 3 (COMPACT)"),
        ("create_tag('orders', 'one', 1, '1 d')", "tag one of snapshot 1"),
        ("rename_tag('orders', 'one', 'two')", "tag two of snapshot 1"),
        ("replace_tag(table => 'orders', tag => 'two', snapshot => 2)", "tag two of snapshot 2"),
        ("create_branch('orders', 'dev', 'two')", "branch dev"),
        ("rename_branch('orders', 'dev', 'test')", "branch test"),
        ("delete_branch('orders', 'test')", "deleted branch test"),
        ("mark_partition_done('orders', 'day=mon')", "_SUCCESS"),
        ("compact_manifest('orders')", "snapshot 4 (COMPACT)"),
        ("expire_snapshots(table => 'orders', retain_max => 1, retain_min => 1)", "expire-snapshots shop.orders"),
        ("rollback(table => 'orders', tag => 'two')", "snapshot 2 (APPEND)"),
        ("delete_tag('orders', 'two')", "deleted tag two"),
        ("remove_orphan_files(table => 'orders', older_than => '2020-01-01 00:00:00', dry_run => true)", "nothing"),
        ("remove_unexisting_files(table => 'orders', dry_run => true)", "nothing"),
        ("compact_database(including_tables => 'shop.o.*')", "shop.orders: snapshot"),
        ("compact_database(excluding_tables => 'shop.o.*')", "shop.orders: skipped: excluding_tables matches it"),
        ("compact_database(compact_strategy => 'minor', partition_idle_time => '1 d')", "shop.orders: nothing to do"),
        ("compact_database('nowhere')", "no database matches"),
    ):  # fmt: skip
        assert result in str(lake.sql(f"CALL sys.{text}").collect()[0][0]), text
    assert len(content(lake)) == 4


WRONG = [
    ("ALTER TABLE orders CREATE TAG x RETAIN 99999999999999999 DAYS", 40, "RETAIN takes at most 999999999 DAYS"),
    ("ALTER TABLE orders DELETE TAG `x,x`", 31, "names a tag twice"),
    ("CALL sys.create_tag('orders', 'x',)", 35, "an argument after the comma here, not ')'"),
    ("WITH c AS (SELECT 1) INSERT INTO orders SELECT * FROM c", 1, "the query has 1 columns, and 4 are needed"),
    ("EXPLAIN WITH c AS (SELECT 1) DELETE FROM orders", 9, "WITH before DELETE is not supported, at"),
    ("SELECT :x FROM orders", 8, "the parameter :x has no value"),
    ("SELECT * FROM cross", 15, "got 'cross', a word of the parser: as a name, write it in backquotes"),
    ("SELECT * FROM orders TIMESTAMP AS OF 1795883617000", 15, "after the year 9999 (milliseconds?)"),
    ("SELECT * FROM orders WHERE", 22, "WHERE is incomplete"),
    ("SELECT idd FROM orders", 8, "did you mean id?"),
    ("SELECT id FROM orders WHERE id + 'x' > price AND foo(id)", 50, "Cannot resolve routine `foo`"),
    ("SELECT id FROM nowhere.orders", 16, "no database 'nowhere'"),
    ("SELECT id FROM orders VERSION AS OF 99", 16, "no snapshot 99"),
    ("SELECT id FROM orders VERSION AS OF 'x'", 16, "not a tag, a snapshot id"),
    ("SELECT id FROM orders TIMESTAMP AS OF 'x'", 16, "ISO format"),
    ("SELECT * FROM `orders$file`", 15, "files"),
    ("SELECT * FROM paimon_incremental_query('orders', 1)", 15, "needs 3 arguments"),
    ("SELECT * FROM paimon_incremental_query('orders', 2, 1)", 15, "comes after end"),
    ("INSERT INTO orders SELECT 1, 'x'", 20, "the query has 2 columns, and 4 are needed"),
    ("INSERT INTO orders VALUES ('x', 'mon', 1, 'a')", 20, "write CAST(... AS BIGINT)"),
    ("INSERT INTO orders (id, nope) VALUES (1, 2)", 19, "no column 'nope'"),
    ("INSERT INTO orders BY NAME SELECT 1 AS id, 'x' AS dai", 28, "did you mean day?"),
    ("INSERT OVERWRITE orders PARTITION (price = 1) SELECT 1, 'a', 'b'", 18, "not a partition column"),
    ("INSERT INTO `orders$files` SELECT 1", 13, "it can be read by queries only"),
    ("CREATE TABLE orders (a INT)", 14, "exists"),
    ("CREATE TABLE t (a INT) TBLPROPERTIES ('primary-key' = 'b')", 14, "'b'"),
    ("CREATE TABLE t (a INT) TBLPROPERTIES ('bukket' = '1')", 14, "bucket"),
    ("CREATE TABLE nowhere.t (a INT)", 14, "the databases are shop"),
    ("REPLACE TABLE t (a INT)", 15, "no table or view t"),
    ("CREATE TABLE t LIKE ordersx", 21, "did you mean orders?"),
    ("ALTER TABLE orders DROP COLUMN id", 19, "id"),
    ("ALTER TABLE orders ALTER COLUMN price TYPE INT", 19, "price"),
    ("ALTER TABLE orders SET TBLPROPERTIES ('bukket' = '1')", 19, "bucket"),
    ("ALTER TABLE orders DROP PARTITION (day = 'none')", 19, "IF EXISTS allows it"),
    ("ALTER TABLE orders RENAME TO orders", 30, "orders"),
    ("UPDATE orders SET id = 1", 8, "primary key"),
    ("UPDATE orders SET nope = 1", 19, "no column 'nope'"),
    ("UPDATE orders SET price = nope", 27, "there is no column nope"),
    ("UPDATE orders SET price = 'x'", 27, "cannot be assigned to column 'price'"),
    ("UPDATE orders SET price = sum(price)", 27, "in the source of a MERGE INTO"),
    ("UPDATE orders SET price = (SELECT 'x')", 27, "cannot be assigned to column 'price'"),
    ("DELETE FROM orders WHERE note", 26, "a condition is a boolean"),
    ("DELETE FROM orders WHERE other.id = 1", 26, "there is no column other"),
    ("MERGE INTO orders t USING orders s ON t.id > s.id WHEN MATCHED THEN DELETE", 39, "ON compares columns"),
    ("MERGE INTO orders t USING orders s ON id = s.id WHEN MATCHED THEN DELETE", 39, "write the alias"),
    ("MERGE INTO orders t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *", 61,
     "no column 'day'"),
    ("MERGE INTO orders t USING (SELECT 1 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)", 103,
     "has no columns of the target"),
    ("MERGE INTO orders t USING (SELECT 1 AS id, 2 AS ID) s ON t.id = s.id WHEN MATCHED THEN DELETE", 27,
     "the source has two columns id and ID"),
    ("MERGE INTO orders t USING (SELECT 1 AS k) s ON t.id = s.k WHEN NOT MATCHED THEN INSERT *", 59, "no column 'id'"),
    ("INSERT INTO orders VALUES (NULL, 'mon', 1, 'a')", 13, "column 'id' is NOT NULL"),
    ("INSERT INTO orders SELECT 99999999999999999999, 'mon', 1, 'a'", 13, "does not fit column id of type bigint"),
    ("CREATE TABLE t AS SELECT 1 AS id, 2 AS ID", 19, "the query has two columns id and ID"),
    ("ALTER TABLE orders ADD COLUMN Price INT", 19, "two columns price and Price"),
    ("ALTER TABLE orders RENAME COLUMN note TO PRICE", 19, "two columns price and PRICE"),
    ("SHOW PARTITIONS nope", 17, "no table"),
    ("DESCRIBE orders nope", 16, "no column 'nope'"),
    ("USE nope", 5, "the databases are shop"),
    ("CALL sys.compakt('orders')", 6, "did you mean compact?"),
    ("CALL sys.compact()", 6, "needs the argument table"),
    ("CALL sys.compact(table => 'orders', order_strategy => 'zorder')", 6, "order_by is needed"),
    ("CALL sys.compact(table => 'orders', partition_idle_time => '1')", 6,
     "argument partition_idle_time is a duration with a unit such as '7 d', not '1'"),
    ("CALL sys.compact(table => 'orders', partition_idle_time => '-1 d')", 6, "partition_idle_time is a duration"),
    ("CALL sys.compact('orders', order_strategy => 'order', order_by => 'id', partition_idle_time => '1 d')", 6,
     "argument partition_idle_time cannot be given with order_strategy"),
    ("CALL sys.rollback(table => 'orders', snapshot => 'x')", 6, "snapshot of sys.rollback is a whole number"),
    ("CALL sys.remove_orphan_files(table => 'orders', parallelism => 2)", 6, "Spark divides the work"),
    ("CALL sys.expire_snapshots(table => 'orders', older_than => '2020-01-01', olderthan => '2020-01-02')", 6,
     "older_than of sys.expire_snapshots is given twice"),
    ("DESCRIBE `orders$files`", 10, "is a system table: it can be read by queries only"),
    ("CALL sys.expire_snapshots(table => 'orders', older_than => 'x')", 6, "ISO format"),
    ("CALL sys.expire_snapshots(table => 'orders', retain_max => -1)", 6, "argument retain_max is a number of 1 or"),
    ("CALL sys.delete_tag('orders', 'none')", 6, "none"),
    ("CALL sys.compact_database(including_tables => '(')", 6, "including_tables is no regular expression"),
    ("CALL sys.compact_database(partition_idle_time => 'x')", 6, "partition_idle_time is a duration"),
    ("CALL sys.compact_database(compact_strategy => 'x')", 6, "compact_strategy is one of full, minor"),
    ("CALL sys.compact_database(options => 'bucket=3')", 6, "1 of 1 tables failed (0 were compacted): shop.orders"),
]  # fmt: skip


def test_wrong_texts_name_the_position_and_change_nothing(lake):
    wrong, before = [], lake.catalog.table("shop.orders").latest_snapshot()
    schema = lake.catalog.table("shop.orders").schema
    for text, column, mend in WRONG:
        try:
            lake.sql(text)
        except PaimonError as error:
            if mend not in str(error) or (error.facts.get("line"), error.facts.get("column")) != (1, column):
                wrong.append((text, column, str(error)))
        else:
            wrong.append((text, column, "not refused"))
    assert wrong == []
    assert lake.catalog.list_tables("shop") == ["orders"]
    table = lake.catalog.table("shop.orders")
    assert (table.latest_snapshot(), table.schema) == (before, schema)
