"""Tags, branches and rollbacks that one implementation makes, the other reads and goes on with."""

from __future__ import annotations

import datetime
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.catalog.linked_copy import linked_copy
from paimon_core.maintain.tags.automatic import create_due_tags
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths
from tests.support.fake_tables import append, check_whole

T = "db.t"
CREATE = {
    "op": "create",
    "table": T,
    "fields": [{"name": "k", "type": "INT NOT NULL"}, {"name": "v", "type": "INT"}],
    "primaryKeys": ["k"],
    "partitionKeys": [],
    "options": {"bucket": "1", "write-only": "true"},
}


def write(k, v, **fields):
    return {"op": "write", "table": T, "rows": [["+I", k, v]], **fields}


def ours(warehouse):
    return paimon.open_catalog(str(warehouse)).table(T)


def put(table, k, v):
    return table.write(pa.table([[k], [v]], schema=table.arrow_schema))


def rows(table):
    return sorted([r["k"], r["v"]] for r in table.scan().to_arrow().to_pylist())


def java_rows(oracle, warehouse, **fields):
    return [row[1:] for row in oracle.dump(warehouse, T, **fields)]


# -- branches


def test_java_reads_and_writes_and_fast_forwards_our_branch(oracle, warehouse):
    oracle.run(warehouse, [CREATE, write(1, 1), write(1, 2)])
    table = ours(warehouse)
    table.tags.create("base")
    table.branches.create("dev", tag="base")
    table.branches.create("empty")
    put(table.branch("dev"), 2, 2)
    assert java_rows(oracle, warehouse, branch="dev") == [[1, 2], [2, 2]]
    assert java_rows(oracle, warehouse, branch="empty") == []
    oracle.run(warehouse, [write(3, 3, branch="dev"), write(9, 9, branch="empty")])
    assert rows(table.branch("dev")) == [[1, 2], [2, 2], [3, 3]]
    assert rows(table.branch("empty")) == [[9, 9]]
    oracle.run(warehouse, [{"op": "fastForward", "table": T, "name": "dev"}])
    assert rows(table) == [[1, 2], [2, 2], [3, 3]] == java_rows(oracle, warehouse)
    check_whole(table.context)


def test_we_read_and_write_and_fast_forward_javas_branch(oracle, warehouse):
    tag = {"op": "tag", "table": T, "name": "base", "snapshot": 2}
    branch = {"op": "branch", "table": T, "name": "dev", "tag": "base"}
    empty = {"op": "branch", "table": T, "name": "a.b"}
    oracle.run(warehouse, [CREATE, write(1, 1), write(1, 2), tag, branch, empty, write(2, 2, branch="dev")])
    table = ours(warehouse)
    assert table.branches.list() == ["a.b", "dev"]
    put(table.branch("dev"), 3, 3)
    want = [[1, 2], [2, 2], [3, 3]]
    assert rows(table.branch("dev")) == want == java_rows(oracle, warehouse, branch="dev")
    assert table.branches.fast_forward("dev").id == 4
    assert rows(table) == want == java_rows(oracle, warehouse)
    (done,) = oracle.run(warehouse, [write(4, 4)])
    assert done["snapshot"] == 5
    table.branches.rename("dev", "old")
    assert java_rows(oracle, warehouse, branch="old") == want
    table.branches.delete("old")
    table.branches.delete("a.b")
    assert not list((Path(warehouse) / "db.db" / "t" / "branch").glob("*"))
    check_whole(table.context)


def test_the_files_of_a_branch_are_javas(oracle, warehouse):
    oracle.run(warehouse, [CREATE, write(1, 1), {"op": "tag", "table": T, "name": "base", "snapshot": 1}])
    oracle.run(warehouse, [{"op": "branch", "table": T, "name": "java", "tag": "base"}])
    ours(warehouse).branches.create("ours", tag="base")
    folder = Path(warehouse) / "db.db" / "t" / "branch"

    def files(name):
        return {str(p.relative_to(folder / name)): p.read_bytes() for p in (folder / name).rglob("*-*") if p.is_file()}

    assert files("branch-ours") == files("branch-java")


# -- tags


def test_java_reads_our_tags_whatever_was_done_to_them(oracle, warehouse):
    oracle.run(warehouse, [CREATE, write(1, 1), write(1, 2), write(1, 3)])
    table = ours(warehouse)
    table.tags.create("first", 1, keep_for=datetime.timedelta(hours=1))
    table.tags.rename("first", "one")
    table.tags.create("moved", 1)
    table.tags.replace("moved", 2)
    assert java_rows(oracle, warehouse, options={"scan.tag-name": "one"}) == [[1, 1]]
    assert java_rows(oracle, warehouse, options={"scan.tag-name": "moved"}) == [[1, 2]]
    names = sorted(row[1] for row in oracle.dump(warehouse, f"{T}$tags"))
    assert names == ["moved", "one"]
    oracle.run(warehouse, [{"op": "rollback", "table": T, "tag": "one"}])
    assert rows(table) == [[1, 1]]
    assert [t.name for t in table.tags.list()] == ["one"]


def metadata_only(warehouse, options):
    """A table of ours whose snapshots are made at chosen times; Java reads its metadata."""
    oracle_options = {"bucket": "-1", "write-only": "true", **options}
    catalog = paimon.open_catalog(str(warehouse))
    catalog.create_database("db")
    schema = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int32())])
    catalog.create_table(T, schema, partition_by=["p"], options=oracle_options)
    return context_of(warehouse)


def context_of(warehouse):
    root = f"{warehouse}/db.db/t"
    storage = FsspecStorage("file")
    schema = SchemaStore(storage, TablePaths(root)).latest()
    assert schema is not None
    return TableContext.of(T, storage, root, schema)


