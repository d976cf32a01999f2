"""``doctor`` and ``top``: what they print, what ``--fix`` does, and the exit codes that monitoring reads."""

from __future__ import annotations

import json
import shlex
import shutil
import sys

import pyarrow as pa
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import paimon_core as paimon
from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.cli.main import main
from paimon_core.health.metrics import MEASURES
from paimon_core.metadata.stores.snapshot_store import SnapshotStore

ROWS = pa.table({"id": [1, 2, 3]})


@pytest.fixture
def lake(warehouse):
    """A healthy table, one with many sorted runs, and one with an index that finds nothing."""
    catalog = paimon.open_catalog(warehouse)
    for database in ("a", "b"):
        catalog.create_database(database)
    options = {"bucket": "1", "write-only": "true"}
    catalog.create_table("a.fine", ROWS.schema, primary_key=["id"], options=options).write(ROWS)
    ill = catalog.create_table("a.ill", ROWS.schema, primary_key=["id"], options=options)
    for _ in range(9):
        ill.write(ROWS)
    indexed = options | {"file-index.bloom-filter.columns": "id"}
    catalog.create_table("b.indexed", ROWS.schema, primary_key=["id"], options=indexed).write(ROWS)
    return warehouse


@pytest.fixture
def damaged_snapshot(monkeypatch):
    """The latest snapshot of the table a.fine cannot be read."""
    real = SnapshotStore.latest

    def damaged(self):
        if "fine" in self.paths.root:
            raise paimon.CorruptTable("snapshot 1 is damaged")
        return real(self)

    monkeypatch.setattr(SnapshotStore, "latest", damaged)


def run(capsys, *arguments):
    code = main(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_worst_table_comes_first_and_tells_its_mend(lake, capsys):
    code, out, _ = run(capsys, "doctor", "--warehouse", lake)
    lines = out.splitlines()
    assert code == 4
    assert lines[0].startswith("a.ill: score ")
    assert lines[1].startswith("error many-sorted-runs: bucket 0 has 9 sorted runs")
    assert lines[2] == f"  mend: paimon-core compact a.ill --warehouse {lake}"
    assert run(capsys, *shlex.split(lines[2])[2:])[0] == 0, "the command works as it is printed"
    assert "b.indexed: score" in out
    assert lines[-1] == "1 of 3 tables have no findings"


@pytest.mark.parametrize(("target", "code"), [("a.fine", 0), ("b", 3), ("a", 4), ("b.indexed", 3)])
def test_exit_codes(lake, capsys, target, code):
    assert run(capsys, "doctor", target, "--warehouse", lake)[0] == code


def test_fix_runs_what_is_safe_and_tells_it_before(lake, capsys):
    code, out, _ = run(capsys, "doctor", "--fix", "--warehouse", lake)
    assert out.splitlines()[0].startswith("a.ill many-sorted-runs: paimon-core compact a.ill (reads and rewrites")
    assert "RESET" in out, "the index is named, and not changed"
    assert code == 3
    catalog = paimon.open_catalog(lake)
    assert catalog.table("a.ill").inspect.buckets()["sorted_runs"].to_pylist() == [1]
    assert "file-index.bloom-filter.columns" in catalog.table("b.indexed").schema.options


def test_fix_of_a_named_finding(lake, capsys):
    code, out, _ = run(capsys, "doctor", "b.indexed", "--fix", "useless-index", "--json", "--warehouse", lake)
    found = json.loads(out)
    assert (code, found["failures"]) == (0, [])
    assert [(one["finding"], one["report"]) for one in found["mends"]] == [("useless-index", "altered to schema 1")]
    assert found["tables"][0]["findings"] == []


def test_a_table_that_cannot_be_read_is_told_and_the_others_are_examined(lake, capsys, damaged_snapshot):
    code, out, _ = run(capsys, "doctor", "--warehouse", lake)
    assert code == 1
    assert "a.ill: score" in out
    assert "a.fine could not be examined: " in out.splitlines()[-1]
    code, out, _ = run(capsys, "top", "--warehouse", lake)
    assert code == 1
    assert "snapshot 1 is damaged" in out
    code, _, err = run(capsys, "doctor", "a.fine", "--warehouse", lake)
    assert (code, err.startswith("paimon-core doctor: ")) == (1, True)


@pytest.mark.parametrize("command", ["doctor", "top", "metrics"])
def test_a_table_that_is_dropped_meanwhile_is_left_out(lake, capsys, monkeypatch, command):
    real = FilesystemCatalog.table

    def table(self, name):
        if name == "a.ill":
            shutil.rmtree(f"{lake}/a.db/ill", ignore_errors=True)
        return real(self, name)

    monkeypatch.setattr(FilesystemCatalog, "table", table)
    code, out, _ = run(capsys, command, "a", "--warehouse", lake)
    assert (code, "a.ill" in out) == (0, False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--threshold", "snaps=3"], "there is no threshold 'snaps'; there are avoidable_files"),
        (["--threshold", "snapshots"], "--threshold takes NAME=NUMBER, not 'snapshots'"),
        (["--threshold", "snapshots=x"], "--threshold takes NAME=NUMBER, not 'snapshots=x'"),
        (["--threshold", "snapshots=-3"], "the threshold snapshots must be a whole number of 0 or more"),
        (["nowhere"], "no database nowhere"),
        ([""], "must be text that is not blank"),
        (["a.none"], "a.none"),
        (["a", "--branch", "x"], "--branch needs the name of a table"),
        (["a.fine", "--branch", "x"], "x"),
    ],
)
def test_wrong_arguments(lake, capsys, arguments, said):
    code, out, err = run(capsys, "doctor", *arguments, "--warehouse", lake)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert said in err


