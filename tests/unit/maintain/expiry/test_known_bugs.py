"""Bugs that Apache Paimon had in its expiry, by issue number: paimon_core must not have them."""

from __future__ import annotations

import pytest

from paimon_core.commit.snapshot_history import newest_first
from paimon_core.errors import SnapshotNotFound
from paimon_core.maintain.tags.operations import create_tag
from tests.support.clones import clone
from tests.support.fake_tables import (
    check_whole,
    compacted,
    data_files,
    expire_all,
    reopened,
    table_of,
)
from tests.support.faulty_storage import FaultyStorage
from tests.support.reachable import assert_whole_and_clean


@pytest.mark.parametrize("missing", [[1], [3], [4], [5], [2, 4], [3, 4, 5]])
def test_4743_a_missing_snapshot_does_not_stop_the_expiry(missing):
    """The missing snapshot may be the one at which a run would end."""
    context = table_of(8)
    context.snapshots.delete(missing)
    expire_all(context, retain_min=5)
    assert min(context.snapshots.ids()) >= 4
    expire_all(context)
    assert context.snapshots.ids() == [8]
    check_whole(context)


@pytest.mark.parametrize("hint", [b"999", b"3", b"", b"x", b"-1"])
def test_8883_a_wrong_hint_does_not_change_the_expiry_and_is_corrected(hint):
    context = table_of(5)
    context.storage.overwrite(context.paths.hint("EARLIEST"), hint)
    assert expire_all(context, retain_min=2).expired == (1, 2, 3)
    assert context.storage.read(context.paths.hint("EARLIEST")) == b"4"
    assert_whole_and_clean(context)


def reads_whole(context):
    """Read the earliest snapshot; True when it is complete, False when the reader gets an error that it has expired."""
    earliest = context.snapshots.earliest_id()
    try:
        snapshot = context.snapshots.read(earliest)
        entries = context.manifests.entries_of(snapshot)
    except SnapshotNotFound:
        return False
    for entry in entries:
        directory = context.partition_path(entry.partition)
        path = context.paths.data_file(directory, entry.bucket, entry.file.file_name)
        if not context.storage.exists(path):
            assert not context.snapshots.exists(snapshot.id), "a snapshot exists and lacks a file"
            return False
    return True


def test_6978_a_new_reader_sees_a_complete_snapshot_or_none():
    """Before each call of an expiry, a reader starts at the earliest snapshot."""
    calls, (start, _) = 0, compacted()
    while True:
        context = clone(start)
        storage = FaultyStorage(context.storage)
        other, seen = reopened(context, context.storage), []
        at = iter(range(calls, -1, -1))

        def reader(other=other, seen=seen):
            seen.append(reads_whole(other))

        storage._call = intercepted(storage._call, at, reader)
        expire_all(reopened(context, storage))
        if not seen:
            break
        assert seen == [True]
        calls += 1
    assert calls > 30


def intercepted(call, countdown, action):
    def called(verb, path, do):
        if next(countdown, None) == 0:
            action()
        return call(verb, path, do)

    return called


@pytest.mark.parametrize("verb", ["read", "list", "exists"])
def test_reads_find_a_snapshot_when_the_earliest_expires_between_lookup_and_read(verb):
    """4930, 5096, 3479, 7572: the earliest snapshot expires between finding its id and reading it."""
    for ask, want in (
        (lambda c: c.snapshots.as_of(5000).id, 5),
        (lambda c: c.snapshots.latest().id, 5),
        (lambda c: c.snapshots.earliest_id() in (1, 5), True),
    ):
        context = table_of(5)
        context.snapshots.write_earliest_hint(1)
        storage = FaultyStorage(context.storage)
        storage.before(verb, "snapshot", lambda context=context: expire_all(context))
        assert ask(reopened(context, storage)) == want


def test_3479_a_time_whose_snapshot_expires_during_the_search_is_an_error():
    context = table_of(5)
    storage = FaultyStorage(context.storage)
    storage.before("read", "snapshot-1", lambda: expire_all(context))
    with pytest.raises(SnapshotNotFound, match="the earliest is of"):
        reopened(context, storage).snapshots.as_of(1500)


@pytest.mark.parametrize("at", range(1, 6))
def test_1302_a_loop_over_snapshots_continues_after_an_expiry(at):
    context = table_of(5)
    storage = FaultyStorage(context.storage)
    storage.before("read", f"snapshot-{at}", lambda: expire_all(context))
    found = list(newest_first(reopened(context, storage).snapshots, 5))
    assert found[0].id == 5


@pytest.mark.parametrize("verb", ["read", "list", "exists", "delete", "overwrite"])
@pytest.mark.parametrize("part", ["/snapshot", "manifest-list", "/tag", "EARLIEST", "bucket-0"])
def test_4272_two_concurrent_expiries_leave_a_complete_table(verb, part):
    """Two jobs expire the same table at the same time: both succeed, and no file in use is deleted."""
    context, (a, _, c, d) = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    storage = FaultyStorage(context.storage)
    storage.before(verb, part, lambda: expire_all(context))
    expire_all(reopened(context, storage))
    assert context.snapshots.ids() == [5]
    assert {a, c, d} <= data_files(context)
    assert_whole_and_clean(context, clean=False)


def test_9220_a_tag_created_at_any_call_of_an_expiry_is_complete_or_is_not_created():
    calls, (start, _) = 0, compacted()
    while True:
        context = clone(start)
        storage = FaultyStorage(context.storage)
        other, first, made = reopened(context, context.storage), context.snapshots.read(1), []

        def tag(other=other, first=first, made=made):
            try:
                create_tag(other, "t", first)
                made.append(True)
            except SnapshotNotFound:
                made.append(False)

        storage._call = intercepted(storage._call, iter(range(calls, -1, -1)), tag)
        expire_all(reopened(context, storage))
        if not made:
            break
        assert [t.name for t in context.tags.list()] == (["t"] if made[0] else [])
        assert_whole_and_clean(context, clean=False)
        calls += 1
    assert calls > 30
