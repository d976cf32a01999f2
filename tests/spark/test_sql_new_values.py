"""Values of columns and fields: by position or by name, DEFAULT, fields of structs, and values without a type."""

import datetime
import re

import pytest

import paimon_core as paimon
from paimon_core.errors import SchemaMismatch, SqlError
from paimon_core.spark import session

COLUMNS = (
    "id INT NOT NULL, st STRUCT<a: INT, b: STRUCT<x: INT, y: STRING>>, arr ARRAY<STRUCT<a: INT, b: INT>>, "
    "m MAP<STRING, STRUCT<a: INT, b: INT>>, d DATE DEFAULT '2024-01-01', n INT DEFAULT 5"
)
OPTIONS = {"keyed": "'primary-key' = 'id', 'bucket' = '1'", "plain": "'bucket' = '-1'"}


@pytest.fixture(scope="module")
def shared(spark, tmp_path_factory):
    catalog = paimon.open_catalog(str(tmp_path_factory.mktemp("values")))
    catalog.create_database("shop")
    return session(spark, catalog, "shop")


@pytest.fixture
def lake(shared, request):
    """An empty table: with a primary key, or as the parameter says."""
    shared.catalog.drop_table("shop.t", ignore_if_missing=True)
    shared.sql(f"CREATE TABLE t ({COLUMNS}) TBLPROPERTIES ({OPTIONS[getattr(request, 'param', 'keyed')]})")
    return shared


def rows(lake, columns):
    return [tuple(row) for row in lake.sql(f"SELECT {columns} FROM t ORDER BY id").collect()]


def test_fields_of_structs_are_assigned_by_name_where_spark_does(lake):
    swapped = "named_struct('b', named_struct('y', 'q', 'x', 7), 'a', 1)"
    pair = "named_struct('b', 2, 'a', 1)"
    lake.sql(f"INSERT INTO t BY NAME SELECT {swapped} AS st, 1 AS id, array({pair}, NULL) AS arr")
    lake.sql(f"INSERT INTO t (id, m, arr) SELECT 2, map('k', {pair}), array(struct(1, 2))")  # col1, col2: by position
    lake.sql(f"INSERT INTO t SELECT 3, NULL, array({pair}), NULL, NULL, NULL")
    lake.sql(f"UPDATE t SET st = {swapped} WHERE id = 3")
    lake.sql(f"MERGE INTO t USING (SELECT 4 AS id, {swapped} AS st) s ON t.id = s.id "
             "WHEN NOT MATCHED THEN INSERT (id, st) VALUES (s.id, s.st)")  # fmt: skip
    assert rows(lake, "id, st, arr, m['k']") == [
        (1, (1, (7, "q")), [(1, 2), None], None),
        (2, None, [(1, 2)], (1, 2)),
        (3, (1, (7, "q")), [(2, 1)], None),
        (4, (1, (7, "q")), None, None),
    ]
    for text in (
        "INSERT INTO t BY NAME SELECT 5 AS id, array(struct(1, 2)) AS arr",
        "INSERT INTO t (id, arr) SELECT 5, array(named_struct('a', 1, 'z', 2))",
        "UPDATE t SET arr = array(struct(1, 2))",
    ):
        with pytest.raises(SqlError, match=r"assigned by name, and it has no field '[ab]' and has a field"):
            lake.sql(text)


def test_default_is_the_default_of_the_column(lake):
    lake.sql(
        "INSERT INTO t VALUES (1, NULL, NULL, NULL, DEFAULT, 7), (2, DEFAULT, NULL, NULL, DATE'2020-01-01', default)"
    )
    first, second = datetime.date(2024, 1, 1), datetime.date(2020, 1, 1)
    assert rows(lake, "id, st, d, n") == [(1, None, first, 7), (2, None, second, 5)]
    lake.sql("UPDATE t SET n = DEFAULT, d = DEFAULT")
    lake.sql("MERGE INTO t USING (SELECT 3 AS id) s ON t.id = s.id "
             "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, DEFAULT)")  # fmt: skip
    assert rows(lake, "id, d, n") == [(id, first, 5) for id in (1, 2, 3)]


