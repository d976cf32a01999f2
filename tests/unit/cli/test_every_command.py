"""Every command with ``--json``: its exit code, and the keys, types and stable values of the one document it prints.

A new command fails ``test_every_command_has_a_case`` until it has a case here. After an intended change, run this file
with ``PAIMON_WRITE_GOLDEN=1``, which writes ``every_command.json`` anew, and read the difference.
"""

import argparse
import datetime
import itertools
import json
import os
import re
from pathlib import Path

import pytest

import paimon_core as paimon
from paimon_core.cli.commands import parser
from paimon_core.cli.main import main

GOLDEN = Path(__file__).with_name("every_command.json")
WRITES = bool(os.environ.get("PAIMON_WRITE_GOLDEN"))
WITHOUT_JSON: dict[str, str] = {}
"""The commands without ``--json``, each with the reason; there is none today."""
STABLE = {
    *("applied", "bucket", "column", "columns", "dropped", "exit_code", "id", "kind", "level", "name", "next", "now"),
    *("operation", "primary_key", "rejected", "record_count", "rows", "schema", "shell", "snapshot", "table", "tag"),
    *("branch", "partition_by", "rowkind", "snapshot_id", "type", "default", "added", "removed"),
}
"""The keys whose values are the same in each run and on each machine."""
OLD = ("--older-than", "0 ms")
PLANNED = {
    "tags delete": ("db.t", "first"),
    "branches delete": ("db.t", "side"),
    "expire snapshots": ("db.t", "--keep-last", "1", "--keep-max", "1"),
    "expire changelogs": ("db.t", "--keep-last", "1", "--keep-max", "1"),
    "expire partitions": ("db.t", "--older-than", "3 d", "--strategy", "update-time"),
    "expire consumers": ("db.t", *OLD),
    "expire tags": ("db.t", *OLD),
    "orphans remove": ("db.t", "--older-than", "2 d"),
    "orphans purge": ("db.t", *OLD),
    "repair": ("db.t",),
    "remove-missing": ("db.t",),
    "rollback": ("db.t", "--snapshot", "1"),
}
SUCCESSES = {
    **PLANNED,
    "tables": (),
    "ls": (),
    "describe": ("db.t",),
    "create": ("new.t", "id BIGINT NOT NULL, note STRING", "--primary-key", "id", "--create-database"),
    "drop": ("db.t",),
    "rename": ("db.t", "db.u"),
    "history": ("db.t",),
    "files": ("db.t",),
    "head": ("db.t", "-n", "1"),
    "sample": ("db.t", "-n", "1", "--seed", "1"),
    "tail": ("db.t", "-n", "1"),
    "count": ("db.t",),
    "changes": ("db.t", "--start", "1"),
    "diff": ("db.t", "1", "2"),
    "explain": ("db.t",),
    "explain-row": ("db.t", "day=1,k=1"),
    "sql": ("SELECT count(*) AS rows FROM db.t",),
    "delete": ("db.t", "--where", "k = 1", "--apply"),
    "update": ("db.t", "--set", "note=x", "--where", "k = 1", "--apply"),
    "merge": ("db.t", "FOLDER/rows.json", "--on", "day,k", "--apply"),
    "import": ("db.t", "FOLDER/rows.json"),
    "export": ("db.t", "FOLDER/out.csv"),
    "copy": ("db.t", "db.u"),
    "snapshots": ("db.t",),
    "show": ("db.t$files", "--columns", "bucket,level,record_count", "--limit", "1"),
    "fsck": ("db.t", "--deep"),
    "doctor": ("db.t",),
    "maintain": ("db.t", "--dry-run", "--no-log"),
    "metrics": ("db.t",),
    "top": (),
    "report": ("db.t", "--output", "FOLDER/page.html"),
    "alter": ("db.t", "ADD COLUMN more STRING"),
    "tags list": ("db.t",),
    "tags create": ("db.t", "second", "--snapshot", "2"),
    "tags rename": ("db.t", "first", "one"),
    "branches list": ("db.t",),
    "branches create": ("db.t", "other", "--from-latest"),
    "branches rename": ("db.t", "side", "aside"),
    "branches fast-forward": ("db.t", "side"),
    "orphans list": ("db.t",),
    "orphans undo": ("db.t", "QUARANTINE"),
    "orphans unfinished": (),
    "consumers": ("db.t",),
    "compact": ("db.t", "--full"),
    "compact-database": (),
    "rewrite-file-index": ("db.t",),
    "rescale": ("db.t", "--buckets", "2"),
    "compact-manifests": ("db.t",),
    "repair-hints": ("db.t",),
    "mark-done": ("db.t", "day=1"),
    "options": ("bucket",),
    "cluster-archive": ("FOLDER/packages.tar.gz",),
    "completion": ("bash",),
    "apply": ("FOLDER/plan.json",),
}
ERRORS = {
    "tables": ("none",),
    "ls": ("none",),
    "create": ("db.t", "id BIGINT NOT NULL"),
    "sql": ("SELECT FROM",),
    "show": ("db.none$files",),
    "doctor": ("db.none",),
    "orphans unfinished": ("none",),
    "maintain": ("db.none",),
    "metrics": ("db.none",),
    "top": ("none",),
    "report": ("db.none", "--output", "FOLDER/page.html"),
    "compact-database": ("--including-tables", "("),
    "options": ("no-such-option",),
    "cluster-archive": ("FOLDER/packages.zip",),
    "completion": ("no-such-shell",),
    "apply": ("FOLDER/none.json",),
}
"""The arguments that are wrong; all other commands are given the table db.none."""
_numbers = itertools.count()


