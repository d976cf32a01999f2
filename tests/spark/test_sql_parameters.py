"""Parameters of statements: values of every type are bound as values, in queries and in changes."""

import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import functions as F

import paimon_core as paimon
from paimon_core.errors import InvalidRequest, SqlError
from paimon_core.spark import session

EVIL = "a'b\"c\\d{e}`f\n-- x /* ; DROP TABLE t"
NAMED = {
    "k": 1,
    "v": EVIL,
    "d": Decimal("1.50"),
    "x": float("nan"),
    "day": datetime.date(1500, 1, 1),
    "ts": datetime.datetime(2020, 1, 1, 1, 1, 1, 123456, datetime.UTC),
    "b": b"\x00'\xff",
    "a": ["x'", "y"],
}


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory):
    catalog = paimon.open_catalog(str(tmp_path_factory.mktemp("parameters")))
    catalog.create_database("db")
    lake = session(spark, catalog, "db")
    lake.sql(
        "CREATE TABLE t (k INT NOT NULL, v STRING, d DECIMAL(10, 2), x DOUBLE, day DATE, ts TIMESTAMP, b BINARY, "
        "a ARRAY<STRING>) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')"
    )
    lake.sql("INSERT INTO t VALUES (:k, :v, :d, :x, :day, :ts, :b, :a)", args=NAMED)
    lake.sql("INSERT INTO t (k, v, x, a) VALUES (?, ?, ?, ?)", args=[2, None, 1.5, []])
    return lake


def rows(lake, text, args=None):
    return [tuple(row) for row in lake.sql(text, args).collect()]


def test_values_come_back_as_they_were_given(lake):
    found = lake.catalog.table("db.t").scan(where="k = 1").to_arrow().to_pylist()[0]
    assert str(found.pop("x")) == "nan"
    assert found == {name: value for name, value in NAMED.items() if name != "x"}
    assert rows(lake, "SELECT k, v, d, x, ts, b, a FROM t WHERE k = ?", [2]) == [(2, None, None, 1.5, None, None, [])]


def test_conditions_find_the_rows_that_the_library_finds_too(lake, monkeypatch):
    pushed = []
    monkeypatch.setattr("paimon_core.spark.sql.queries.read_spark", _noted(pushed))
    for name in ("k", "v", "d", "day"):
        assert rows(lake, f"SELECT k FROM t WHERE {name} = :{name}", {name: NAMED[name]}) == [(1,)]
    assert rows(lake, "SELECT k FROM t WHERE x BETWEEN ? AND ?", [1.0, 2]) == [(2,)]
    assert len(pushed) == 5
    assert None not in pushed
    assert rows(lake, "SELECT k FROM t WHERE ts = :ts OR b = :b", {"ts": NAMED["ts"], "b": b""}) == [(1,)]
    assert pushed[-1] is None  # both depend on the session or have no order


def _noted(pushed):
    from paimon_core.spark.reads.reader import read_spark

    def noting(spark, view, columns, where):
        pushed.append(where)
        return read_spark(spark, view, columns, where)

    return noting