@pytest.mark.parametrize("lake", list(OPTIONS), indirect=True)
def test_fields_are_set(lake):
    lake.sql("INSERT INTO t (id, st) VALUES (1, named_struct('a', 1, 'b', named_struct('x', 2, 'y', 'q'))), (2, NULL)")
    lake.sql("UPDATE t x SET st.A = x.st.a + 10L, x.st.b.y = 'new', n = x.st.a WHERE id = 1")
    lake.sql("UPDATE t SET t.st.b.x = 9 WHERE st IS NULL")
    assert rows(lake, "id, st, n") == [(1, (11, (2, "new")), 1), (2, (None, (9, None)), 5)]
    lake.sql("MERGE INTO t USING (SELECT 1 AS id, 5 AS q) s ON t.id = s.id "
             "WHEN MATCHED THEN UPDATE SET t.st.a = s.q, st.b = NULL")  # fmt: skip
    assert rows(lake, "st")[0] == ((5, None),)


@pytest.mark.parametrize(
    ("changes", "column", "problem"),
    [
        ("st.a = 1, st = NULL", 24, "'st' is set twice"),
        ("n = 1, N = 2", 21, "'n' is set twice"),
        ("st.b = NULL, st.b.x = 1", 27, "'st.b.x' is set twice"),
        ("st.zz = 1", 14, "column st has no field 'zz'; the fields are a, b"),
        ("arr.a = 1", 14, "arr is array<struct<a:int,b:int>>, not a STRUCT"),
        ("zz.a = 1", 14, "no column 'zz'"),
        ("st.a = 'x'", 21, "cannot be assigned to column 'st.a' of type int"),
    ],
)
def test_wrong_fields_are_refused(shared, changes, column, problem):
    shared.sql(f"CREATE TABLE IF NOT EXISTS w ({COLUMNS})")
    with pytest.raises(SqlError, match=re.escape(problem)) as error:
        shared.sql(f"UPDATE w SET {changes}")
    assert error.value.facts["column"] == column


def test_nulls_without_a_type_in_the_source_of_a_merge(lake):
    lake.sql("INSERT INTO t (id, n) VALUES (1, 1)")
    lake.sql("MERGE INTO t USING (SELECT 1 AS id, NULL AS q, 3 AS n) s ON t.id = s.id "
             "WHEN MATCHED THEN UPDATE SET d = s.q, n = s.n")  # fmt: skip
    lake.sql("MERGE INTO t USING (SELECT 2 AS id, NULL AS st, array() AS arr, map() AS m, NULL AS d, 4 AS n) s "
             "ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")  # fmt: skip
    lake.sql("MERGE INTO t USING (SELECT NULL AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    first = datetime.date(2024, 1, 1)
    assert rows(lake, "*") == [(1, None, None, None, first, 3), (2, None, [], {}, first, 4)]


def test_assignments_convert_as_insert_does(lake):
    lake.sql("INSERT INTO t (id) VALUES (1)")
    lake.sql("UPDATE t SET d = TIMESTAMP'2022-02-02 10:00:00', arr = array(named_struct('b', 2L, 'a', 1.0))")
    assert rows(lake, "d, arr") == [(datetime.date(2022, 2, 2), [(1, 2)])]
    with pytest.raises(SchemaMismatch, match=r"99999999999L does not fit .* or a part of type int of st, arr, m"):
        lake.sql("UPDATE t SET arr = array(named_struct('b', 99999999999, 'a', 1))")


def test_values_that_cannot_be_computed_have_a_position(lake):
    lake.sql("INSERT INTO t (id) VALUES (1)")
    before = lake.catalog.table("shop.t").latest_snapshot()
    for text, column in (
        ("DELETE FROM t WHERE id = 'x'", 13),
        ("INSERT INTO t (id) SELECT raise_error('boom')", 13),
        ("UPDATE t SET d = CAST(concat('x', id) AS DATE)", 8),
    ):
        with pytest.raises(SqlError, match=r"nothing is written: .*(malformed|boom)") as error:
            lake.sql(text)
        assert error.value.facts["column"] == column
    assert lake.catalog.table("shop.t").latest_snapshot() == before
