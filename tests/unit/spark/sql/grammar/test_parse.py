"""The text of a statement: what is read, and what is refused with the position and what to use instead."""

import datetime

import pytest

from paimon_core.alter.changes import AddColumn, DropColumn, RemoveOption, SetOption, UpdateComment, UpdatePosition
from paimon_core.errors import SqlError
from paimon_core.spark.sql.grammar.parse import parse
from paimon_core.spark.sql.grammar.statements import Call, ChangeTag, RemovePartitions, RenameTable, Select


def test_a_query_is_kept_as_text():
    text = "-- the newest\n  SELECT a FROM t;"
    query = parse(text).query
    assert query.written == "SELECT a FROM t"
    assert parse("EXPLAIN FORMATTED VALUES (1)") == Select(
        parse("EXPLAIN FORMATTED VALUES (1)").query, "EXPLAIN FORMATTED"
    )


def test_insert_with_partition_and_columns():
    found = parse("INSERT OVERWRITE TABLE db.t PARTITION (p = 'x', q) (a, `b c`) SELECT 1, 2, 3")
    assert (found.table.parts, found.partition, found.dynamic) == (("db", "t"), {"p": "x"}, ("q",))
    assert (found.columns, found.overwrite, found.query.written) == (("a", "b c"), True, "SELECT 1, 2, 3")
    assert parse("INSERT INTO t (SELECT 1)").columns is None
    assert parse("insert into t by name select 1 a").by_name


def test_columns_have_the_types_of_spark():
    found = parse(
        "CREATE TABLE t (a LONG NOT NULL COMMENT 'it''s', b TIMESTAMP, c TIMESTAMP_NTZ, d BINARY, "
        "e ARRAY<ARRAY<BYTE>>, f STRUCT<long INT, `b c`: TIMESTAMP COMMENT 'x'>, "
        "g DECIMAL(10, 2) DEFAULT 1, h BINARY(3))"
    )
    assert found.columns == (
        "`a` BIGINT NOT NULL COMMENT 'it''s', `b` TIMESTAMP_LTZ, `c` TIMESTAMP, `d` BYTES, "
        "`e` ARRAY < ARRAY < TINYINT > >, "
        "`f` STRUCT < `long` INT , `b c` : TIMESTAMP_LTZ COMMENT 'x' >, "
        "`g` DECIMAL ( 10 , 2 ) DEFAULT '1', "
        "`h` BINARY ( 3 )"
    )


def test_create_table_clauses_in_any_order():
    found = parse(
        "CREATE TABLE IF NOT EXISTS t (a INT) COMMENT 'c' PARTITIONED BY (p STRING, a) USING paimon "
        "TBLPROPERTIES ('primary-key' = 'a,p', write.only = true, bucket = 2)"
    )
    assert (found.columns, found.partition_by, found.comment) == ("`a` INT, `p` STRING", ("p", "a"), "c")
    assert found.properties == {"primary-key": "a,p", "write.only": "true", "bucket": "2"}
    assert found.if_not_exists
    assert not found.replace
    replaced = parse("REPLACE TABLE t AS (SELECT 1)")
    assert (replaced.replace, replaced.must_exist, replaced.query.written) == (True, True, "(SELECT 1)")


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("ADD COLUMNS (a INT FIRST, s.b STRING COMMENT 'x' AFTER c)", [
            AddColumn(["a"], "INT", first=True), AddColumn(["s", "b"], "STRING", "x", after="c")
        ]),
        ("DROP COLUMN a, b", [DropColumn(["a"]), DropColumn(["b"])]),
        ("ALTER COLUMN a AFTER b", [UpdatePosition("a", after="b")]),
        ("SET TBLPROPERTIES ('a' = 'b', 'comment' = 'c')", [SetOption("a", "b"), UpdateComment("c")]),
        ("UNSET TBLPROPERTIES ('a')", [RemoveOption("a")]),
    ],
)  # fmt: skip
def test_alter_table(text, changes):
    assert list(parse(f"ALTER TABLE t {text}").changes) == changes