def test_changes_take_parameters_everywhere(spark, lake):
    variables = spark.sql("SHOW VIEWS").count()
    lake.sql("CREATE TABLE u (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    lake.sql("INSERT INTO u SELECT id, :v FROM range(3)", {"v": EVIL})
    lake.sql("UPDATE u SET v = concat(?, v) WHERE k = ? AND v LIKE ?", ["{'", 1, "a'%"])
    lake.sql("DELETE FROM u WHERE k IN (SELECT k FROM u WHERE k = :k)", {"k": 2})
    lake.sql(
        "MERGE INTO u USING (SELECT :k AS k, :v AS v UNION ALL SELECT 8, NULL) s ON u.k = s.k "
        "WHEN MATCHED AND :yes THEN UPDATE SET v = concat(s.v, :v) "
        "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, :n)",
        {"k": 0, "v": "'", "yes": True, "n": None},
    )
    assert rows(lake, "SELECT * FROM u ORDER BY k") == [(0, "''"), (1, f"{{'{EVIL}"), (8, None)]
    assert spark.sql("SHOW VIEWS").count() == variables
    lake.sql("DROP TABLE u")


def test_a_change_takes_parameters_and_leaves_no_variable(spark, lake):
    lake.sql("UPDATE t SET v = concat(:v, :v) WHERE k = :k AND x = :x", {"v": "'{", "k": 2, "x": 1.5})
    assert rows(lake, "SELECT v FROM t WHERE k = ?", [2]) == [("'{'{",)]
    lake.sql("UPDATE t SET v = ? WHERE k = ?", [None, 2])


def test_versions_procedures_and_partitions_take_parameters(lake):
    lake.sql("CALL sys.create_tag(table => :t, tag => :tag, snapshot => :s)", {"t": "db.t", "tag": "it's", "s": 1})
    assert rows(lake, "SELECT count(*) FROM t VERSION AS OF ?", ["it's"]) == [(1,)]
    assert rows(lake, "SELECT count(*) FROM t VERSION AS OF :s WHERE k < :k", {"s": 2, "k": 9}) == [(2,)]
    for time in (datetime.datetime.now() + datetime.timedelta(days=1), "2200-01-01", 4102444800):
        assert rows(lake, "SELECT count(*) FROM t TIMESTAMP AS OF :t", {"t": time}) == [(2,)]
    assert rows(lake, "SELECT k FROM paimon_incremental_query(?, ?, ?) WHERE k > ?", ["t", 1, 2, 0]) == [(2,)]
    assert rows(lake, "SHOW TABLES LIKE :p", {"p": "t|x*"}) == [("db", "t", False)]


def test_a_subquery_of_a_change_may_read_a_version_that_is_a_parameter(lake):
    lake.sql("UPDATE t SET v = (SELECT min(k) || ? FROM t VERSION AS OF ?) WHERE k = ?", ["!", 1, 2])
    assert rows(lake, "SELECT v FROM t WHERE k = 2") == [("1!",)]
    lake.sql("UPDATE t SET v = NULL WHERE k IN (SELECT k FROM t VERSION AS OF :v WHERE k = :k)", {"v": 2, "k": 2})
    assert rows(lake, "SELECT v FROM t WHERE k = 2") == [(None,)]


def test_parameters_of_a_partition_are_not_those_of_the_query_after_it(lake):
    lake.sql("CREATE TABLE p (k INT, d INT) PARTITIONED BY (d)")
    lake.sql(
        "WITH c AS (SELECT id FROM range(?)) INSERT INTO p PARTITION (d = ?) SELECT id FROM c WHERE id < ?", [9, 7, 2]
    )
    assert rows(lake, "SELECT * FROM p ORDER BY k") == [(0, 7), (1, 7)]
    lake.sql("DROP TABLE p")


def test_a_datetime_without_zone_is_local_time_in_every_session(spark, lake):
    before = spark.conf.get("spark.sql.session.timeZone")
    committed = lake.sql("SELECT commit_time FROM `t$snapshots` WHERE snapshot_id = 1").collect()[0][0]
    zone = datetime.timezone(datetime.timedelta(hours=9))
    moment = committed.replace(tzinfo=ZoneInfo(before)).astimezone().replace(tzinfo=None)
    spark.conf.set("spark.sql.session.timeZone", str(zone).removeprefix("UTC"))
    try:
        changes = "SELECT k FROM paimon_incremental_between_timestamp('t', 0, :t)"
        assert rows(lake, changes, {"t": moment}) == rows(lake, changes, {"t": moment.astimezone()}) == [(1,)]
        assert rows(lake, "SELECT k FROM t TIMESTAMP AS OF :t", {"t": moment}) == [(1,)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("hours", [-14, 14])
def test_a_datetime_that_no_year_of_utc_has_is_refused(lake, hours):
    zone = datetime.timezone(datetime.timedelta(hours=hours))
    moment = (datetime.datetime.min if hours > 0 else datetime.datetime.max).replace(tzinfo=zone)
    with pytest.raises(InvalidRequest, match=r"args\['t'\] = .* is outside of the years 1 to 9999"):
        lake.sql("SELECT :t", {"t": moment})


def test_a_frame_of_rows_takes_a_parameter(lake):
    counted = "SELECT count(*) OVER (ORDER BY id ROWS :n PRECEDING) FROM range(3)"
    assert rows(lake, counted, {"n": 1}) == [(1,), (2,), (2,)]


def test_spark_sees_the_rest_of_a_statement_as_it_was_written(lake):
    column = F.struct(F.lit(3).alias("f"))
    found = rows(lake, "SELECT ':k', \"?\", :m.f, -- :a ?\n array(:k, 5)[1] /* ? */, '{x}' LIMIT :n",
                 {"m": column, "k": 4, "n": 1})  # fmt: skip
    assert found == [(":k", "?", 3, 5, "{x}")]


@pytest.mark.parametrize(
    ("text", "args", "column", "problem"),
    [
        ("SELECT idd FROM t WHERE k = :k", {"k": 123456789}, 8, "there is no column idd"),
        ("SELECT * FROM t WHERE k = :k AND idd = 5", {"k": 123456789}, 34, "there is no column idd"),
        ("SELECT :a", {"a": F.rand}, 1, "the value of the parameter a is an expression"),
        ("UPDATE t SET v = :a", {"a": F.rand}, 18, "is a Column, but no literal"),
        ("UPDATE t SET x = :a", {"a": "x"}, 18, "the value is string and cannot be assigned"),
        ("CALL sys.create_tag(?, 'x')", [1.5], 21, r"the parameter \? is str or int .* not float"),
        ("SELECT * FROM t VERSION AS OF :v", {"v": 1.5}, 31, "the parameter :v is 1.5"),
        ("SELECT * FROM t TIMESTAMP AS OF :v", {"v": True}, 33, "or a datetime: the parameter :v is True"),
    ],
)
def test_wrong_values_are_refused_with_their_position(lake, text, args, column, problem):
    if isinstance(args, dict):
        args = {name: value() if callable(value) else value for name, value in args.items()}
    with pytest.raises(SqlError, match=problem) as raised:
        lake.sql(text, args)
    assert raised.value.facts["column"] == column
