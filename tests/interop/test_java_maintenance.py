"""Tables that Java wrote, changed by our commits, expiry, tags and rollback: Java must read them and go on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.commit.overwrite import Overwrite
from paimon_core.maintain.expiry.retention import Retention
from paimon_core.maintain.expiry.snapshots import expire
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.maintain.tags.operations import create_tag, delete_tag
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths
from tests.support.commits import commit
from tests.support.fake_tables import assert_nothing_is_left_over, check_whole, files_on_storage

T = "db.t"
CREATE = {
    "op": "create",
    "table": T,
    "fields": [
        {"name": "d", "type": "DATE NOT NULL"},
        {"name": "k", "type": "INT NOT NULL"},
        {"name": "v", "type": "STRING"},
    ],
    "primaryKeys": ["d", "k"],
    "partitionKeys": ["d"],
    "options": {"bucket": "2", "write-only": "true", "manifest.merge-min-count": "4"},
}
COMPACT = {"op": "compact", "table": T, "options": {"write-only": "false"}}
FAR = 10**15


def write(number, *days, **fields):
    rows = [
        ["+I", day, k, f"{number}"] for day in days or ("2024-01-01", "2024-01-02") for k in range(number, number + 3)
    ]
    return {"op": "write", "table": T, "rows": rows, **fields}


HISTORY = [
    CREATE,
    write(1),
    write(2),
    COMPACT,
    write(3),
    write(4, "2024-01-03"),
    {"op": "write", "table": T, "rows": [["+I", "2024-01-02", 7, "o"]], "overwrite": {"d": "2024-01-02"}},
    write(5),
    COMPACT,
    write(6),
]


def opened(warehouse) -> TableContext:
    root = f"{warehouse}/db.db/t"
    storage = FsspecStorage("file")
    schema = SchemaStore(storage, TablePaths(root)).latest()
    assert schema is not None
    return TableContext.of(T, storage, root, schema)


def expire_to(context, left):
    return expire(context, Retention(left, left, FAR, 1000))


def test_java_reads_what_our_expiry_left(oracle, warehouse):
    oracle.run(warehouse, HISTORY)
    context = opened(warehouse)
    latest = context.snapshots.latest()
    at = {i: oracle.dump(warehouse, T, options={"scan.snapshot-id": str(i)}) for i in context.snapshots.ids()}
    create_tag(context, "kept", context.snapshots.read(2), 3_600_000)
    create_tag(context, "also", context.snapshots.read(5))
    expire_to(context, 2)
    assert context.snapshots.ids() == [latest.id - 1, latest.id]
    for snapshot_id in context.snapshots.ids():
        assert oracle.dump(warehouse, T, options={"scan.snapshot-id": str(snapshot_id)}) == at[snapshot_id]
    assert oracle.dump(warehouse, T, options={"scan.tag-name": "kept"}) == at[2]
    assert oracle.dump(warehouse, T, options={"scan.tag-name": "also"}) == at[5]
    check_whole(context)
    assert_nothing_is_left_over(context)
    delete_tag(context, "kept")
    assert oracle.dump(warehouse, T, options={"scan.tag-name": "also"}) == at[5]
    assert_nothing_is_left_over(context)
    oracle.run(warehouse, [write(7), COMPACT])
    rows = oracle.dump(warehouse, T)
    assert len(rows) == 17
    expire_to(context, 1)
    delete_tag(context, "also")
    assert_nothing_is_left_over(context)
    assert oracle.dump(warehouse, T) == rows


@pytest.mark.parametrize("tagged", [(), (2,), (3, 6), (1, 4, 8)])
def test_our_expiry_deletes_the_files_that_javas_does(oracle, warehouse, tagged):
    tags = [{"op": "tag", "table": T, "name": f"t{i}", "snapshot": i} for i in tagged]
    oracle.run(warehouse, [*HISTORY, *tags])
    twin = Path(warehouse).parent / "twin"
    shutil.copytree(warehouse, twin)
    oracle.run(twin, [{"op": "expire", "table": T, "retainMin": 2, "retainMax": 2, "olderThanMillis": FAR}])
    context, javas = opened(warehouse), opened(twin)
    expire_to(context, 2)
    assert files_on_storage(context) == files_on_storage(javas)
    for hint in ("EARLIEST", "LATEST"):
        assert context.storage.read(context.paths.hint(hint)) == javas.storage.read(javas.paths.hint(hint))
    for name in (f"t{i}" for i in tagged):
        delete_tag(context, name)
        oracle.run(twin, [{"op": "deleteTag", "table": T, "name": name}])
        assert files_on_storage(context) == files_on_storage(javas)


def test_java_goes_on_after_our_rollback(oracle, warehouse):
    oracle.run(warehouse, HISTORY)
    context = opened(warehouse)
    want = oracle.dump(warehouse, T, options={"scan.snapshot-id": "4"})
    fourth = context.snapshots.read(4)
    rollback(context, fourth)
    assert oracle.dump(warehouse, T) == want
    create_tag(context, "back", fourth)
    oracle.run(warehouse, [write(8), COMPACT, write(9)])
    assert context.snapshots.ids() == [1, 2, 3, 4, 5, 6, 7]
    expire_to(context, 1)
    rollback(context, fourth)
    assert oracle.dump(warehouse, T) == want
    (done,) = oracle.run(warehouse, [write(9)])
    assert done["snapshot"] == 5


def test_java_reads_and_goes_on_after_our_commits(oracle, warehouse):
    oracle.run(warehouse, [CREATE, write(1), write(2, "2024-01-03")])
    context = opened(warehouse)
    day = encode_row([19724], [context.schema.partition_fields[0].type])  # 2024-01-02
    (overwritten,) = commit(
        [], context=context, user="ours", overwrite=Overwrite(lambda p: p == day), operation="DELETE"
    )
    assert overwritten.delta_record_count == -3
    left = oracle.dump(warehouse, T)
    assert sorted({row[1] for row in left}) == ["2024-01-01", "2024-01-03"]
    messages = [
        CommitMessage(e.partition, e.bucket, e.total_buckets, (), (), (e.file,), (e.file.upgraded(5),))
        for e in context.manifests.entries_of(overwritten)
    ]
    commit(messages, context=context, user="ours", identifier=1, watermark=77, properties={"who": "we"})
    assert oracle.dump(warehouse, T) == left
    assert {
        f["level"] for s in oracle.run(warehouse, [{"op": "plan", "table": T}])[0]["splits"] for f in s["files"]
    } == {5}
    oracle.run(warehouse, [write(5), COMPACT])
    assert context.snapshots.latest().watermark == 77
    expire_to(context, 1)
    check_whole(context)
    assert len(oracle.dump(warehouse, T)) == 12