def leaves(found, path=()):
    """Yield the path and the parser of each command, such as ("tags", "list")."""
    groups = [action for action in found._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield " ".join(path), found
    for group in groups:
        for name, one in group.choices.items():
            yield from leaves(one, (*path, name))


COMMANDS = dict(leaves(parser()))


def shape(value, key=""):
    """Return the value with each scalar that is not stable replaced by the name of its type."""
    if isinstance(value, dict):
        return {re.sub(r"^/every-\d+/", "/every/", name): shape(one, name) for name, one in value.items()}
    if isinstance(value, list):
        shapes = [shape(one, key) for one in value]
        return [one for number, one in enumerate(shapes) if one not in shapes[:number]]
    is_stable = key in STABLE and not re.search(r"[0-9a-f]{8}|\d-\d\dT", str(value))  # no random name, no time
    if value is None or isinstance(value, bool) or is_stable:
        return value
    return "a number" if isinstance(value, int | float) else "a text"


@pytest.fixture
def run(request, capsys, monkeypatch, tmp_path):
    """Return a function that runs a command on a new warehouse with the table db.t of two snapshots."""
    is_rename = "[rename]" in request.node.name  # a store in memory cannot rename
    place = str(tmp_path / "lake") if is_rename else f"memory://every-{next(_numbers)}"
    monkeypatch.setenv("PAIMON_WAREHOUSE", place)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    catalog = paimon.open_catalog(place)
    catalog.create_database("db")
    columns = {"day": "INT NOT NULL", "k": "INT NOT NULL", "note": "STRING"}
    options = {"bucket": "1", "write-only": "true", "partition.mark-done-action": "success-file"}
    table = catalog.create_table("db.t", columns, primary_key=["day", "k"], partition_by=["day"], options=options)
    for k in (1, 2):
        table.write([{"day": 1, "k": k, "note": "a"}])
    (tmp_path / "rows.json").write_text('{"day": 1, "k": 3, "note": "b"}\n')

    def prepare(name):
        if name.startswith(("tags", "branches")):
            table.tags.create("first", 1)
            table.branches.create("side", from_latest=True)
            if name == "branches fast-forward":
                table.branch("side").write([{"day": 1, "k": 9, "note": "c"}])
        if name == "apply":
            main(["rollback", "db.t", "--snapshot", "1", "--plan-out", str(tmp_path / "plan.json")])
        if name in ("consumers", "expire consumers"):
            table.context.storage.write(table.context.paths.consumer("c"), b'{"nextSnapshot": 2}')
        if name.startswith("orphans"):
            path = table.context.paths.data_file("day=1", 0, "data-00000000-0000-4000-8000-000000000000-0.parquet")
            table.context.storage.write(path, b"left over")
            created = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
            table.context.storage.filesystem.store[path].created = created
            if name != "orphans remove":
                main(["orphans", "remove", "db.t", "--older-than", "2 d", "--apply"])
                return table.maintenance.quarantines()[0].id
        return ""

    def running(name, arguments, *, prepared=True):
        quarantine = prepare(name) if prepared else ""
        capsys.readouterr()
        words = [a.replace("FOLDER", str(tmp_path)).replace("QUARANTINE", quarantine) for a in arguments]
        try:
            code = main([*name.split(), "--json", *words])
        except SystemExit as stopped:
            code = stopped.code
        return code, *capsys.readouterr()

    return running


@pytest.fixture(scope="module")
def golden():
    found = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    yield found
    if WRITES:
        GOLDEN.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n", encoding="utf-8")


def test_every_command_has_a_case():
    assert set(COMMANDS) == set(SUCCESSES) | set(WITHOUT_JSON)
    assert not set(SUCCESSES) & set(WITHOUT_JSON)
    for name, command in COMMANDS.items():
        assert ("--json" in command._option_string_actions) is (name not in WITHOUT_JSON), name


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name == "cluster-archive" else name for name in SUCCESSES]
)
def test_success_is_one_document_with_the_same_keys(run, golden, name):
    code, out, err = run(name, SUCCESSES[name])
    assert (code, err) == (0, "")
    found = json.loads(out)
    if WRITES:
        golden[name] = shape(found)
    assert shape(found) == golden[name]


@pytest.mark.parametrize("name", SUCCESSES)
def test_an_error_is_one_object_on_standard_error(run, name):
    code, out, err = run(name, ERRORS.get(name, ("db.none", *SUCCESSES[name][1:])), prepared=False)
    assert (code, out, err.count("\n")) == (2, "", 1)
    found = json.loads(err)
    assert set(found) == {"command", "error", "exit_code"}
    assert (found["command"], found["exit_code"]) == (name.split()[0], 2)
    assert found["error"] == " ".join(found["error"].split()) != ""