def tag_files(warehouse):
    found = {}
    for path in (Path(warehouse) / "db.db" / "t" / "tag").rglob("*"):
        if path.is_file():
            found[path.name] = json.loads(path.read_text()).get("id")
    return found


NEWER = ("uuid", "writerVersion")
"""Members that Java 1.4.2 does not know and does not copy."""
HOUR = 3_600_000
START = 1_705_276_800_000  # 2024-01-15T00:00Z
STEPS = {
    "every few minutes": [START + n * HOUR // 4 for n in range(14)],
    "gaps": [START + round(HOUR * h) for h in (0.0, 0.4, 3.2, 3.3, 3.99, 4.0, 9.5, 9.6, 26.1, 49.0, 49.01)],
    "days": [START + n * 13 * HOUR for n in range(9)],
}


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tag.creation-period": "hourly"},
        {"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes", "tag.creation-delay": "10 min"},
        {"tag.creation-period": "hourly", "tag.automatic-completion": "true"},
        {"tag.creation-period": "two-hours", "tag.period-formatter": "without_dashes"},
        {"tag.creation-period-duration": "45 min", "tag.num-retained-max": "3"},
        {"tag.period-formatter": "without_dashes", "sink.process-time-zone": "Asia/Kolkata"},
        {"tag.creation-period": "hourly", "tag.create-success-file": "true", "tag.num-retained-max": "2"},
    ],
)
def test_automatic_tags_have_javas_names_on_javas_snapshots(oracle, warehouse, options, steps):
    options = {"tag.automatic-creation": "process-time", "sink.process-time-zone": "UTC", **options}
    context = metadata_only(warehouse, options)
    for millis in STEPS[steps]:
        append(context, now_millis=millis)
    twin = Path(warehouse).parent / f"{Path(warehouse).name}-twin"
    shutil.copytree(warehouse, twin)
    oracle.run(twin, [{"op": "autoTags", "table": T}])
    create_due_tags(context)
    assert tag_files(warehouse) == tag_files(twin) != {}
    for path in (Path(warehouse) / "db.db" / "t" / "tag").glob("tag-2*"):
        ours, javas = (json.loads((folder / path.relative_to(warehouse)).read_text()) for folder in (warehouse, twin))
        assert {k: v for k, v in ours.items() if k not in NEWER} == javas


def test_watermark_tags_have_javas_names(oracle, warehouse):
    options = {"tag.automatic-creation": "watermark", "sink.watermark-time-zone": "GMT+08:00"}
    context = metadata_only(warehouse, options)
    for n in range(8):
        append(context, watermark=None if n == 0 else START + n * 7 * HOUR)
    twin = Path(warehouse).parent / f"{Path(warehouse).name}-twin"
    shutil.copytree(warehouse, twin)
    oracle.run(twin, [{"op": "autoTags", "table": T}])
    create_due_tags(context)
    assert tag_files(warehouse) == tag_files(twin) != {}


def test_java_goes_on_with_our_automatic_tags_and_we_with_its(oracle, warehouse):
    options = {"tag.automatic-creation": "process-time", "sink.process-time-zone": "UTC", "tag.num-retained-max": "2"}
    context = metadata_only(warehouse, {**options, "tag.creation-period": "hourly"})
    turns = (lambda: oracle.run(warehouse, [{"op": "autoTags", "table": T}]), lambda: create_due_tags(context))
    for n in range(6):
        append(context, now_millis=START + n * HOUR)
        turns[n % 2]()
        assert tag_files(warehouse)[f"tag-2024-01-{15 if n else 14} {(n - 1) % 24:02d}"] == n + 1
    assert len(tag_files(warehouse)) == 2


# -- rollback


def test_java_reads_what_our_rollbacks_leave(oracle, warehouse):
    oracle.run(warehouse, [CREATE, write(1, 1), write(1, 2), write(1, 3), write(1, 4)])
    table = ours(warehouse)
    table.tags.create("two", 2)
    table.tags.create("four", 4)
    third = table.at(snapshot=3).latest_snapshot()
    table.rollback(time=third.time_millis)
    left = table.latest_snapshot().id
    assert left >= 3  # two snapshots may be of one millisecond
    assert java_rows(oracle, warehouse) == [[1, left]]
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
    table.rollback(tag="two")
    assert java_rows(oracle, warehouse) == [[1, 2]]
    (done,) = oracle.run(warehouse, [write(2, 2)])
    assert done["snapshot"] == 3
    assert [t.name for t in table.tags.list()] == ["two"]
    check_whole(table.context)


# -- copies by reference


def test_java_reads_and_empties_a_copy_by_reference(oracle, warehouse):
    oracle.run(warehouse, [CREATE, write(1, 1), write(1, 2), write(2, 2)])
    catalog = paimon.open_catalog(str(warehouse))
    copy, shared = linked_copy(catalog[T], catalog, "db.copy")
    assert shared > 3
    at_copy = {"table": "db.copy"}
    assert [row[1:] for row in oracle.dump(warehouse, "db.copy")] == [[1, 2], [2, 2]]
    oracle.run(
        warehouse,
        [
            {**write(3, 3), **at_copy},
            {"op": "compact", "full": True, **at_copy},
            {"op": "expire", "retainMax": 1, "retainMin": 1, "olderThanMillis": 1 << 60, **at_copy},
        ],
    )
    copy = catalog["db.copy"]
    assert rows(copy) == [[1, 2], [2, 2], [3, 3]]
    assert rows(ours(warehouse)) == [[1, 2], [2, 2]] == java_rows(oracle, warehouse)
    check_whole(ours(warehouse).context)
    check_whole(copy.context)
