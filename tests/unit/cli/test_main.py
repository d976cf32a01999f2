"""The commands: what each prints and does, and which exit code it returns."""

import datetime
import itertools
import json
import math
import os
import subprocess
import sys

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.catalog import open as catalog_open
from paimon_core.cli.main import main
from tests.support.long_cases import long_cases

_numbers = itertools.count()


def four_snapshots(warehouse: str) -> paimon.Table:
    """Create db.t, partitioned by day, with four snapshots."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    schema = pa.schema([("day", pa.int32()), ("k", pa.int32())])
    options = {"bucket": "1", "write-only": "true", "partition.mark-done-action": "success-file"}
    table = catalog.create_table("db.t", schema, primary_key=["day", "k"], partition_by=["day"], options=options)
    for k in range(4):
        table.write(pa.table({"day": pa.array([1], pa.int32()), "k": pa.array([k], pa.int32())}))
    return table


@pytest.fixture
def lake():
    return f"memory://cli-{next(_numbers)}"


@pytest.fixture
def table(lake):
    return four_snapshots(lake)


@pytest.fixture
def run(table, lake, capsys, monkeypatch):
    """Return a function that runs a command on the warehouse and returns its exit code, output and errors."""
    monkeypatch.delenv("PAIMON_WAREHOUSE", raising=False)

    def running(*arguments: str, warehouse: bool = True):
        where = ["--warehouse", lake] if warehouse else []
        try:
            code = main([*arguments, *where])
        except SystemExit as stopped:
            code = stopped.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return running


def test_numbers_that_json_does_not_have_are_texts(lake, run):
    table = paimon.open_catalog(lake).create_table("db.numbers", "a DOUBLE, b ARRAY<DOUBLE>")
    table.write([{"a": math.nan, "b": [math.inf, 1.5]}])
    _, printed, _ = run("show", "db.numbers$audit_log", "--json")
    assert json.loads(printed, parse_constant=pytest.fail) == [{"rowkind": "+I", "a": "nan", "b": ["inf", 1.5]}]


def test_system_tables_are_shown(run):
    code, printed, _ = run("show", "db.t$files", "--columns", "bucket,level,creation_time", "--json")
    rows = json.loads(printed)
    assert (code, [(r["bucket"], r["level"]) for r in rows]) == (0, [(0, 0)] * 4)
    assert datetime.datetime.fromisoformat(rows[0]["creation_time"]).year > 2020
    code, printed, _ = run("show", "sys.tables", "--columns", "table_name,table_type")
    assert (code, printed.split()) == (0, ["table_name", "table_type", "t", "table"])
    assert run("show", "db.t$audit_log", "--limit", "2", "--columns", "k")[1].split() == ["k", "0", "1"]
    assert run("show", "db.t$audit_log", "--where", "k = 1", "--columns", "k")[1].split() == ["k", "1"]
    assert run("show", "db.t$tags")[1] == "no rows\n"
    code, _, error = run("show", "db.t$nosuch")
    assert code == 2
    assert "no system table 'nosuch'" in error


def test_options_are_listed_and_explained_without_a_warehouse(run):
    code, printed, _ = run("options", "write-buffer", warehouse=False)
    assert code == 0
    assert [line.split()[0] for line in printed.splitlines()] == [
        "option",
        "write-buffer-for-append",
        "write-buffer-size",
        "write-buffer-spill.max-disk-size",
        "write-buffer-spillable",
    ]
    assert run("options", "write.compaction-skip", warehouse=False)[1] == (
        "write-only: other jobs compact, expire and create tags, not the writers\n"
        "  type     boolean\n  default  false\n  use      obeyed\n  older    write.compaction-skip\n"
    )
    explained = json.loads(run("options", "merge-engine", "--json", warehouse=False)[1])
    assert explained["values"][0] == "deduplicate"
    assert explained["immutable"]
    assert run("options", "bukcet", warehouse=False) == (
        2,
        "",
        "paimon-core options: 'bukcet' is in no name of an option of Paimon: did you mean 'bucket'?\n",
    )


def test_tables(run):
    assert run("tables") == (0, "db.t\n", "")
    assert run("tables", "db", "--json") == (0, '[\n  "db.t"\n]\n', "")


def test_a_missing_warehouse_is_not_an_empty_one(run, tmp_path):
    gone, empty = str(tmp_path / "gone"), tmp_path / "empty"
    empty.mkdir()
    code, out, err = run("tables", "--warehouse", gone, warehouse=False)
    assert (code, out, err) == (2, "", f"paimon-core tables: warehouse {gone} does not exist\n")
    assert run("tables", "--warehouse", str(empty), warehouse=False) == (0, "no tables\n", "")
    for arguments in (("tables", "db"), ("snapshots", "db.t"), ("fsck", "db.t"), ("tags", "delete", "db.t", "x")):
        code, out, err = run(*arguments, "--warehouse", gone, warehouse=False)
        assert (code, out) == (2, "")
        assert gone in err


def test_the_deletion_of_a_tag_names_the_tag_and_its_files(run, table):
    table.tags.create("one", 1)
    table.expire_snapshots(keep_max=1)
    out = run("tags", "delete", "db.t", "one", "--apply")[1]
    assert "\ndone: tag one; paths " in out


def test_snapshots(run):
    code, out, _ = run("snapshots", "db.t")
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines()] == [
        ["id", "kind"],
        *([str(n), "APPEND"] for n in range(1, 5)),
    ]
    assert [s["rows_in_files"] for s in json.loads(run("snapshots", "db.t", "--json")[1])] == [1, 2, 3, 4]


def test_the_warehouse_may_come_from_the_environment(run, monkeypatch, lake):
    monkeypatch.setenv("PAIMON_WAREHOUSE", lake)
    assert run("tables", warehouse=False)[1] == "db.t\n"


def test_a_clean_table_and_one_that_is_not(run, table):
    code, out, _ = run("fsck", "db.t", "--deep")
    assert code == 0
    assert out.startswith("db.t: clean; checked I1 (4), ")
    entry = table.context.manifests.entries_of(table.latest_snapshot())[0]
    table.context.storage.delete([table.context.paths.data_file("day=1", 0, entry.file.file_name)])
    code, out, _ = run("fsck", "db.t")
    assert code == 1
    assert out.startswith("error I6: snapshot ")
    code, out, _ = run("fsck", "db.t", "--json")
    report = json.loads(out)
    assert (code, report["clean"], report["findings"][0]["invariant"]) == (1, False, "I6")


def test_a_bad_schema_is_a_finding(run, table):
    table.context.storage.write(table.context.paths.schema(1), b"{}")
    code, out, _ = run("fsck", "db.t")
    assert code == 1
    assert "error I25:" in out
    table.context.storage.overwrite(table.context.paths.schema(0), b"{}")
    code, out, err = run("fsck", "db.t")
    assert (code, out) == (1, "")
    assert err.startswith("paimon-core fsck: corrupt-table: ")


def test_tags(run, table):
    assert run("tags", "list", "db.t") == (0, "no tags\n", "")
    assert run("tags", "create", "db.t", "a", "--snapshot", "2", "--keep-for", "7 d") == (
        0,
        "created tag a for snapshot 2\n",
        "",
    )
    assert run("tags", "rename", "db.t", "a", "b")[:2] == (0, "renamed tag a to b\n")
    assert json.loads(run("tags", "list", "db.t", "--json")[1])[0]["tag"] == "b"
    code, out, _ = run("tags", "delete", "db.t", "b")
    assert code == 0
    assert "the plan was not applied" in out
    assert [t.name for t in table.tags.list()] == ["b"]
    assert run("tags", "delete", "db.t", "b", "--apply") == (
        0,
        "delete-tag db.t: tag b; 0 files, 0 bytes\ndone: tag b\n",
        "",
    )
    assert table.tags.list() == []
    assert run("tags", "create", "db.t", "c", "--time", "0")[1] == "created tag c for snapshot 1\n"


def test_branches(run, table):
    table.tags.create("t", 2)
    assert run("branches", "create", "db.t", "b", "--tag", "t")[:2] == (0, "created branch b\n")
    assert run("branches", "list", "db.t")[1] == "b\n"
    assert len(json.loads(run("snapshots", "db.t", "--branch", "b", "--json")[1])) == 1
    assert run("branches", "rename", "db.t", "b", "c")[0] == 0
    assert run("branches", "delete", "db.t", "c")[0] == 0
    assert table.branches.list() == ["c"]
    assert run("branches", "delete", "db.t", "c", "--apply")[0] == 0
    assert table.branches.list() == []


def test_a_rollback_is_planned_then_applied(run, table, tmp_path):
    code, out, _ = run("rollback", "db.t", "--snapshot", "2")
    assert code == 0
    assert "snapshot 4" in out
    assert table.context.snapshots.ids() == [1, 2, 3, 4]
    assert run("rollback", "db.t", "--snapshot", "3", "--apply")[1].endswith(
        "\ndone: snapshot 3 (APPEND) is the latest\n"
    )
    file = str(tmp_path / "plan.json")
    assert run("rollback", "db.t", "--snapshot", "2", "--plan-out", file)[0] == 0
    assert run("apply", file)[1].endswith("\ndone: snapshot 2 (APPEND) is the latest\n")
    assert table.context.snapshots.ids() == [1, 2]


def test_snapshots_expire(run, table):
    arguments = ("expire", "snapshots", "db.t", "--keep-last", "1", "--keep-max", "2")
    code, out, _ = run(*arguments)
    assert code == 0
    assert out.endswith("the plan was not applied: add --apply, or --plan-out FILE\n")
    assert json.loads(run(*arguments, "--json")[1])["subjects"] == ["snapshot 1", "snapshot 2"]
    assert table.context.snapshots.ids() == [1, 2, 3, 4]
    assert run(*arguments, "--apply")[0] == 0
    assert table.context.snapshots.ids() == [3, 4]


def test_a_plan_is_written_and_applied_later(run, table, tmp_path):
    file = str(tmp_path / "plan.json")
    assert run("expire", "snapshots", "db.t", "--keep-last", "1", "--keep-max", "2", "--plan-out", file)[0] == 0
    assert table.context.snapshots.ids() == [1, 2, 3, 4]
    assert run("apply", file)[0] == 0
    assert table.context.snapshots.ids() == [3, 4]
    code, _, err = run("apply", file)
    assert code == 1
    assert err.startswith("paimon-core apply: plan-outdated: ")


def test_other_expiry(run, table):
    table.context.storage.write(table.context.paths.consumer("c"), b'{"nextSnapshot": 2}')
    assert json.loads(run("consumers", "db.t", "--json")[1])[0]["next"] == 2
    for kind in ("consumers", "partitions"):
        code, out, _ = run(
            "expire", kind, "db.t", "--older-than", "3 d", *(["--strategy", "update-time"] * (kind == "partitions"))
        )
        assert (code, "nothing to do" in out) == (0, True)
    assert run("expire", "changelogs", "db.t", "--apply")[0] == 0


def test_tags_expire_by_plan(run, table, tmp_path):
    arguments = ("expire", "tags", "db.t")
    nothing = "expire-tags db.t: nothing to do\n"
    assert run(*arguments) == (0, f"{nothing}the plan was not applied: add --apply, or --plan-out FILE\n", "")
    assert run(*arguments, "--apply") == (0, f"{nothing}done: nothing to do\n", "")
    for name, snapshot in (("one", 1), ("two", 2)):
        table.tags.create(name, snapshot, keep_for=datetime.timedelta(milliseconds=1))
    table.tags.create("stays", 3, keep_for=datetime.timedelta(days=1))
    table.expire_snapshots(keep_max=1)
    while len(json.loads(run(*arguments, "--json")[1])["subjects"]) < 2:
        pass
    code, out, _ = run(*arguments)
    assert (code, out.count("  remove: tag "), "  file: " in out) == (0, 2, True)
    file = str(tmp_path / "plan.json")
    assert run(*arguments, "--plan-out", file)[0] == 0
    assert len(table.tags.list()) == 3
    code, out, _ = run("apply", file)
    assert (code, out.splitlines()[1][:22]) == (0, "done: expired one, two")
    assert [t.name for t in table.tags.list()] == ["stays"]
    assert run("apply", file)[0] == 1
    while not json.loads(run(*arguments, "--older-than", "0 ms", "--json")[1])["subjects"]:
        pass
    assert "\ndone: expired stays; " in run(*arguments, "--older-than", "0 ms", "--apply")[1]
    assert table.tags.list() == []


def test_orphans(run, table):
    name = "data-00000000-0000-4000-8000-000000000000-0.parquet"
    path = table.context.paths.data_file("day=1", 0, name)
    table.context.storage.write(path, b"left over")
    table.context.storage.filesystem.store[path].created = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    arguments = ("orphans", "remove", "db.t", "--older-than", "2 d")
    assert name in run(*arguments)[1]
    code, out, _ = run(*arguments, "--apply", "--json")
    assert (code, len(json.loads(out)["removed"])) == (0, 1)
    (aside,) = json.loads(run("orphans", "list", "db.t", "--json")[1])
    assert run("orphans", "undo", "db.t", aside["id"])[0] == 0
    assert table.context.storage.exists(path)
    assert run("orphans", "purge", "db.t")[0] == 0


def test_alter(run, table):
    names = table.schema.names
    change = ("ADD COLUMN `the note` STRING COMMENT 'why' FIRST", "SET ('write-only' = 'true')")
    code, out, _ = run("alter", "db.t", *change)
    assert (code, out.split(",")[0]) == (0, "schema 1: the note STRING")
    assert table.refresh().schema.names == ["the note", *names]
    assert json.loads(run("alter", "db.t", "DROP COLUMN `the note`", "--json")[1]) == {"schema": 2}
    assert run("alter", "db.t", "SET ('write-only' = 'true')")[1] == "nothing to change: schema 2\n"
    code, _, problem = run("alter", "db.t", "DROP COLUM x")
    assert code != 0
    assert "at character 1: expected ADD COLUMN, DROP COLUMN" in problem
    assert "no column 'nope'" in run("alter", "db.t", "DROP COLUMN nope")[2]
    assert table.refresh().schema.id == 2


def test_commands_that_remove_nothing(run, table):
    assert run("compact", "db.t", "--full", "--partition", "day=9")[1] == "nothing to do\n"
    assert run("compact", "db.t", "--full", "--partition-idle-time", "1 d")[1] == "nothing to do\n"
    assert "'1' has no unit" in run("compact", "db.t", "--partition-idle-time", "1")[2]
    sorted_and_idle = ("--order-by", "k", "--partition-idle-time", "1 d")
    assert "--partition-idle-time cannot be given with --order-by" in run("compact", "db.t", *sorted_and_idle)[2]
    both = ("--partition", "day=__DEFAULT_PARTITION__", "--partition", "day=1", "--partition-idle-time", "0 s")
    assert run("compact", "db.t", "--full", *both)[1] == "snapshot 5 (COMPACT)\n"
    assert run("compact", "db.t", "--full")[1] == "nothing to do\n"
    assert "only an append table without buckets can be sorted" in run("compact", "db.t", "--order-by", "k")[2]
    assert "'k' is not a partition column (partition columns: day)" in run("compact", "db.t", "--partition", "k=1")[2]
    assert run("compact", "db.t", "--full", "--where", "day = 9")[1] == "nothing to do\n"
    assert "column 5" in run("rescale", "db.t", "--where", "day ~ 9")[2]
    assert "--strategy needs --order-by" in run("compact", "db.t", "--strategy", "zorder")[2]
    assert run("compact-manifests", "db.t")[0] == 0
    table.context.snapshots.write_latest_hint(1)
    hint = table.context.paths.hint("LATEST")
    assert run("repair-hints", "db.t")[1].startswith(f"repaired path {hint}; was 1; now ")
    assert table.context.storage.read(table.context.paths.hint("LATEST")) == str(table.latest_snapshot().id).encode()
    assert run("rewrite-file-index", "db.t")[1] == "nothing to do\n"
    assert run("alter", "db.t", "SET ('file-index.bitmap.columns' = 'k')")[0] == 0
    assert run("rewrite-file-index", "db.t", "--every")[1].endswith(" (COMPACT)\n")
    assert run("rescale", "db.t", "--partition", "day=7", "--buckets", "3")[1] == "nothing to do\n"
    assert run("rescale", "db.t", "--partition", "day=1", "--partition", "day=7", "--buckets", "3")[0] == 0
    assert {e.total_buckets for e in table.context.manifests.entries_of(table.latest_snapshot())} == {3}
    assert run("mark-done", "db.t", "day=1")[1].endswith("day=1/_SUCCESS\n")
    assert run("remove-missing", "db.t")[0] == 0


WRONG = [
    (["tables"], "no warehouse is given: add --warehouse URL"),
    (["fsck", "db.none", "--warehouse", "LAKE"], "no table db.none"),
    (["fsck", "none", "--warehouse", "LAKE"], "database.table"),
    (["snapshots", "db.t", "--branch", "none", "--warehouse", "LAKE"], "none"),
    (["rollback", "db.t", "--warehouse", "LAKE"], "one of the arguments"),
    (["rollback", "db.t", "--snapshot", "77", "--warehouse", "LAKE"], "no snapshot 77"),
    (["tags", "create", "db.t", "../x", "--warehouse", "LAKE"], "tag name"),
    (["expire", "snapshots", "db.t", "--older-than", "soon", "--warehouse", "LAKE"], "'soon' is not a duration"),
    (["expire", "snapshots", "db.t", "--older-than", "5", "--warehouse", "LAKE"], "no unit: write '5 d' or '5 ms'"),
    (["orphans", "remove", "db.t", "--older-than", " 30 ", "--warehouse", "LAKE"], "write '30 d' or '30 ms'"),
    (["tags", "create", "db.t", "x", "--keep-for", "7", "--warehouse", "LAKE"], "write '7 d' or '7 ms'"),
    (["expire", "snapshots", "db.t", "--keep-last", "0", "--warehouse", "LAKE"], "whole number from 1"),
    (["expire", "snapshots", "db.t", "--apply", "--plan-out", "x", "--warehouse", "LAKE"], "not allowed with"),
    (["tags", "create", "db.t", "x", "--time", "noon", "--warehouse", "LAKE"], "'noon' is not a time"),
    (["mark-done", "db.t", "day", "--warehouse", "LAKE"], "is not a partition such as"),
    (["mark-done", "db.t", "day=1,day=2", "--warehouse", "LAKE"], "names a column twice"),
    (["mark-done", "db.t", "day=7", "--warehouse", "LAKE"], "no partition day=7"),
    (["mark-done", "db.t", "day=x", "--warehouse", "LAKE"], "'x' is not a value of type INT"),
    (["apply", "/no/such/plan", "--warehouse", "LAKE"], "cannot read the plan"),
    (["orphans", "undo", "db.t", "none", "--warehouse", "LAKE"], "none"),
    (["nonsense"], "invalid choice"),
    (["tables", "--option", "s3.region", "--warehouse", "LAKE"], "KEY=VALUE"),
    (["tables", "--option", "nonsense=1", "--warehouse", "LAKE"], "'nonsense'"),
    (["tables", "--option", "s3.region=x", "--warehouse", "LAKE"], "s3.region"),
    (["tables", "--catalog", "sql", "--warehouse", "LAKE"], "needs a uri"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_wrong_arguments_are_reported_in_one_line(run, lake, arguments, message):
    code, out, err = run(*(a.replace("LAKE", lake) for a in arguments), warehouse=False)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "option", ["s3.secret-key", "s3.access-key", "azure.sas-token", "token", "header.Authorization", "my-password"]
)
def test_secrets_are_refused_on_the_command_line_and_not_shown(run, option):
    code, _, err = run("tables", "--option", f"{option}=hunter2")
    assert code == 2
    assert "PAIMON_" in err
    assert "hunter2" not in err
    code, _, err = run("tables", "--catalog", "sql", "--uri", "postgresql+psycopg://me:hunter2@host/db")
    assert code == 2
    assert "hunter2" not in err


def test_secrets_come_from_the_environment(monkeypatch):
    from paimon_core.cli.catalogs import opening
    from paimon_core.cli.commands import parser

    args = parser().parse_args(["tables", "--warehouse", "s3://bucket/lake", "--option", "s3.region=eu-north-1"])
    opened = {}
    monkeypatch.setattr(catalog_open, "open_catalog", lambda warehouse, **given: opened.update(given))
    environment = {"PAIMON_S3_ACCESS_KEY": "who", "PAIMON_S3_SECRET_KEY": "hunter2", "PAIMON_TOKEN": "t"}
    opening.open_catalog_of(args, environment)
    assert opened["storage"] == {"s3.region": "eu-north-1", "s3.access-key": "who", "s3.secret-key": "hunter2"}
    assert opened["options"] is None
    args = parser().parse_args(["tables", "--warehouse", "wh", "--catalog", "rest"])
    opening.open_catalog_of(args, environment | {"PAIMON_URI": "http://host"})
    assert (opened["type"], opened["uri"], opened["options"]) == ("rest", "http://host", {"token": "t"})
    assert opened["storage"] is None


def test_a_sql_catalog(tmp_path, capsys):
    uri = f"sqlite:///{tmp_path}/names.db"
    catalog = paimon.open_catalog(tmp_path / "lake", type="sql", uri=uri)
    catalog.create_database("db")
    catalog.create_table("db.t", pa.schema([("a", pa.int32())]))
    assert main(["tables", "--warehouse", str(tmp_path / "lake"), "--catalog", "sql", "--uri", uri]) == 0
    assert capsys.readouterr().out == "db.t\n"


@pytest.mark.programs
def test_it_is_a_program(tmp_path):
    four_snapshots(str(tmp_path / "lake"))
    command = [sys.executable, "-m", "paimon_core", "fsck", "db.t", "--warehouse", str(tmp_path / "lake")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("db.t: clean")


TO_FULL, TO_CLOSED = ("> /dev/full", "No space left on device"), (">&-", "it is closed")
FSCK, HELP = "fsck db.t --warehouse LAKE", "fsck --help"
OUTPUTS = {
    (*to, arguments, buffered)
    for to in (TO_FULL, TO_CLOSED)
    for arguments in (FSCK, HELP)
    for buffered in (True, False)
}
SHORT = [(*TO_FULL, FSCK, True), (*TO_CLOSED, FSCK, False), (*TO_CLOSED, HELP, True)]


@pytest.mark.programs
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("redirection", "reason", "arguments", "buffered"), [*SHORT, *long_cases(sorted(OUTPUTS - set(SHORT)))]
)
def test_an_output_that_cannot_be_written_is_an_error_of_one_line(tmp_path, redirection, reason, arguments, buffered):
    four_snapshots(str(tmp_path / "lake"))
    command = f"{sys.executable} -m paimon_core {arguments.replace('LAKE', str(tmp_path / 'lake'))} {redirection}"
    environment = {**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"}
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, env=environment, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("paimon-core fsck: cannot write to standard output: ")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


def test_repair_plans_then_applies(tmp_path, capsys):
    table = four_snapshots(str(tmp_path))
    path = table.context.paths.snapshot(4)
    table.context.storage.overwrite(path, table.context.storage.read(path)[:100])
    place = ["--warehouse", str(tmp_path)]
    for command in (["snapshots", *place, "db.t"], ["compact", *place, "db.t"]):
        assert main(command) == 1
        told = capsys.readouterr().err
        assert "have their own files, the newest of them is 3; `paimon-core repair db.t` shows" in told
    assert main(["fsck", *place, "db.t"]) == 1
    assert "`paimon-core repair db.t` shows" in capsys.readouterr().out
    assert main(["repair", *place, "db.t", "--plan-out", str(tmp_path / "plan")]) == 0
    assert main(["repair", *place, "db.t"]) == 0
    told = capsys.readouterr().out
    assert "lost: a commit of unknown rows" in told
    assert "then: write again what was committed after snapshot 3" in told
    assert main(["snapshots", *place, "db.t"]) == 1
    assert main(["apply", *place, str(tmp_path / "plan")]) == 0
    assert "latest 3" in capsys.readouterr().out
    assert main(["fsck", *place, "db.t"]) == 0
    assert main(["repair", *place, "db.t", "--apply"]) == 0
    assert table.refresh().scan().count() == 3
