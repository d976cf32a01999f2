"""Databases without Spark: URLs, types, rejects, ranges and watermarks; the same rows from SQLite and PostgreSQL."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import adbc_driver_postgresql.dbapi
import pyarrow as pa
import pytest
from pyspark import cloudpickle

from paimon_core.types import parse_type
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.database import open_database
from paimon_lake.sources.database_rows import rows_of_database
from paimon_lake.sources.database_sql import Mark, greatest, select, split_conditions
from paimon_lake.sources.files.columns import arrow_field
from tests.support.postgres import PASSWORD, running_server

HERE = Path("/nowhere")


server = pytest.fixture(running_server, scope="module")


@pytest.fixture
def postgres(server):
    """A function that runs SQL in a new schema ``s``; ``postgres.url`` is the URL."""
    url = server.uri().replace("+psycopg", "")

    def run(*statements):
        with adbc_driver_postgresql.dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    run.url = url
    run("DROP SCHEMA IF EXISTS s CASCADE", "CREATE SCHEMA s")
    return run


def sqlite(folder, *statements):
    path = folder / "source.db"
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return f"sqlite:///{path}"


def read(url, types, *, table="", query="", required=(), conditions=()):
    """The rows and rejects of a table or query, read as columns of Paimon types."""
    database = open_database(url, table=table, query=query, folder=HERE)
    schema = pa.schema([arrow_field(name, parse_type(kind)) for name, kind in types.items()])
    with database.connected() as connection:
        rows = rows_of_database(
            database.name, connection.schema(), schema, frozenset(required), is_postgresql=database.is_postgresql
        )
        parts = [rows.parsed(b) for b in connection.batches(select(rows.selected, database.relation, conditions))]
    found = [row for part in parts for row in part.rows.to_pylist()]
    return found, [row for part in parts for row in part.rejects.to_pylist()]


TYPES = {
    "i": "INT",
    "b": "BIGINT",
    "n": "DECIMAL(10, 2)",
    "d": "DOUBLE",
    "t": "STRING",
    "bo": "BOOLEAN",
    "da": "DATE",
    "ts": "TIMESTAMP(6)",
    "by": "BYTES",
}
COLUMNS = "i integer, b bigint, n numeric(10, 2), d double precision, t text, bo boolean, da date, ts timestamp"
VALUES = "-1, 9223372036854775807, 12.50, 0.1, 'ü''', true, '2024-02-29', '2024-02-29 01:02:03.123456'"
ROW = (-1, 2**63 - 1, "12.50", 0.1, "ü'", True, "2024-02-29", "2024-02-29 01:02:03.123456", b"\x00\xff")


def as_told(row):
    return tuple(value if isinstance(value, (int, float, bytes, str)) else str(value) for value in row.values())


def test_types_of_sqlite(tmp_path):
    nulls = ", ".join(["null"] * len(TYPES))
    url = sqlite(
        tmp_path, f"CREATE TABLE o ({COLUMNS}, by blob)", f"INSERT INTO o VALUES ({VALUES}, x'00ff'), ({nulls})"
    )
    rows, rejects = read(url, TYPES, table="o")
    assert [as_told(rows[0]), rejects] == [ROW, []]
    assert set(rows[1].values()) == {None}


def test_types_of_postgresql(postgres):
    nulls = ", ".join(["null"] * len(TYPES))
    postgres(f"CREATE TABLE s.o ({COLUMNS}, by bytea)", f"INSERT INTO s.o VALUES ({VALUES}, '\\x00ff'), ({nulls})")
    rows, rejects = read(postgres.url, TYPES, table="s.o")
    assert [as_told(rows[0]), rejects] == [ROW, []]
    assert set(rows[1].values()) == {None}


def test_types_that_only_postgresql_has(postgres):
    uuid = "123e4567-e89b-12d3-a456-426614174000"
    postgres(
        "CREATE TABLE s.o (j json, jb jsonb, u uuid, tz timestamptz, ti time, r real, nu numeric, a text[])",
        f"""INSERT INTO s.o SELECT '{{"a":1}}', '{{"a":1}}', '{uuid}', '2024-01-01 00:00+02', '01:02:03', 1.5, 'NaN',
            '{{"x,y",NULL}}'""",
    )
    types = dict.fromkeys(("j", "jb", "u"), "STRING")
    types |= {"tz": "TIMESTAMP(6) WITH LOCAL TIME ZONE", "ti": "TIME(3)", "r": "FLOAT", "nu": "DOUBLE"}
    types["a"] = "ARRAY<STRING>"
    ((row,), rejects) = read(postgres.url, types, table="s.o")
    assert rejects == []
    told = [str(value) for value in row.values()]
    assert told == ['{"a":1}', '{"a": 1}', uuid, "2023-12-31 22:00:00+00:00", "01:02:03", "1.5", "nan", "['x,y', None]"]


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("int[]", "'{1}'", "the column 'c' has the type _int4, which has no exact cast to DECIMAL"),
        ("point[]", "'{}'", "the column 'c' has the type _point, which cannot be read: cast it in source.query"),
        ("interval", "'1 day'", "the column 'c' has the type interval, which cannot be read"),
        ("double precision", "1", r"has the type float8, which has no exact cast to INT|no exact cast to DECIMAL"),
    ],
)
def test_types_without_an_exact_cast_are_refused_by_name(postgres, kind, value, said):
    postgres(f"CREATE TABLE s.o (c {kind})", f"INSERT INTO s.o VALUES ({value})")
    with pytest.raises(PipelineError, match=said):
        read(postgres.url, {"c": "DECIMAL(5, 2)"}, table="s.o")
    assert read(postgres.url, {"c": "STRING"}, query="SELECT c::text FROM s.o")[0] != []


def test_rows_of_postgresql_that_do_not_fit_are_rejects(postgres):
    postgres(
        "CREATE TABLE s.o (id bigint, da date, ts timestamp)",
        "INSERT INTO s.o VALUES (1, '2024-01-01', null), (2147483648, null, null), (null, null, null), "
        "(3, 'infinity', null), (4, null, '-infinity'), (5, '4000-01-01 BC', null), (6, null, '2024-01-01 0:0:0.5')",
    )
    types = {"id": "INT", "da": "DATE", "ts": "TIMESTAMP(0)"}
    rows, rejects = read(postgres.url, types, table="s.o", required=["id"])
    assert [row["id"] for row in rows] == [1]
    place = postgres.url.rpartition("@")[2]
    assert {(row["file"], row["line"]) for row in rejects} == {(f"postgresql://{place} s.o", None)}
    outside = "'infinity or a year outside 1 to 9999' is not valid for"
    assert [(row["column"], row["reason"]) for row in rejects] == [
        ("id", "'2147483648' is not valid for INT"),
        ("id", "null in a column that must not be null"),
        ("da", f"{outside} DATE"),
        ("ts", f"{outside} TIMESTAMP(0)"),
        ("da", f"{outside} DATE"),
        ("ts", "'2024-01-01 00:00:00.500000' is not valid for TIMESTAMP(0)"),
    ]
    assert json.loads(rejects[0]["raw"]) == {"id": 2147483648, "da": None, "ts": None}


def test_values_of_sqlite_that_do_not_fit_are_rejects(tmp_path):
    url = sqlite(
        tmp_path,
        "CREATE TABLE o (id, n, by)",
        "INSERT INTO o VALUES (1, 1.25, x'61'), (3.0, 2, null), ('x', 1, null), (4, 1.125, null), (5, 1, 'text'), "
        "(x'07', 1, null), (null, 1, null), (8, cast(x'ff' as text), null)",
    )
    types = {"id": "BIGINT", "n": "DECIMAL(5, 2)", "by": "VARBINARY(1)"}
    rows, rejects = read(url, types, table="o", required=["id"])
    assert [(row["id"], str(row["n"]), row["by"]) for row in rows] == [(1, "1.25", b"a"), (3, "2.00", None)]
    assert [(row["column"], row["reason"]) for row in rejects] == [
        ("id", "'x' is not valid for BIGINT"),
        ("n", "'1.125' is not valid for DECIMAL(5, 2)"),
        ("by", "'text' is not valid for VARBINARY(1)"),
        ("id", "'07' is not valid for BIGINT"),
        ("id", "null in a column that must not be null"),
        ("n", "'not valid UTF-8' is not valid for DECIMAL(5, 2)"),
    ]
    assert json.loads(rejects[1]["raw"]) == {"id": "4", "n": "1.125", "by": None}


def test_sqlite_values_of_other_types_after_many_rows(tmp_path):
    """The driver chooses a type by the first rows."""
    url = sqlite(
        tmp_path,
        "CREATE TABLE o (c)",
        "INSERT INTO o SELECT null FROM (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 9000) "
        "SELECT x FROM n)",
        "INSERT INTO o VALUES ('text'), (1), (0.1)",
    )
    rows, rejects = read(url, {"c": "STRING"}, table="o")
    assert (len(rows), rejects) == (9003, [])
    assert [row["c"] for row in rows[-4:]] == [None, "text", "1", "0.1"]


def test_columns_are_found_by_name(tmp_path):
    url = sqlite(tmp_path, 'CREATE TABLE "odd "" name" (ID int, "a b" int, more int)', "SELECT 1")
    assert read(url, {"a b": "INT", "id": "INT"}, table='odd " name') == ([], [])
    with pytest.raises(PipelineError, match=r"has no column 'nope'; its columns are 'ID', 'a b', 'more'"):
        read(url, {"nope": "INT"}, table='odd " name')
    with pytest.raises(PipelineError, match=r"source\.db nope: no such table: nope$"):
        read(url, {"id": "INT"}, table="nope")


def test_a_name_that_two_columns_have_is_refused(postgres):
    assert read(postgres.url, {"Aa": "INT"}, query='SELECT 1 AS "Aa", 2 AS "aA"')[0] == [{"Aa": 1}]
    for query in ('SELECT 1 AS "Aa", 2 AS "aA"', "SELECT 1 AS aa, 2 AS aa"):
        with pytest.raises(PipelineError, match="has 2 columns 'aa'"):
            read(postgres.url, {"aa": "INT"}, query=query)


@pytest.mark.parametrize(("low", "high", "parts"), [(1, 1, 4), (-5, 5, 4), (-(2**63), 2**63 - 1, 7), (0, 2, 3)])
def test_each_value_is_in_exactly_one_part(tmp_path, low, high, parts):
    middle = (low + high) // 2
    url = sqlite(tmp_path, "CREATE TABLE o (k integer)", f"INSERT INTO o VALUES ({middle}), ({low}), (null), ({high})")
    conditions = split_conditions("k", low, high, parts)
    assert len(conditions) == min(parts, high - low + 1)
    found = [row["k"] for one in conditions for row in read(url, {"k": "BIGINT"}, table="o", conditions=[one])[0]]
    assert sorted(found, key=str) == sorted([middle, low, None, high], key=str)


@pytest.mark.parametrize(
    "mark",
    [
        Mark("c", "int", "-9223372036854775808"),
        Mark("c", "text", "O'Neil; \\"),
        Mark("c", "date", "2024-02-29"),
        Mark("c", "timestamp", "2024-02-29T23:59:59.123456"),
        Mark("c", "timestamptz", "2024-02-29T23:59:59.123456Z"),
    ],
)
def test_a_watermark_is_the_same_after_ledger_and_database(postgres, mark):
    assert Mark.from_json(json.loads(json.dumps(mark.to_json()))) == mark
    kind = {"int": "int8"}.get(mark.kind, mark.kind)
    database = open_database(
        postgres.url, table="", query=f"SELECT CAST({mark.literal()} AS {kind}) AS c UNION SELECT null", folder=HERE
    )
    with database.connected() as connection:
        assert connection.rows(greatest("c", mark.kind, database.relation, None, 0)) == [(mark.value,)]
        assert connection.rows(greatest("c", mark.kind, database.relation, mark, 0)) == []


@pytest.mark.parametrize(
    "found",
    [
        7,
        {"column": "c", "type": "int"},
        {"column": "c", "type": "int", "value": "7"},
        {"column": "c", "type": "date", "value": "2024-01-01' OR true --"},
        {"column": "c", "type": "int", "value": "1 OR 1"},
        {"column": "c", "type": "xid", "value": "7"},
    ],
)
def test_a_damaged_watermark_is_refused(found):
    with pytest.raises(PipelineError, match="watermark"):
        Mark.from_json(found)


def test_a_lag_is_behind_the_clock_or_behind_the_greatest_value(postgres):
    query = "SELECT * FROM (VALUES (timestamptz '2024-01-01 00:00Z'), (now() + interval '1 hour')) AS v (tz)"
    postgres(f"CREATE TABLE s.o AS SELECT tz, tz AT TIME ZONE 'UTC' AS ts FROM ({query}) AS q")
    database = open_database(postgres.url, table="s.o", query="", folder=HERE)
    with database.connected() as connection:
        ((tz,),) = connection.rows(greatest("tz", "timestamptz", database.relation, None, 86400.0))
        ((ts,),) = connection.rows(greatest("ts", "timestamp", database.relation, None, 86400.0))
        behind = f"now() - '{tz}'::timestamptz - interval '1 day', max(ts) - '{ts}'::timestamp - interval '1 day'"
        ((clock, newest),) = connection.rows(f"SELECT {behind.replace('now()', 'max(tz)')} FROM s.o")
        assert (clock.nanoseconds // 10**9 in range(3000, 3601), newest.nanoseconds) == (True, 0)


def test_connections_share_a_snapshot(postgres):
    postgres("CREATE TABLE s.o AS SELECT 1 AS k")
    database = open_database(postgres.url, table="s.o", query="", folder=HERE)
    count = "SELECT count(*) FROM s.o"
    with database.connected() as first:
        snapshot = first.export_snapshot()
        postgres("INSERT INTO s.o VALUES (2)")
        with database.connected(snapshot) as second, database.connected() as other:
            assert [one.rows(count) for one in (first, second, other)] == [[(1,)], [(1,)], [(2,)]]


def test_a_connection_only_reads(postgres, tmp_path):
    postgres("CREATE SEQUENCE s.q")
    with pytest.raises(PipelineError, match=r"cannot execute nextval\(\) in a read-only transaction"):
        read(postgres.url, {"n": "BIGINT"}, query="SELECT nextval('s.q') AS n")


ODD = "p%40ss%2Fcanary"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://lake:{wrong}@127.0.0.1:{port}/postgres", "password authentication failed"),
        ("postgresql://lake:{wrong}@127.0.0.1:1/postgres", "Connection refused"),
        ("postgresql://lake:{wrong}@nohost.invalid/postgres?application_name=a", "could not translate host name"),
        ("postgresql://lake@127.0.0.1:{port}/postgres?password={wrong}", "password authentication failed"),
        ("postgresql://lake:canary/x@127.0.0.1/postgres", "is not of the form"),
        ("postgresql://lake:canary%zz@127.0.0.1/postgres", "is not of the form"),
        ("postgresql://lake:canary@x@127.0.0.1/postgres", "is not of the form"),
        ("postgresql://lake:canary", "is not of the form"),
        ("postgresql://lake:12?x=canary/x@127.0.0.1/postgres", "is not of the form"),
        ("postgresql://h/d?password=canary=1", "is not of the form"),
    ],
)
def test_no_error_repeats_the_password(server, url, said):
    url = url.format(wrong=ODD, port=server.port)
    with pytest.raises(PipelineError, match=said) as caught:
        read(url, {"k": "INT"}, table="t")
    told = f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"
    assert "canary" not in told
    assert caught.value.__context__ is None


def test_the_password_is_not_in_a_repr_and_travels_to_tasks(postgres):
    database = open_database(postgres.url, table="s.o", query="", folder=HERE)
    assert PASSWORD not in f"{database} {database!r} {vars(database)}"
    assert cloudpickle.loads(cloudpickle.dumps(database)) == database
    assert database.name == f"postgresql://{postgres.url.rpartition('@')[2]} s.o"


def test_errors_name_the_database_and_the_reason(postgres, tmp_path):
    for query, said in (
        ("SELECT nope FROM s.o", 'relation "s.o" does not exist$'),
        ("SELECT 1 / (k - 2) AS k FROM (VALUES (1), (2)) AS v (k)", "division by zero$"),
        ("SELECT k, FROM", "syntax error"),
    ):
        with pytest.raises(PipelineError, match=rf"^postgresql://127\.0\.0\.1:\d+/postgres query: .*{said}"):
            read(postgres.url, {"k": "INT"}, query=query)
    with pytest.raises(PipelineError, match=r"^sqlite:///.*nope\.db t: there is no such file$"):
        read(f"sqlite:///{tmp_path}/nope.db", {"k": "INT"}, table="t")
    (tmp_path / "text.db").write_text("this is no database" * 100)
    with pytest.raises(PipelineError, match="file is not a database"):
        read(f"sqlite:///{tmp_path}/text.db", {"k": "INT"}, table="t")
