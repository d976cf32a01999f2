"""A database compaction tells what happened to each table, and goes on after a table that fails."""

import datetime
import json
from pathlib import Path

import pytest

import paimon_core as paimon
from paimon_core.cli.main import main
from paimon_core.errors import CorruptTable, InvalidRequest

WRITE_ONLY = {"bucket": "1", "write-only": "true"}


@pytest.fixture
def catalog(warehouse):
    """Two databases; each table has two sorted runs."""
    catalog = paimon.open_catalog(warehouse)
    for database, names in (("a", ("t", "u")), ("b", ("t", "tmp_x"))):
        catalog.create_database(database)
        for name in names:
            table = catalog.create_table(f"{database}.{name}", {"k": "INT"}, primary_key=["k"], options=WRITE_ONLY)
            for _ in range(2):
                table.write([{"k": 1}])
    return catalog


def damage(catalog, name):
    """Damage the manifest list of the last snapshot."""
    snapshot = catalog.table(name).latest_snapshot()
    (path,) = Path(catalog.table(name).location).rglob(snapshot.delta_manifest_list)
    path.write_bytes(b"no Avro file")


def test_each_table_is_compacted_or_told(catalog):
    found = catalog.compact_database(including_tables=r"a\..*|b\..*_x", excluding_tables=r".*\.tmp_.*", full=True)
    assert [outcome.sentence for outcome in found] == [
        "a.t: snapshot 3 (COMPACT)",
        "a.u: snapshot 3 (COMPACT)",
        "b.t: skipped: including_tables does not match it",
        "b.tmp_x: skipped: excluding_tables matches it",
    ]
    again = catalog.compact_database("a", full=True)
    assert [outcome.sentence for outcome in again] == ["a.t: nothing to do", "a.u: nothing to do"]
    assert catalog.compact_database("A") == []


def test_idle_time_and_options(catalog):
    idle = catalog.compact_database("b", full=True, partition_idle_time=datetime.timedelta(days=1))
    assert not any(outcome.report for outcome in idle)
    now = catalog.compact_database(
        "b", partition_idle_time=datetime.timedelta(0), options={"num-sorted-run.compaction-trigger": 2}
    )
    assert all(outcome.report for outcome in now)


def test_an_error_of_a_table_does_not_stop_the_others(catalog):
    damage(catalog, "a.t")
    damage(catalog, "b.t")
    with pytest.raises(CorruptTable, match=r"2 of 4 tables failed \(2 were compacted\): a\.t: .*; b\.t: ") as raised:
        catalog.compact_database(full=True)
    outcomes = raised.value.facts["outcomes"]
    assert [bool(outcome.report) for outcome in outcomes] == [False, True, False, True]
    assert [outcome.error is None for outcome in outcomes] == [False, True, False, True]


def test_a_table_that_is_dropped_meanwhile_is_told(catalog, monkeypatch):
    listed = type(catalog).list_tables
    monkeypatch.setattr(type(catalog), "list_tables", lambda self, name: [*listed(self, name), "z"])
    assert catalog.compact_database("a")[-1].sentence == "a.z: skipped: it was dropped during the call"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"including_databases": "("}, "including_databases is no regular expression"),
        ({"excluding_tables": ["a.t"]}, "excluding_tables is a regular expression, not"),
        ({"partition_idle_time": "1 d"}, "partition_idle_time"),
    ],
)
def test_wrong_arguments(catalog, arguments, message):
    with pytest.raises(InvalidRequest, match=message):
        catalog.compact_database(**arguments)


def test_the_command_prints_all_tables_and_fails_for_one(catalog, warehouse, capsys):
    damage(catalog, "b.t")
    command = ["compact-database", "--warehouse", warehouse, "--full", "--excluding-tables", "a.u"]
    assert main(command) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a.t: snapshot 3 (COMPACT)"
    assert lines[1] == "a.u: skipped: excluding_tables matches it"
    assert lines[2].startswith("b.t: failed: ")
    assert lines[3] == "b.tmp_x: snapshot 3 (COMPACT)"
    assert main([*command, "--json"]) == 1
    first, second, third, _ = json.loads(capsys.readouterr().out)
    assert first == {"table": "a.t", "snapshots": [], "conflicts": 0, "skipped": None, "error": None}
    assert second["skipped"]
    assert "manifest" in third["error"]
    assert main(["compact-database", "--warehouse", warehouse, "--including-databases", "x"]) == 0
    assert capsys.readouterr().out == "no database matches --including-databases, or none has a table\n"
    assert main(["compact-database", "--warehouse", warehouse, "--including-tables", "("]) != 0
