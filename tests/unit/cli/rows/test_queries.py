"""Commands that show, count, compare and query rows (resembles issue 29)."""

import json
from decimal import Decimal

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.cli.rows.queries import drawn


def test_head_prints_rows_and_escapes_control_characters(orders, command):
    code, out = command("head", "shop.orders", "-n", 2)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["day", "id", "note"]
    assert lines[2].startswith("mon  2   x\\x1b[31myyy")
    assert lines[2].endswith("…")
    assert "\x1b" not in out
    assert len(lines) == 3


def test_head_selects_columns_rows_and_a_version(orders, command):
    code, out = command("head", "shop.orders", "--columns", "id,note", "--where", "id > 1", "--tag", "first", "--json")
    assert (code, json.loads(out)) == (0, [{"id": 2, "note": "n2"}, {"id": 3, "note": "n3"}])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--where", "idd > 1"], "the filter names column 'idd'"),
        (["--columns", "nope"], "nope"),
        (["-n", "-1"], "must be 0 or more, not -1"),
        (["--snapshot", "7"], "7"),
        (["--tag", "nope"], "nope"),
        (["--time", "2000-01-01"], "the earliest is of"),
    ],
)
def test_wrong_arguments_are_named(orders, command, arguments, problem):
    code, out = command("head", "shop.orders", *arguments)
    assert code == 2
    assert problem in out
    assert out.count("\n") == 1


def test_errors_are_json_when_the_output_is(orders, command):
    code, out = command("head", "shop.ordesr", "--json")
    assert code == 2
    assert json.loads(out)["exit_code"] == 2
    assert "no table shop.ordesr" in json.loads(out)["error"]


def test_count_counts_rows_and_not_versions(orders, command):
    assert command("count", "shop.orders") == (0, "4\n")
    assert command("count", "shop.orders", "--where", "note is null") == (0, "1\n")
    assert command("count", "shop.orders", "--snapshot", 1) == (0, "3\n")
    _code, out = command("count", "shop.orders", "--by-partition", "--json")
    assert {row["day"]: row["record_count"] for row in json.loads(out)} == {"mon": 3, "tue": 1}


def test_a_row_and_a_scan_are_explained(orders, command):
    code, out = command("explain-row", "shop.orders", "day=mon,id=2")
    assert code == 0
    assert "deduplicate: the last version" in out
    assert command("explain-row", "shop.orders", "day=mon,id=x")[1].startswith(
        "paimon-core explain-row: 'x' is no value of column 'id', which is BIGINT NOT NULL"
    )
    assert command("explain-row", "shop.orders", "day=mon")[0] == 2
    code, out = command("explain", "shop.orders", "--where", "day = 'tue'", "--analyze")
    assert code == 0
    assert "by partition" in out


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT day, count(*) AS n FROM shop.orders GROUP BY day ORDER BY day", [["mon", 3], ["tue", 1]]),
        ("SELECT orders.id FROM shop.orders AT (VERSION => 1) WHERE note = 'n2'", [[2]]),
        ("SELECT max(id) AS m FROM shop.orders AT (VERSION => 'first')", [[3]]),
        ("SELECT count(*) AS n FROM shop.orders o JOIN shop.orders AT (VERSION => 1) USING (day, id)", [[3]]),
        ("WITH x AS (SELECT id FROM shop.orders) SELECT max(id) AS m FROM x", [[9]]),
        ('SELECT count(*) AS n FROM shop."orders$snapshots"', [[2]]),
        ("SELECT id FROM shop.orders WHERE id IN (SELECT max(id) FROM shop.orders)", [[9]]),
    ],
)
def test_sql(orders, command, query, expected):
    code, out = command("sql", query, "--json")
    assert (code, [list(row.values()) for row in json.loads(out)]) == (0, expected)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELEC 1", 'line 1, column 1: syntax error at or near "SELEC"'),
        ("SELECT 1\nFRM x y z", "line 2"),
        ("DELETE FROM shop.orders", "takes one SELECT"),
        ("SELECT 1; SELECT 2", "not 2 statements"),
        ("", "not 0 statements"),
        ("SELECT * FROM orders", "tables are named database.table"),
        ("SELECT * FROM shop.nope", "no table shop.nope"),
        ("SELECT nope FROM shop.orders", 'column "nope" not found'),
        ("SELECT * FROM shop.orders AT (VERSION => 99)", "99"),
        ("SELECT * FROM shop.orders AT (TIMESTAMP => now())", "takes a literal"),
        ('SELECT * FROM shop."orders$files" AT (VERSION => 1)', "AT is not supported for the system table"),
    ],
)
def test_wrong_sql_is_told(orders, command, query, problem):
    code, out = command("sql", query)
    assert code == 2
    assert problem in out
    assert out.count("\n") == 1