def test_alter_table_that_changes_no_column():
    assert isinstance(parse("ALTER TABLE t RENAME TO u"), RenameTable)
    found = parse("ALTER TABLE t DROP IF EXISTS PARTITION (p = 1), PARTITION (p = null)")
    assert isinstance(found, RemovePartitions)
    assert (found.specs, found.must_exist) == (({"p": 1}, {"p": None}), False)


def test_expressions_end_at_the_words_of_the_statement():
    found = parse("UPDATE t x SET a = CASE WHEN b THEN 1 ELSE 2 END, x.c = f(1, (2)) WHERE d = ']'")
    assert [(one.path, one.value.written) for one in found.values] == [
        (("a",), "CASE WHEN b THEN 1 ELSE 2 END"),
        (("x", "c"), "f(1, (2))"),
    ]
    assert (found.alias, found.where.written) == ("x", "d = ']'")


def test_merge_clauses():
    found = parse(
        "MERGE INTO db.t AS t USING s VERSION AS OF 3 AS s ON t.a = s.a WHEN MATCHED AND s.x = 'D' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED BY TARGET THEN INSERT (a, b) VALUES (s.a, 1) "
        "WHEN NOT MATCHED BY SOURCE AND t.b > 1 THEN UPDATE SET b = 2"
    )
    assert (found.source.written, found.source_alias, found.on.written) == ("s VERSION AS OF 3", "s", "t.a = s.a")
    assert [(c.kind, c.action, c.condition and c.condition.written) for c in found.clauses] == [
        ("matched", "delete", "s.x = 'D'"),
        ("matched", "update", None),
        ("not matched", "insert", None),
        ("not matched by source", "update", "t.b > 1"),
    ]
    assert found.clauses[1].values is None
    assert [(one.path, one.value.written) for one in found.clauses[2].values] == [(("a",), "s.a"), (("b",), "1")]


def test_update_with_distinct_from_and_a_column_named_default():
    found = parse("UPDATE t SET a = b IS NOT DISTINCT FROM c, b = `default` WHERE `limit` = 1").values
    assert [one.value.written for one in found] == ["b IS NOT DISTINCT FROM c", "`default`"]


def test_default_as_a_value_is_a_null_at_the_same_position():
    text = "INSERT INTO t VALUES (1, 'default'), (DEFAULT, default)"
    assert parse(text).query.written == "VALUES (1, 'default'), (NULL   , NULL   )"
    (first, second) = parse("UPDATE t SET a = DEFAULT, b.c = `default` WHERE d").values
    assert (first.value.written, second.path, second.value.written) == ("NULL   ", ("b", "c"), "`default`")
    merged = parse("MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, DEFAULT)")
    assert merged.clauses[0].values[1].value.written == "NULL   "


def test_merge_source_with_names_of_columns():
    found = parse("MERGE INTO t USING (VALUES (1, 5)) AS s(id, `v w`) ON t.a = s.id WHEN MATCHED THEN DELETE")
    assert (found.source.written, found.source_alias) == ("(VALUES (1, 5)) AS s(id, `v w`)", "s")


def test_call_with_names_and_without():
    found = parse("CALL sys.compact('db.t', `where` => \"a > 1\", order_by => 'a,b')")
    assert found == Call("compact", {"0": "db.t", "where": "a > 1", "order_by": "a,b"}, 5)


def test_tags():
    found = parse("ALTER TABLE db.t CREATE OR REPLACE TAG `a-1` AS OF VERSION 3 RETAIN 12 HOURS")
    assert found == ChangeTag(found.table, "create or replace", ("a-1",), 3, datetime.timedelta(hours=12))
    found = parse("ALTER TABLE t DELETE TAG IF EXISTS `a, b`;")
    assert found == ChangeTag(found.table, "delete", ("a", "b"), optional=True)
    found = parse("ALTER TABLE t RENAME TAG a TO b")
    assert found == ChangeTag(found.table, "rename", ("a", "b"))
    assert parse("SHOW TAGS t").what == "tags"


