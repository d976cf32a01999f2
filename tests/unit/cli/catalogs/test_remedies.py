"""Errors about something unknown end with the command that lists what exists, and that command works."""

import re
import shlex

import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidRequest

UNKNOWN = [
    (("fsck", "none.t"), "ls", "the tables of all databases"),
    (("ls", "none"), "ls", "the tables of all databases"),
    (("head", "db.none"), "ls db", "the tables of db"),
    (("doctor", "db.none"), "ls db", "the tables of db"),
    (("show", "db.none$files"), "ls db", "the tables of db"),
    (("sql", "SELECT * FROM db.none"), "ls db", "the tables of db"),
    (("head", "db.t", "--branch", "none"), "branches list db.t", "the branches of db.t"),
    (("branches", "delete", "db.t", "none"), "branches list db.t", "the branches of db.t"),
    (("tags", "delete", "db.t", "none"), "tags list db.t", "the tags of db.t"),
    (("head", "db.t", "--tag", "none", "--branch", "side"), "tags list db.t --branch side", "the tags of db.t"),
    (("rollback", "db.t", "--snapshot", "7"), "snapshots db.t", "the snapshots of db.t"),
    (("diff", "db.t", "1", "7"), "snapshots db.t", "the snapshots of db.t"),
    (("head", "db.t", "--columns", "none"), "describe db.t", "the columns of db.t"),
    (("head", "db.t", "--where", "none = 1"), "describe db.t", "the columns of db.t"),
    (("update", "db.t", "--set", "none=1", "--where", "id = 1"), "describe db.t", "the columns of db.t"),
    (("alter", "db.t", "DROP COLUMN none"), "describe db.t", "the columns of db.t"),
]


@pytest.fixture
def table(place):
    catalog = paimon.open_catalog(place)
    catalog.create_database("db")
    table = catalog.create_table("db.t", {"id": "BIGINT NOT NULL"}, primary_key="id", options={"bucket": "1"})
    table.write([{"id": 1}])
    table.branches.create("side")
    return table


@pytest.mark.parametrize(("arguments", "listing", "what"), UNKNOWN, ids=lambda v: v if isinstance(v, str) else v[0])
def test_an_unknown_name_ends_with_the_command_that_lists_the_names(table, place, command, arguments, listing, what):
    code, out = command(*arguments)
    assert code == 2
    assert out.endswith(f"; `paimon-core {listing}` lists {what}\n")
    code, out = command(*arguments, "--warehouse", place)
    found = re.search(r"`paimon-core ([^`]*)`", out)[1]
    assert found == f"{listing} --warehouse {place}"
    assert command(*shlex.split(found))[0] == 0


def test_other_errors_name_no_listing(table, command, tmp_path):
    (tmp_path / "a.json").write_text('{"other": 1}\n')
    for arguments in (
        ("update", "db.t", "--set", "id=x", "--where", "id = 1"),
        ("import", "db.t", tmp_path / "a.json", "--columns", "id"),
        ("fsck", "t"),
        ("options", "none"),
    ):
        code, out = command(*arguments)
        assert (code, " lists " in out) == (2, False), out


def test_a_missing_database_of_a_new_table_names_the_argument_that_creates_it(table, command):
    for arguments in (("copy", "db.t", "new.t"), ("create", "new.t", "id INT")):
        code, out = command(*arguments)
        assert (code, out.endswith("; --create-database creates it\n")) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("copy", "db.t", "new.t", "--by-reference"),
        ("create", "new.t", "id NOTHING"),
        ("create", "new.t", "id INT", "--table-option", "bucket=none"),
    ],
)
def test_a_refused_table_leaves_no_new_database(table, place, command, arguments):
    catalog = paimon.open_catalog(place)
    assert command(*arguments, "--create-database")[0] == 2
    assert catalog.list_databases() == ["db"]
    catalog.create_database("new")
    assert command(*arguments, "--create-database")[0] == 2
    assert catalog.list_databases() == ["db", "new"]


def test_a_failed_copy_leaves_no_new_database(table, place, command, monkeypatch):
    from paimon_core.table.table import Table

    def fail(*_, **__):
        raise InvalidRequest("refused")

    monkeypatch.setattr(Table, "write", fail)
    assert command("copy", "db.t", "new.t", "--create-database")[0] == 2
    assert paimon.open_catalog(place).list_databases() == ["db"]
