import dataclasses
import json
import random
import uuid
from dataclasses import replace

import pytest

from paimon_core.errors import CorruptTable, SnapshotNotFound, StorageError, UnsupportedFeature
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths
from tests.support.faulty_storage import FaultyStorage


def snapshot(number, *, time=None, user="u"):
    return Snapshot(
        id=number,
        schema_id=0,
        base_manifest_list=f"manifest-list-{number}-0",
        delta_manifest_list=f"manifest-list-{number}-1",
        commit_user=user,
        commit_identifier=number,
        commit_kind=CommitKind.APPEND,
        time_millis=number * 1000 if time is None else time,
        total_record_count=number,
        delta_record_count=1,
    )


@pytest.fixture
def store():
    storage, root = FsspecStorage("memory"), f"/{uuid.uuid4()}"
    yield SnapshotStore(storage, TablePaths(root))
    storage.delete_directory(root)


@pytest.fixture
def filled(store):
    """Snapshots 3, 4, 5 and 7, committed at 3, 4, 5 and 7 seconds: 1 and 2 have expired, 6 is a gap."""
    for number in (3, 4, 5, 7):
        assert store.publish(snapshot(number))
    return store


def hint(store, name, data):
    store.storage.overwrite(store.paths.hint(name), data)


def test_an_empty_table(store):
    assert store.ids() == []
    assert store.latest_id() is None
    assert store.earliest_id() is None
    assert store.latest() is None
    with pytest.raises(SnapshotNotFound, match="has no snapshots"):
        store.read(1)
    with pytest.raises(SnapshotNotFound, match="has no snapshots"):
        store.as_of(10**15)


def test_only_the_first_publish_of_an_id_succeeds(store):
    assert store.publish(snapshot(1, user="first"))
    assert not store.publish(snapshot(1, user="second"))
    assert store.read(1) == snapshot(1, user="first")
    assert store.storage.read(store.paths.hint("LATEST")) == b"1"


def test_ids_come_from_names_only(filled):
    for name in (
        "snapshot-",
        "snapshot-x",
        "snapshot-0",
        "snapshot--1",
        "snapshot-9.tmp",
        ".snapshot-8.u.tmp",
        "LATEST",
    ):
        filled.storage.overwrite(f"{filled.paths.snapshot_directory}/{name}", b"x")
    assert filled.ids() == [3, 4, 5, 7]


# Missing, damaged, stale, rolled back, ahead, pointing into a gap, beyond any number.
HINTS = [
    None,
    b"",
    b"garbage",
    b"\xff\xfe",
    b"-1",
    b"0",
    b"1",
    b"3",
    b"4",
    b"6",
    b"8",
    b"7\n",
    b"9" * 30,
    b" 7",
    b"7.0",
]


@pytest.mark.parametrize("data", HINTS)
def test_hints_change_no_result(filled, data):
    for name in ("LATEST", "EARLIEST"):
        if data is None:
            filled.storage.delete([filled.paths.hint(name)])
        else:
            hint(filled, name, data)
    assert filled.latest_id() == 7
    assert filled.earliest_id() == 3
    assert filled.latest() == snapshot(7)


def test_good_hints_save_the_listing(filled, monkeypatch):
    filled.write_latest_hint(7)
    filled.write_earliest_hint(3)
    monkeypatch.setattr(FsspecStorage, "list", lambda *args: pytest.fail("listed"))
    assert (filled.latest_id(), filled.earliest_id()) == (7, 3)


def test_a_hint_that_cannot_be_written_does_not_undo_the_commit(filled, monkeypatch):
    def fail(self, path, data):
        raise StorageError(f"cannot overwrite {path}")

    monkeypatch.setattr(FsspecStorage, "overwrite", fail)
    assert filled.publish(snapshot(8))
    assert filled.latest_id() == 8


def test_the_error_for_a_missing_snapshot_names_the_existing_ones(filled):
    with pytest.raises(SnapshotNotFound, match=r"no snapshot 2 .*has snapshots 3 to 7"):
        filled.read(2)
    with pytest.raises(SnapshotNotFound, match="no snapshot 6"):
        filled.read(6)


@pytest.mark.parametrize(
    ("time", "expected"), [(3000, 3), (3999, 3), (4000, 4), (5001, 5), (6999, 5), (7000, 7), (10**15, 7)]
)
def test_time_travel(filled, time, expected):
    assert filled.as_of(time).id == expected


def test_of_equal_times_the_newest_counts(filled):
    filled.publish(snapshot(8, time=7000))
    assert filled.as_of(7000).id == 8


@pytest.mark.parametrize("time", [2999, 0, -1, -(10**30)])
def test_a_time_before_the_earliest_snapshot(filled, time):
    with pytest.raises(SnapshotNotFound, match=r"1970-01-01T00:00:03\.000\+00:00 \(3000 ms\)"):
        filled.as_of(time)


def test_time_travel_while_snapshots_expire(filled, monkeypatch):
    real = FsspecStorage.read

    def expire_first(self, path):
        monkeypatch.setattr(FsspecStorage, "read", real)
        filled.delete([3, 4, 5])
        return real(self, path)

    monkeypatch.setattr(FsspecStorage, "read", expire_first)
    assert filled.as_of(8000).id == 7