@pytest.mark.parametrize("words", [("head", "-n"), ("sample", "-n"), ("tail", "-n"), ("changes", "--limit")])
def test_more_rows_may_be_wanted_than_a_number_of_64_bits_says(orders, command, words):
    name, option = words
    code, out = command(name, "shop.orders", option, "9" * 30, "--json")
    assert (code, len(json.loads(out)) > 2) == (0, True)


def test_sql_takes_every_limit(orders, command):
    code, out = command("sql", "SELECT * FROM shop.orders", "--limit", "9" * 30, "--json")
    assert (code, len(json.loads(out)) > 2) == (0, True)


def test_sql_reads_a_version_of_a_group(orders, place, command):
    code, out = command("sql", "SELECT count(*) AS n FROM shop.orders", "--group", "sales")
    assert (code, "group sales has no version: nothing was published yet" in out) == (2, True)
    paimon.open_catalog(place).group("sales").publish_snapshots({"shop.orders": 1})
    code, out = command("sql", "SELECT count(*) AS n FROM shop.orders", "--group", "sales", "--json")
    assert (code, json.loads(out)) == (0, [{"n": orders.at(snapshot=1).scan().count()}])
    code, out = command("sql", "SELECT 1", "--group", "sales")
    assert (code, "reads no table of group sales" in out) == (2, True)


def test_sql_tells_that_rows_are_left_out(orders, command):
    code, out = command("sql", "SELECT id FROM shop.orders", "--limit", 2)
    assert code == 0
    assert out.endswith("(the first 2 rows: --limit N prints more)\n")


def test_every_row_is_drawn_with_the_same_probability():
    table = pa.table({"n": list(range(20))})
    counts = [0] * 20
    for seed in range(600):
        for n in drawn(table.to_batches(max_chunksize=7), table.schema, 5, seed)["n"].to_pylist():
            counts[n] += 1
    assert sum(counts) == 3000
    assert all(90 < count < 220 for count in counts)
    assert len(drawn(table.to_batches(), table.schema, 50, 1)) == 20
    assert len(drawn(table.to_batches(), table.schema, 0, 1)) == 0


def test_sample_draws_the_same_rows_again(orders, command):
    first = command("sample", "shop.orders", "-n", 2, "--seed", 5, "--json")
    assert first == command("sample", "shop.orders", "-n", 2, "--seed", 5, "--json")
    assert len(json.loads(first[1])) == 2


@pytest.fixture
def extremes(place):
    catalog = paimon.open_catalog(place)
    catalog.create_database("d")
    columns = {"id": "INT NOT NULL", "at": "TIMESTAMP(6)", "x": "DOUBLE", "m": "MAP<STRING, DECIMAL(4, 2)>"}
    table = catalog.create_table("d.t", columns, primary_key="id")
    far = pa.array([3 * 10**17, 0], pa.timestamp("us"))  # the year 11476, and 1970
    maps = pa.array([[("k", Decimal("1.10"))], None], pa.map_(pa.string(), pa.decimal128(4, 2)))
    ids = pa.array([1, 2], pa.int32())
    table.write(pa.table({"id": ids, "at": far, "x": [float("-inf"), float("nan")], "m": maps}))
    return table


def test_times_that_python_cannot_express_are_texts(extremes, command):
    code, out = command("head", "d.t", "--json")
    first, second = json.loads(out)
    assert (code, first["at"], second["at"]) == (0, "300000000000000000 as timestamp[us]", "1970-01-01T00:00:00")
    assert (first["x"], second["x"], first["m"]) == ("-inf", "nan", [["k", "1.10"]])
    code, out = command("sql", "SELECT 'infinity'::TIMESTAMP AS at")
    assert (code, "as timestamp" in out) == (0, True)


def test_decimals_in_maps_are_shown_as_numbers(extremes, command):
    assert "[['k', '1.10']]" in command("head", "d.t")[1]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT CAST(repeat('a', id::INT) AS INT) FROM d.t", "Could not convert string 'a'"),
        ("SELECT * FROM other.d.t", "table other.d.t has a name of three parts"),
    ],
)
def test_a_query_that_fails_while_it_runs_is_one_line(extremes, command, query, problem):
    code, out = command("sql", query)
    assert (code, out.count("\n")) == (2, 1)
    assert problem in out
