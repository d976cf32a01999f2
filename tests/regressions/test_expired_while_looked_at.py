"""An expiry between reading the latest snapshot and reading its manifests: the newer snapshot is read instead."""

import datetime

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.commit.snapshot_chain import in_chain
from paimon_core.plan.split import Split
from paimon_core.table.table import Table
from tests.support.fake_tables import reopened
from tests.support.faulty_storage import FaultyStorage

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("v", pa.int64())])
OPTIONS = {"bucket": "1", "write-only": "true", "commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "1 ms"}


def rows(*keys):
    return pa.table({"p": ["a"] * len(keys), "k": list(keys), "v": list(keys)}, SCHEMA)


@pytest.fixture
def table(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    made = catalog.create_table("db.t", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=OPTIONS)
    for key in (1, 2, 3):
        made.write(rows(key))
    return made


def watched(table):
    """Return the same table without cached state, and its storage."""
    storage = FaultyStorage(table.context.storage)
    return Table(reopened(table.context, storage)), storage


def overtake(table):
    """Commit, compact and expire all snapshots but the latest, as a concurrent process would."""
    table.write(rows(4))
    table.compact(full=True)
    table.expire_snapshots(keep_last=1, keep_max=1, older_than=datetime.timedelta(0))


CALLS = {
    "write": lambda t: t.write(rows(5)),
    "delete": lambda t: t.delete(col("v") == 4),
    "delete of a partition": lambda t: t.delete(col("p") == "a"),
    "overwrite": lambda t: t.overwrite(rows(5)),
    "compact": lambda t: t.compact(full=True),
    "plan_compaction": lambda t: t.plan_compaction(full=True),
    "analyze": lambda t: t.analyze(),
    "prepare": lambda t: t.prepare(rows(5)).publish(),
    "prepare an overwrite": lambda t: t.prepare(rows(5), overwrite=True).publish(),
    "scan": lambda t: t.scan().to_arrow(),
    "splits": lambda t: t.scan().splits(),
    "count": lambda t: t.scan().count(),
    "filtered count": lambda t: t.scan(where=col("v") > 1).count(),
    "files": lambda t: t.inspect.files(),
    "manifests": lambda t: t.inspect.manifests(),
    "system partitions": lambda t: t.system("partitions").to_arrow(),
    "system audit_log": lambda t: t.system("audit_log").to_arrow(),
    "partitions": lambda t: t.maintenance.plan_partition_expiry(
        older_than=datetime.timedelta(days=1), strategy="update-time"
    ),
    "missing files": lambda t: t.maintenance.plan_missing_removal(),
    "compact_manifests": lambda t: t.maintenance.compact_manifests(),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_newer_snapshot_is_looked_at(table, call):
    mine, storage = watched(table)
    storage.before("read", "manifest-list", lambda: overtake(table))
    CALLS[call](mine)
    assert storage.hooks == []


@pytest.mark.parametrize("call", CALLS)
def test_the_files_go_before_the_snapshot_as_in_java(table, call):
    """Java deletes the files of a snapshot before the snapshot itself."""
    mine, storage = watched(table)
    expired = [table.context.snapshots.read(i) for i in (1, 2, 3)]

    def overtaken():
        overtake(table)
        for snapshot in expired:
            table.context.snapshots.create(snapshot)

    storage.before("read", "manifest-list", overtaken)
    CALLS[call](mine)
    assert storage.hooks == []


def test_statistics_of_an_expired_snapshot(table):
    table.analyze()
    mine, storage = watched(table)
    storage.before("read", "/statistics/", lambda: (table.analyze(), overtake(table)))
    assert mine.statistics() == table.statistics()


def test_the_list_of_snapshots_leaves_out_what_expired_meanwhile(table):
    mine, storage = watched(table)
    storage.before("read", "snapshot-2", lambda: overtake(table))
    assert mine.inspect.snapshots()["snapshot_id"].to_pylist() == [1]


def test_a_tag_of_the_latest_snapshot(table):
    mine, storage = watched(table)
    storage.before("exists", "tag-t", lambda: overtake(table))
    assert mine.tags.create("t").snapshot == table.latest_snapshot()


def test_a_scan_that_was_planned_stays_with_its_snapshot(table):
    """Planned splits are never mixed with a newer snapshot: the error states that the snapshot expired."""
    scan = table.scan()
    assert len(scan.splits()) == 1
    overtake(table)
    with pytest.raises(paimon.SnapshotNotFound, match=r"snapshot 3 of db.t expired or was rolled back"):
        scan.to_arrow()


def test_a_pinned_scan_reads_no_other_snapshot(table):
    scan = table.at(snapshot=2).scan()
    overtake(table)
    with pytest.raises(paimon.SnapshotNotFound, match=r"snapshot 2 .* has expired"):
        scan.to_arrow()


def test_a_latest_snapshot_whose_manifests_are_missing_is_corrupt_at_once(table):
    latest = table.latest_snapshot()
    table.context.storage.delete([table.context.paths.manifest(latest.delta_manifest_list)])
    mine, storage = watched(table)
    with pytest.raises(paimon.CorruptTable, match="is missing"):
        mine.scan().to_arrow()
    assert storage.count("read", latest.delta_manifest_list) == 1


def test_a_table_that_is_dropped_while_it_is_read_is_no_empty_table(table):
    planned, scan = table.scan(), table.scan()
    planned.splits()
    table.context.storage.delete_directory(table.location)
    for dropped in (planned, scan):
        with pytest.raises(paimon.TableNotFound, match=r"table db.t was dropped"):
            dropped.to_arrow()


def test_the_snapshot_after_ours_expires_while_the_chain_is_followed(table):
    mine, storage = watched(table)
    ours = table.context.snapshots.read(1)
    storage.before("read", "snapshot-2", lambda: table.context.snapshots.delete([2]))
    assert in_chain(mine.context, ours)


@pytest.mark.parametrize("carried", [lambda s: s, lambda s: Split.from_bytes(s.to_bytes())], ids=["here", "as bytes"])
def test_a_pinned_snapshot_whose_id_is_anothers_after_a_rollback(table, carried):
    """Its file was deleted as an orphan."""
    scan = table.at(snapshot=3).scan()
    (split,) = map(carried, scan.splits())
    path = path_of_the_newest(table, split)
    table.rollback(snapshot=2)
    table.write(rows(4))
    table.context.storage.delete([path])
    with pytest.raises(paimon.SnapshotNotFound, match=r"snapshot 3 of db.t expired or was rolled back"):
        list(scan.read(split))
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [1, 2, 4]


def test_a_missing_file_of_a_snapshot_that_a_tag_still_holds_is_damage(table):
    scan = table.at(snapshot=3).scan()
    (split,) = scan.splits()
    path = path_of_the_newest(table, split)
    table.tags.create("kept", 3)
    overtake(table)
    table.context.storage.delete([path])
    with pytest.raises(paimon.CorruptTable, match="is missing"):
        list(scan.read(split))


def path_of_the_newest(table, split):
    """Return the path of the split's newest data file."""
    newest = max(split.files, key=lambda f: f.max_sequence_number)
    return table.context.paths.data_file("p=a", split.bucket, newest.file_name)
