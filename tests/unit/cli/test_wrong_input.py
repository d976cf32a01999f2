"""Wrong input: an error names the object, the rule and the value; nothing that was given is ignored."""

import json

import pytest

import paimon_core as paimon


@pytest.fixture
def table(place):
    catalog = paimon.open_catalog(place)
    catalog.create_database("db")
    columns = "id BIGINT NOT NULL COMMENT 'the key\nsecond line', note STRING COMMENT 'a\ttab'"
    table = catalog.create_table("db.t", columns, primary_key="id", options={"bucket": "1"}, comment="one\ntwo")
    catalog.create_table("db.empty", {"id": "INT"})
    for number in range(3):
        table.write([{"id": number, "note": "x"}])
    return table


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["sample", "db.t", "--seed", "-1"], "--seed must be 0 or more, not -1"),
        (["diff", "db.t", "1", "2", "--summary", "--limit", "1"], "--limit cannot be given with --summary"),
        (["diff", "db.t", "1", "99"], "table db.t has no snapshot 99: its latest snapshot is 3"),
        (["diff", "db.empty", "1", "2"], "table db.empty has no snapshot 1: it has no snapshots"),
        (["changes", "db.t", "--start", "3", "--end", "1"], "start (snapshot 3) must not come after end (snapshot 1)"),
        (["explain-row", "db.t", "id"], "'id' is not a primary key such as"),
        (["update", "db.t", "--set", "note=a", "--set", "note=b", "--where", "id=1"], "--set gives 'note' twice"),
        (
            ["create", "db.u", "id INT", "--table-option", "a=1", "--table-option", "a=2"],
            "--table-option gives 'a' twice",
        ),
        (["ls", "--option", "s3.region=a", "--option", "s3.region=b"], "--option gives 's3.region' twice"),
        (["ls", "--option", "nope=1"], "catalog option 'nope' is not supported by the filesystem catalog"),
        (["doctor", "db.t", "--threshold", "tags=1", "--threshold", "tags=2"], "--threshold gives 'tags' twice"),
        (["delete", "db.t", "--where", "id=1", "--where", "id=2"], "argument --where: given twice"),
        (["head", "db.t", "-n", "1", "-n", "2"], "argument -n: given twice"),
        (["tags", "create", "db.t", "x", "--snapshot", "1", "--snapshot", "2"], "argument --snapshot: given twice"),
        (["head", "db.t$files"], "`paimon-core show 'db.t$files'` lists its rows"),
        (
            ["export", "db.t", "/no-such-folder/x.csv"],
            "x.csv: /no-such-folder is no folder",
        ),
        (["ls", "--warehouse", "memory://no-such-warehouse"], "no-such-warehouse does not exist"),
    ],
)
def test_wrong_input_is_refused(table, command, arguments, problem):
    code, out = command(*arguments)
    assert (code, problem in out) == (2, True), out
    assert len(out.splitlines()) == 1
    assert table.latest_snapshot().id == 3


@pytest.mark.parametrize(
    "arguments", [["compact", "db.t", "--json", "--json"], ["doctor", "db.t", "--threshold", "tags=9", "--json"]]
)
def test_what_may_be_given_twice_is_not_refused(table, command, arguments):
    assert command(*arguments)[0] in (0, 3)


def test_the_columns_of_a_system_table_are_not_those_of_its_table(table, command):
    code, out = command("files", "db.t", "--where", "nope = 1")
    assert (code, "describe" in out) == (2, False)


def test_a_plan_that_is_no_json_is_told(table, command, tmp_path):
    (tmp_path / "plan").write_text("id,note\n")
    code, out = command("apply", tmp_path / "plan")
    assert (code, "not a plan: it is no JSON: Expecting value" in out) == (2, True)


def test_zero_rows_say_nothing_about_the_table(table, command):
    for words in (["head"], ["sample"]):
        assert command(*words, "db.t", "-n", "0") == (0, "0 rows were asked for\n")
    assert command("changes", "db.t", "--limit", "0") == (0, "(the first 0 rows: --limit N prints more)\n")
    assert command("sql", "SELECT 1", "--limit", "0") == (0, "(the first 0 rows: --limit N prints more)\n")


def test_comments_stay_on_their_line(table, command):
    code, out = command("describe", "db.t")
    assert code == 0
    lines = out.splitlines()
    assert lines[1] == "comment         one\\ntwo"
    assert lines[-2:] == ["  id    BIGINT NOT NULL  the key\\nsecond line", "  note  STRING           a\\ttab"]
    found = json.loads(command("describe", "db.t", "--json")[1])
    assert [column["comment"] for column in found["columns"]] == ["the key\nsecond line", "a\ttab"]


def test_the_history_of_an_empty_table_is_empty(table, command):
    assert command("history", "db.empty") == (0, "no snapshots\n")
    assert command("history", "db.empty", "--json") == (0, "[]\n")
