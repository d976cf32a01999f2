"""Changes and differences of versions: bounds, ways, kinds, proofs, and what happens when snapshots go meanwhile."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import CorruptTable, InvalidRequest, SnapshotNotFound
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.table.changes import changes as changes_module
from paimon_core.table.changes import hash_difference
from paimon_core.table.changes.diff import DiffSummary

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])


@pytest.fixture
def catalog(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    return catalog


def make(catalog, *, keyed=True, **options):
    options = {"bucket": "1"} | {k.replace("_", "-"): v for k, v in options.items()} if keyed else options
    return catalog.create_table("db.t", SCHEMA, primary_key=["k"] if keyed else [], options=options)


def rows(**values):
    return pa.table([[int(k[1:]) for k in values], list(values.values())], schema=SCHEMA)


def told(changes):
    return [tuple(row.values()) for row in changes.to_arrow().to_pylist()]


@pytest.fixture
def table(catalog):
    """Return a table without changelog: two writes, an overwrite, and a write."""
    table = make(catalog, write_only="true")
    table.write(rows(k1="a", k2="a"))
    table.write(rows(k2="b", k3="b"))
    table.overwrite(rows(k1="a", k4="o"))
    table.write(rows(k4="d"))
    return table


def test_a_bound_is_an_id_a_tag_a_time_or_a_snapshot(table):
    table.tags.create("two", snapshot=2)
    second = table.context.snapshots.read(2)
    time = datetime.datetime.fromtimestamp(second.time_millis / 1000)
    expected = told(table.changes(2))
    assert expected == [("-D", 2, "b"), ("-D", 3, "b"), ("+I", 4, "d")]
    for bound in ("two", second):
        assert told(table.changes(bound)) == expected
    at = table.changes(time + datetime.timedelta(milliseconds=1)).start.id  # commits may share a millisecond
    assert table.changes((time + datetime.timedelta(milliseconds=1)).isoformat()).start.id == at >= 2
    assert table.changes(datetime.datetime(2000, 1, 1)).start.id == 0
    assert told(table.diff("two", 1)) == [("-U", 2, "b"), ("+U", 2, "a"), ("-D", 3, "b")]
    for bound in (True, -1, 1.5, "no such tag"):
        with pytest.raises(InvalidRequest, match="start"):
            table.changes(bound)


def test_an_overwrite_is_told_in_each_way(table):
    for way in ("auto", "delta", "diff"):
        changes = table.changes(2, 3, way=way)
        assert changes.ways == (("diff", 2, 3),)
        assert told(changes) == [("-D", 2, "b"), ("-D", 3, "b"), ("+I", 4, "o")]
    assert table.changes(way="delta").ways == (("delta", 0, 2), ("diff", 2, 3), ("delta", 3, 4))
    assert "an overwrite does not say what it replaced" in table.changes(2, 3).explain()


def test_each_commit_is_told_apart_on_request(table):
    found = table.changes(with_commit=True).to_arrow()
    assert found.column_names == ["rowkind", "_SNAPSHOT_ID", "_COMMIT_TIME", "k", "v"]
    assert found["_SNAPSHOT_ID"].to_pylist() == [1, 1, 2, 2, 2, 3, 3, 3, 4, 4]
    times = {
        s: t.timestamp() * 1000 for s, t in zip(*(found[n].to_pylist() for n in found.column_names[1:3]), strict=True)
    }
    assert times == {i: pytest.approx(table.context.snapshots.read(i).time_millis) for i in (1, 2, 3, 4)}


def test_a_difference_counts_what_changed_by_column(catalog, table):
    assert table.diff(1, 2).summary() == DiffSummary(added=1, removed=0, changed=1, columns={"v": 1})
    assert table.diff(2, 2).summary() == DiffSummary(0, 0, 0, {})
    with pytest.raises(InvalidRequest, match="where"):
        table.diff(1, 2, where=col("k") == 2).summary()


def test_a_filter_tests_each_row_of_a_difference_alone(table):
    assert told(table.diff(1, 2, columns=["v"], where=col("v") == "a")) == [("-U", "a")]


@pytest.mark.parametrize("spilled", [False, True])
def test_rows_that_were_only_rewritten_are_no_changes(catalog, monkeypatch, spilled):
    if spilled:
        monkeypatch.setattr(hash_difference, "BIN_ROWS", 16)
    table = make(catalog, keyed=False)
    for number in range(6):
        table.write(pa.table([[number, 7, 7], ["x", "y", None]], schema=SCHEMA))
    table.compact(full=True)
    last = table.latest_snapshot().id
    assert told(table.diff(last - 1, last)) == []
    table.delete((col("k") == 7) & (col("v") == "y"))
    table.write(pa.table([[7], ["y"]], schema=SCHEMA))
    assert sorted(told(table.diff(last, last + 2))) == [("-D", 7, "y")] * 5
    assert table.changes(last).ways == (("diff", last, last + 1), ("delta", last + 1, last + 2))
    assert table.changes(last).prove()


def test_rows_of_level_0_are_told_before_their_changelog_is_written(catalog):
    table = make(catalog, changelog_producer="lookup", write_only="true")
    table.write(rows(k1="a"))
    assert table.changes(way="changelog").to_arrow().num_rows == 0
    assert (told(table.changes()), table.changes().ways) == ([("+I", 1, "a")], (("diff", 0, 1),))
    table.compact(full=True)
    assert (told(table.changes()), table.changes().ways) == ([("+I", 1, "a")], (("changelog", 0, 2),))
    assert table.changes(1).ways == (("diff", 1, 2),)


def test_a_tag_is_a_start_after_its_snapshot_has_expired(table):
    table.tags.create("one", snapshot=1)
    table.expire_snapshots(keep_last=1, keep_max=1)
    changes = table.changes("one")
    assert told(changes) == [("-D", 2, "a"), ("+I", 4, "d")]
    assert changes.prove()
    for start in (None, 0, 2):
        with pytest.raises(SnapshotNotFound) as caught:
            table.changes(start)
        assert caught.value.facts["snapshot"] == (3 if start else 1)
    assert told(table.changes(way="diff")) == [("+I", 1, "a"), ("+I", 4, "d")]


def test_a_start_that_was_rolled_back_is_compared_with_the_end(table):
    table.tags.create("one", snapshot=1)
    gone = table.context.snapshots.read(2)
    table.rollback(snapshot=1)
    table.write(rows(k9="n"))
    table.write(rows(k9="m"))
    assert table.changes(gone, 3).ways == (("diff", 2, 3),)
    assert told(table.changes(gone, 3)) == [("-U", 2, "b"), ("+U", 2, "a"), ("-D", 3, "b"), ("+I", 9, "m")]


@pytest.mark.parametrize("way", ["auto", "delta"])
def test_what_happens_meanwhile_is_an_error_or_changes_nothing(table, way):
    expected = told(table.changes(way=way))
    early, late = table.changes(way=way), table.changes(1, way=way)
    table.write(rows(k8="later"))
    assert told(early) == expected
    last = table.changes(3, way=way)
    table.rollback(snapshot=3)
    table.write(rows(k4="another"))
    gone = last.end.snapshot
    table.context.storage.delete([table.context.paths.manifest(gone.delta_manifest_list)])  # as orphans are removed
    with pytest.raises(SnapshotNotFound, match="snapshot 5"):
        told(last)
    table.expire_snapshots(keep_last=1, keep_max=1)
    with pytest.raises(SnapshotNotFound, match=r"snapshot [1-4]"):
        told(late)


def test_a_rollback_while_the_history_is_read_is_told(table, monkeypatch):
    real = SnapshotStore.ids

    def roll_back(store):
        monkeypatch.setattr(SnapshotStore, "ids", real)
        table.rollback(snapshot=2)
        table.write(rows(k7="x"))
        table.write(rows(k7="y"))
        return real(store)

    monkeypatch.setattr(SnapshotStore, "ids", roll_back)
    with pytest.raises(SnapshotNotFound, match=r"snapshot 4 .* rolled back"):
        table.changes(1)


def test_a_proof_finds_a_change_that_is_missing(table, monkeypatch):
    assert table.changes().prove().check().holds
    (bucket,) = table.changes(1).prove().buckets
    assert (bucket.place, bucket.start_rows, bucket.added, bucket.removed, bucket.end_rows) == ("bucket-0", 2, 1, 1, 2)
    whole = table.changes(way="delta")
    assert not replace(whole, segments=(whole.segments[0], whole.segments[2])).prove(), "without the overwrite"
    real = changes_module.difference
    monkeypatch.setattr(changes_module, "difference", lambda *args: list(real(*args))[:-1])
    with pytest.raises(CorruptTable, match=r"db\.t: the changes from snapshot 1 to 4 .* bucket-0"):
        table.changes(1).prove().check()
    assert not table.changes(way="delta").prove()


def test_a_proof_of_rows_as_written_takes_the_last_of_each_key(table):
    changes = table.changes(0, 2, way="delta")
    assert not changes.is_typed
    assert changes.prove().check()


def test_a_difference_reads_the_files_that_only_one_version_has_and_those_they_overlap(catalog, monkeypatch):
    table = make(catalog, write_only="true")
    for keys in ((1, 2), (5, 6), (8, 9), (5, 7)):
        table.write(pa.table([keys, ["x", "y"]], schema=SCHEMA))
    names = [f.file_name for f in table.scan().plan.files]
    read, real = [], BucketReader.file
    monkeypatch.setattr(
        BucketReader, "file", lambda self, f, *a, **k: read.append(f.file_name) or real(self, f, *a, **k)
    )
    assert told(table.diff(3, 4)) == [("+I", 7, "y")]
    assert len(read) == 2
    assert set(read) < set(names)
    read.clear()
    assert told(table.diff(2, 3)) == [("+I", 8, "x"), ("+I", 9, "y")]
    assert len(read) == 1