def test_latest_while_it_is_rolled_back(filled, monkeypatch):
    real = FsspecStorage.read

    def roll_back_first(self, path):
        if path.endswith("snapshot-7"):
            monkeypatch.setattr(FsspecStorage, "read", real)
            filled.delete([7])
        return real(self, path)

    monkeypatch.setattr(FsspecStorage, "read", roll_back_first)
    assert filled.latest() == snapshot(5)


class Remote(FaultyStorage):
    @property
    def is_remote(self):
        return True


def test_a_remote_store_finds_the_same_latest_snapshot_as_a_local_one(store):
    """Whatever snapshot it expects: after commits, expiry, rollbacks, lost hints and damaged files."""
    chance = random.Random(5)
    remote = replace(store, storage=Remote(store.storage))
    store.publish(snapshot(1))
    outcomes = set()
    for _ in range(400):
        ids = store.ids()
        step = chance.choice(["commit", "commit", "commit", "expire", "roll back", "hint", "no hint", "expect"])
        if step == "commit":
            store.publish(snapshot(ids[-1] + 1, user=chance.choice("ab")))
        elif step == "expire":
            store.delete(ids[: chance.randrange(len(ids))])
        elif step == "roll back":
            kept = chance.choice(ids)
            store.write_latest_hint(kept)
            store.delete(reversed([number for number in ids if number > kept]))
        elif step == "hint":
            hint(store, "LATEST", str(chance.choice(ids)).encode())
        elif step == "no hint":
            hint(store, "LATEST", b"?")
        else:
            remote.expect(chance.choice([None, chance.randrange(1, ids[-1] + 3)]))
        assert remote.latest() == store.latest()
        outcomes.add(step)
    assert len(outcomes) == 6


def test_a_remote_store_needs_three_requests_for_the_expected_snapshot(filled):
    storage = Remote(filled.storage)
    remote = replace(filled, storage=storage)
    remote.expect(7)
    assert remote.latest() == snapshot(7)
    assert sorted(verb for verb, _ in storage.calls) == ["exists", "read", "read"]


def test_an_expected_snapshot_that_is_old_and_damaged_is_no_error(filled):
    filled.publish(snapshot(8))
    filled.storage.overwrite(filled.paths.snapshot(7), b"?")
    remote = replace(filled, storage=Remote(filled.storage))
    remote.expect(7)
    assert remote.latest() == snapshot(8)


@pytest.mark.parametrize("call", range(3))
def test_a_commit_during_the_search_on_a_remote_store_is_found_or_came_later(filled, call):
    remote = replace(filled, storage=(storage := Remote(filled.storage)))
    remote.expect(7)
    verb, part = [("exists", "snapshot-8"), ("read", "LATEST"), ("read", "snapshot-7")][call]
    storage.before(verb, part, lambda: filled.publish(snapshot(8)))
    assert remote.latest().id in (7, 8)
    assert remote.latest() == snapshot(8)


class Emptied(list):
    """A list that another thread empties after ``checks`` questions whether it is empty."""

    checks = 1

    def __len__(self):
        count = super().__len__()
        self.checks -= 1
        if not self.checks:
            self.clear()
        return count


@pytest.mark.parametrize("checks", [1, 2])
def test_another_thread_may_change_what_is_expected(filled, checks):
    (expected := Emptied([7])).checks = checks
    assert replace(filled, storage=Remote(filled.storage), _expected=expected).latest() == snapshot(7)


def test_a_caller_that_changes_the_properties_changes_no_later_read(filled):
    for properties in ({}, {"a": "1"}):
        made = replace(snapshot(filled.latest_id() + 1), properties=properties)
        filled.publish(made)
        filled.latest().properties["b"] = "2"
        assert filled.latest() == made


def test_deletion_ignores_missing_files(filled):
    assert filled.delete([2, 3, 4]) == 2
    assert filled.ids() == [5, 7]


GOOD = json.loads(snapshot(1).to_json())
BAD = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff",
    b"[" * 100_000,
    json.dumps(GOOD)[:-9].encode(),
    *(
        json.dumps(GOOD | change).encode()
        for change in (
            {"id": 2},
            {"id": "1"},
            {"id": None},
            {"baseManifestList": 7},
            {"deltaManifestList": ["x"]},
            {"commitKind": "MERGE"},
            {"commitKind": []},
            {"commitUser": None},
            {"commitUser": 1},
            {"properties": ["a"]},
            {"timeMillis": 1e3},
            {"timeMillis": float("nan")},
        )
    ),
]


@pytest.mark.parametrize("data", BAD, ids=lambda data: repr(data[:30]))
def test_a_bad_file_is_named(store, data):
    store.storage.write(store.paths.snapshot(1), data)
    with pytest.raises(CorruptTable, match="snapshot/snapshot-1"):
        store.read(1)


def test_a_newer_version_is_named(store):
    store.storage.write(store.paths.snapshot(1), json.dumps(GOOD | {"version": 4}).encode())
    with pytest.raises(UnsupportedFeature, match=r"snapshot-1.*version 4"):
        store.read(1)


def test_every_written_member_is_read(store):
    full = replace(
        snapshot(1),
        base_manifest_list_size=10,
        delta_manifest_list_size=11,
        changelog_manifest_list="c",
        changelog_manifest_list_size=12,
        changelog_record_count=13,
        index_manifest="i",
        watermark=-(2**63),
        statistics="s",
        properties={"ü": "ß"},
        next_row_id=14,
        uuid="u",
        writer_version="w",
        operation="WRITE",
        base="0 b",
    )
    assert None not in dataclasses.astuple(full)
    store.publish(full)
    assert store.read(1) == full