REFUSED = [
    ("ALTER TABLE t CREATE TAG x AS OF VERSION 'a'", 42, "the id of a snapshot is a whole number"),
    ("ALTER TABLE t CREATE TAG x RETAIN 7 WEEKS", 37, "DAYS, HOURS or MINUTES"),
    ("ALTER TABLE t CREATE TAG x RETAIN 0 DAYS", 35, "a whole number of 1 or more"),
    ("ALTER TABLE t REPLACE TAG IF EXISTS x", 30, "needs its end here, not 'EXISTS'"),
    ("", 1, "a statement cannot start with 'the end'"),
    ("SELET 1", 1, "did you mean SELECT?"),
    ("SELECT 'a", 10, "that does not end"),
    ("SELECT 1; SELECT 2", 9, "pass one at a time"),
    ("SET a = 1", 1, "use spark.conf.set"),
    ("VACUUM t", 1, "use CALL sys.expire_snapshots"),
    ("CACHE TABLE t", 1, "call cache() of a DataFrame"),
    ("SELECT * FROM identifier(:t)", 15, "write the name; parameters are values only"),
    ("CREATE VIEW v AS SELECT 1", 8, "the catalog has no views: use CREATE TEMPORARY VIEW"),
    ("CREATE OR REPLACE GLOBAL TEMP VIEW v AS SELECT 1", 19, "use createGlobalTempView of a DataFrame"),
    ("CREATE TEMP VIEW IF NOT EXISTS v AS SELECT 1", 18, "use CREATE OR REPLACE TEMPORARY VIEW"),
    ("CREATE TEMP VIEW db.v AS SELECT 1", 18, "has no database: write v"),
    ("CREATE TEMP VIEW v COMMENT 'x' AS SELECT 1", 20, "COMMENT of a temporary view is not supported"),
    ("CREATE TEMP VIEW v USING parquet", 20, "use spark.sql for views of files"),
    ("CREATE TEMP VIEW v (a, A) AS SELECT 1, 2", 20, "two columns a and A"),
    ("CREATE TEMP VIEW v AS INSERT INTO t SELECT 1", 23, "SELECT, VALUES, WITH"),
    ("CREATE TEMPORARY TABLE t (a INT)", 18, "CREATE TEMPORARY TABLE is not supported"),
    ("CREATE TABLE t", 15, "needs a list of columns in parentheses, or AS"),
    ("CREATE TABLE t (id INT, ID INT)", 14, "the table has two columns id and ID"),
    ("CREATE TABLE t (id INT) PARTITIONED BY (Id STRING)", 14, "the table has two columns id and Id"),
    ("CREATE TABLE t (a FOO)", 19, "'FOO' is not the type of a column"),
    ("CREATE TABLE t (a INT PRIMARY KEY)", 23, "'primary-key' = 'id'"),
    ("CREATE TABLE t (a INT) USING parquet", 30, "USING parquet is not supported"),
    ("CREATE TABLE t (a INT) LOCATION '/x'", 24, "LOCATION is not supported"),
    ("CREATE TABLE t (a INT) PARTITIONED BY (days(a))", 40, "partition by columns"),
    ("CREATE TABLE t (a INT) TBLPROPERTIES ('a' = '1', 'a' = '2')", 50, "names 'a' twice"),
    ("CREATE TABLE t (a INT) AS SELECT 1", 27, "leave out the list of columns"),
    ("CREATE OR REPLACE TABLE IF NOT EXISTS t (a INT)", 25, "exclude each other"),
    ("CREATE DATABASE d LOCATION '/x'", 19, "takes no LOCATION"),
    ("DROP VIEW db.v", 11, "a temporary view has no database"),
    ("ALTER VIEW v AS SELECT 1", 7, "use CREATE OR REPLACE TEMPORARY VIEW"),
    ("DROP TABLE t CASCADE", 14, "needs its end here, not 'CASCADE'"),
    ("ALTER TABLE t ADD PARTITION (p = 1)", 15, "insert them"),
    ("ALTER TABLE t ADD COLUMN a INT NOT NULL", 32, "leave out NOT NULL"),
    ("ALTER TABLE t ALTER COLUMN s.a FIRST", 32, "only columns can be moved"),
    ("ALTER TABLE t SET LOCATION '/x'", 15, "the folder that its catalog chooses"),
    ("ALTER TABLE t DROP PARTITION (p)", 30, "needs a value here"),
    ("ALTER DATABASE d SET DBPROPERTIES ('a' = 'b')", 7, "only tables can be altered"),
    ("INSERT t VALUES (1)", 8, "INTO or OVERWRITE"),
    ("INSERT INTO t", 14, "SELECT, VALUES, WITH"),
    ("INSERT INTO t (a, a) SELECT 1, 2", 15, "names a column twice"),
    ("INSERT INTO t REPLACE WHERE a = 1 SELECT 1", 15, "use INSERT OVERWRITE"),
    ("INSERT INTO t PARTITION (p = 1) IF NOT EXISTS SELECT 1", 33, "IF NOT EXISTS is not supported"),
    ("INSERT OVERWRITE DIRECTORY '/x' SELECT 1", 18, "write the DataFrame"),
    ("UPDATE t SET a = WHERE b = 1", 18, "needs a value here"),
    ("DELETE t WHERE a = 1", 8, "needs FROM here"),
    ("DELETE FROM t USING s WHERE a = 1", 15, "use MERGE INTO"),
    ("MERGE INTO t USING s ON t.a = s.a", 34, "WHEN MATCHED"),
    ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN INSERT *", 53, "UPDATE or DELETE"),
    ("MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)", 78, "2 columns and 1 values"),
    ("MERGE INTO t USING s ON a = b WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *", 74, "name the columns to set"),
    ("MERGE WITH SCHEMA EVOLUTION INTO t USING s ON a = b WHEN MATCHED THEN DELETE", 7, "ALTER TABLE first"),
    ("UPDATE t SET a = 1 FROM u WHERE t.b = u.b", 20, "use MERGE INTO"),
    ("UPDATE t SET a = 1 WHERE b = 2 LIMIT 1", 32, "LIMIT is not supported in UPDATE"),
    ("DELETE FROM t LIMIT 1", 15, "LIMIT is not supported in DELETE"),
    ("INSERT INTO t VALUES (1, coalesce(2, DEFAULT))", 38, "cannot be a part of one"),
    ("SELECT * FROM db.t$files f", 18, "such as `t$files` or db.`t$files`"),
    ("DESCRIBE t$files", 10, "in backquotes"),
    ("TRUNCATE t", 10, "needs TABLE here"),
    ("ANALYZE TABLE t COMPUTE STATISTICS NOSCAN", 36, "leave it out"),
    ("ANALYZE TABLE t PARTITION (p = 1) COMPUTE STATISTICS", 17, "of the whole table"),
    ("ALTER TABLE t DROP PARTITION (p = 1) PURGE", 38, "CALL sys.expire_snapshots"),
    ("DESCRIBE DATABASE EXTENDED d", 19, "leave out EXTENDED"),
    ("DESCRIBE EXTENDED t c", 21, "leave out EXTENDED"),
    ("DESCRIBE FUNCTION f", 10, "use spark.sql"),
    ("SHOW FUNCTIONS", 6, "DATABASES, TABLES, VIEWS, PARTITIONS"),
    ("SHOW TABLES LIKE x", 18, "a pattern in single quotes"),
    ("EXPLAIN DROP TABLE t", 9, "only queries are explained"),
    ("USE", 4, "the name of a database"),
    ("CALL other.compact('t')", 6, "write CALL sys.name(...)"),
    (f"CALL sys.rollback('t', {'9' * 30})", 24, "a whole number of at most 19 digits"),
    ("CALL sys.compact(table => 't', 'x')", 32, "name all"),
    ("CALL sys.compact(table => 't', table => 'u')", 32, "given twice"),
    ("CALL sys.compact(table => 1 + 1)", 29, "needs ) here"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "column", "mend"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_refused_with_the_position_and_what_to_do(text, column, mend):
    with pytest.raises(SqlError) as error:
        parse(text)
    assert mend in str(error.value)
    assert (error.value.facts["line"], error.value.facts["column"]) == (1, column), str(error.value)
