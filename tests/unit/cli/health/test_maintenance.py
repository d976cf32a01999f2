"""``maintain``: the plan, the run, the log, wrong arguments and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.catalog.maintenance_log import TABLE, MaintenanceLog
from paimon_core.cli.main import main
from paimon_core.errors import StorageError
from paimon_core.metadata.stores.snapshot_store import SnapshotStore

ROWS = pa.table({"id": [1, 2, 3]})


@pytest.fixture
def lake(warehouse):
    """One table with many sorted runs, and one with fewer."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("a")
    for name, commits in (("a.much", 9), ("a.some", 4)):
        table = catalog.create_table(
            name, ROWS.schema, primary_key=["id"], options={"bucket": "1", "write-only": "true"}
        )
        for _ in range(commits):
            table.write(ROWS)
    return warehouse


@pytest.fixture
def run(lake, capsys):
    def running(*arguments):
        try:
            code = main(["maintain", *arguments, "--warehouse", lake])
        except SystemExit as stopped:
            code = stopped.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return running


def files(lake, name):
    return len(paimon.open_catalog(lake).table(name).inspect.files())


def test_a_dry_run_prints_the_plan_and_changes_nothing(run, lake):
    code, out, _ = run("--dry-run")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("2 pieces of work: ")
    assert [line.split(":")[0] for line in lines[1:]] == ["compact a.much bucket 0", "compact a.some bucket 0"]
    assert (files(lake, "a.much"), files(lake, "a.some")) == (9, 4)
    assert not paimon.open_catalog(lake).table_exists(TABLE)


def test_the_worst_comes_first_within_the_budget_and_the_log_is_written(run, lake):
    code, out, _ = run("--bytes", "13 kb", "--seconds", "10 min", "--memory", "4 gb")
    assert code == 0, out
    assert "left out: compact a.some bucket 0: budget" in out
    assert "1 piece of work done" in out
    assert (files(lake, "a.much"), files(lake, "a.some")) == (1, 4)
    rows = paimon.open_catalog(lake).system_table("sys.maintenance").to_arrow().to_pylist()
    assert [(row["table_name"], row["status"]) for row in rows] == [("a.much", "done")]


def test_json_and_no_log(run, lake):
    code, out, _ = run("a.some", "--json", "--no-log")
    value = json.loads(out)
    assert code == 0
    assert [c["table"] for c in value["plan"]["chosen"]] == ["a.some"]
    assert value["outcomes"][0]["status"] == "done"
    assert not paimon.open_catalog(lake).table_exists(TABLE)
    code, out, _ = run("a", "--json", "--dry-run")
    assert [c["table"] for c in json.loads(out)["plan"]["chosen"]] == ["a.much"]


def test_a_table_that_cannot_be_read_does_not_stop_the_others(run, lake, monkeypatch):
    real = SnapshotStore.latest

    def damaged(self):
        if "some" in self.paths.root:
            raise paimon.CorruptTable("snapshot 1 is damaged")
        return real(self)

    monkeypatch.setattr(SnapshotStore, "latest", damaged)
    code, out, _ = run()
    assert code == 1
    assert out.count("a.some could not be examined: corrupt-table: snapshot 1 is damaged") == 1
    monkeypatch.undo()
    assert files(lake, "a.much") == 1


def test_a_table_whose_work_failed_stays_a_failure_while_it_rests(run, lake):
    """The second run does nothing to the table, which is no success."""
    lost = next(iter((Path(lake) / "a.db" / "some" / "bucket-0").glob("data-*")))
    data = lost.read_bytes()
    lost.unlink()
    assert run()[0] == 1
    for arguments in (["--dry-run"], []):
        code, out, _ = run(*arguments)
        assert (
            code,
            "a.some is not in order: compact a.some bucket 0 failed and after 1 failure, it rests" in out,
        ) == (1, True)
        assert "corrupt-table" in out
    assert run("a.much")[0] == 0
    code, out, _ = run("--json")
    assert (code, list(json.loads(out)["failures"])) == (1, ["a.some"])
    rows = paimon.open_catalog(lake).system_table("sys.maintenance").to_arrow().to_pylist()
    assert [(row["table_name"], row["status"]) for row in rows][-1] == ("a.some", "failed")
    lost.write_bytes(data)
    assert run("a.some", "--no-log")[0] == 0  # without the log nothing is known of earlier runs, so the work is done
    assert files(lake, "a.some") == 1


def test_a_log_that_cannot_be_written_is_told_and_the_work_is_done(run, lake, monkeypatch):
    def broken(self, outcomes, histories):
        raise StorageError("no disk")

    monkeypatch.setattr(MaintenanceLog, "append", broken)
    code, out, _ = run()
    assert code == 1
    assert "the outcomes could not be added to the log: storage-error: no disk" in out
    assert files(lake, "a.much") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bytes", "10"], "write '10 b' or '10 mb'"),
        (["--bytes", "-1"], "is not a size such as"),
        (["--bytes", "much"], "is not a size such as"),
        (["--memory", "1 day"], "is not a size such as"),
        (["--seconds", "nan"], "is not a number of seconds"),
        (["--seconds", "soon"], "is not a duration"),
        (["--action", "sweep"], "invalid choice"),
        (["--branch", "b"], "--branch needs the name of a table"),
        (["a.none"], "a.none"),
        (["none"], "none"),
    ],
)
def test_wrong_arguments(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_expiry_runs_only_if_it_is_named(run, lake):
    catalog = paimon.open_catalog(lake)
    catalog.table("a.much").compact(full=True)
    catalog.table("a.much").alter("SET ('snapshot.num-retained.min' = '1', 'snapshot.num-retained.max' = '1')")
    assert run("a.much", "--dry-run")[1].startswith("0 pieces")
    out = run("a.much", "--dry-run", "--action", "expire")[1]
    assert "expire a.much: saves-little" in out