def test_unknown_findings_are_refused(lake, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["doctor", "--fix", "slow", "--warehouse", lake])
    assert "invalid choice: 'slow'" in capsys.readouterr().err


def test_thresholds_and_branches(lake, capsys):
    table = paimon.open_catalog(lake).table("a.fine")
    table.tags.create("x")
    table.branches.create("b", tag="x")
    code, out, _ = run(
        capsys, "doctor", "a.fine", "--branch", "b", "--threshold", "level-0-hours=0", "--json", "--warehouse", lake
    )
    assert (code, json.loads(out)["tables"][0]["branch"]) == (0, "b")


@pytest.mark.parametrize(
    ("by", "first"), [("size", "a.ill"), ("files", "a.ill"), ("growth", "a.ill"), ("cost", "a.ill"), ("score", "a.ill")]
)
def test_top(lake, capsys, by, first):
    code, out, _ = run(capsys, "top", "--by", by, "--limit", "2", "--json", "--warehouse", lake)
    found = json.loads(out)
    assert (code, len(found), found[0]["table"], found[0]["files"]) == (0, 2, first, 9)
    assert run(capsys, "top", "b", "--warehouse", lake)[1].splitlines()[1].startswith("b.indexed")


def test_top_refuses_a_limit_of_nothing(lake, capsys):
    assert run(capsys, "top", "--limit", "0", "--warehouse", lake)[0] == 2


def families(text):
    assert text.endswith("# EOF\n")
    return {family.name: family.samples for family in text_string_to_metric_families(text)}


def test_metrics(lake, capsys, tmp_path):
    code, out, _ = run(capsys, "metrics", "--warehouse", lake)
    found = families(out)
    assert code == 0
    assert found.keys() >= {f"paimon_table_{name}" for name in MEASURES}
    runs = {one.labels["table"]: one.value for one in found["paimon_table_most_sorted_runs"]}
    assert runs == {"a.fine": 1, "a.ill": 9, "b.indexed": 1}
    errors = {
        one.labels["table"] for one in found["paimon_table_findings"] if one.value and one.labels["severity"] == "error"
    }
    assert errors == {"a.ill"}
    file = tmp_path / "lake.prom"
    assert run(capsys, "metrics", "b", "--output", str(file), "--warehouse", lake)[:2] == (0, "")
    assert [one.labels["table"] for one in families(file.read_text())["paimon_table_score"]] == ["b.indexed"]
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["lake.prom"]
    code, _, err = run(capsys, "metrics", "--output", str(tmp_path / "none" / "x"), "--warehouse", lake)
    assert (code, "No such file" in err) == (2, True)


def test_metrics_have_a_help_text_for_each_measure(lake):
    assert set(paimon.open_catalog(lake).table("a.fine").health().measures) == set(MEASURES)


def test_metrics_of_a_table_that_cannot_be_read(lake, capsys, damaged_snapshot):
    code, out, err = run(capsys, "metrics", "--warehouse", lake)
    assert (code, "a.fine: corrupt-table: snapshot 1 is damaged" in err) == (1, True)
    found = families(out)
    assert [one.labels["table"] for one in found["paimon_table_unreadable"]] == ["a.fine"]
    assert "a.fine" not in {one.labels["table"] for one in found["paimon_table_score"]}


def test_metrics_need_their_package(lake, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client.registry", None)
    code, out, err = run(capsys, "metrics", "--warehouse", lake)
    assert (code, out) == (2, "")
    assert "pip install paimon-core[metrics]" in err


def test_the_place_of_the_catalog_is_added_to_each_command_and_not_inside_of_names(tmp_path, capsys):
    warehouse = str(tmp_path / "lake")
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    schema = pa.schema([("id", pa.int64()), ("a && b", pa.string())])
    options = {"bucket": "1", "file-index.bloom-filter.columns": "id,a && b"}
    catalog.create_table("db.odd", schema, primary_key=["id"], options=options).write(
        pa.table([[1], ["a"]], schema=schema)
    )
    (finding,) = json.loads(run(capsys, "doctor", "--json", "--warehouse", warehouse)[1])["tables"][0]["findings"]
    change = "SET ('file-index.bloom-filter.columns' = 'a && b')"
    (command,) = finding["commands"]
    assert shlex.split(command) == ["paimon-core", "alter", "db.odd", change, "--warehouse", warehouse]
    assert finding["command"] == command
