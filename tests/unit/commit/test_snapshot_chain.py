"""An orphaned snapshot is no commit: its writer was paused while another commit used the id and expired, then died."""

from dataclasses import replace

import pytest

from paimon_core.commit import snapshot_chain
from paimon_core.commit.committer import commit
from paimon_core.commit.snapshot_chain import descends_from, in_chain
from paimon_core.errors import CorruptTable
from paimon_core.table.commit_request import CommitRequest
from tests.support.fake_tables import append, expire_all, fake_file, fake_table, live, message, reopened
from tests.support.faulty_storage import FaultyStorage

pytestmark = pytest.mark.usefixtures("fake_rows")


def orphaned_snapshot(context):
    """Create the orphaned snapshot 2 of user "paused": another commit used the id 2, and has expired."""
    append(context)
    file = fake_file(context)
    wanted = append(context, file, user="paused", identifier=7)
    context.snapshots.delete([2])
    for _ in range(3):
        append(context)
    expire_all(context, retain_min=2)
    assert context.snapshots.ids() == [3, 4]
    assert context.snapshots.create(wanted)
    return file


def test_a_repeated_commit_ignores_its_orphaned_snapshot():
    context = fake_table()
    file = orphaned_snapshot(context)
    assert not in_chain(context, context.snapshots.read(2))
    assert CommitRequest.of(context, "paused", 7, None).committed_snapshot() is None
    (committed_snapshot,) = commit([message(context, file)], context=context, user="paused", identifier=7)
    assert committed_snapshot.id == 5
    assert file.file_name in {name for _, _, name in live(context)}


def test_the_lowest_snapshot_of_a_chain_is_in_the_chain():
    context = fake_table()
    for number in range(4):
        append(context, user="u", identifier=number)
    expire_all(context, retain_min=2)
    lowest = context.snapshots.read(context.snapshots.ids()[0])
    assert in_chain(context, lowest)
    assert CommitRequest.of(context, "u", lowest.commit_identifier, None).newest().id == 4
    context.snapshots.delete([4])
    assert CommitRequest.of(context, "u", lowest.commit_identifier, None).committed_snapshot() == lowest


def test_a_single_snapshot_is_in_the_chain():
    context = fake_table()
    assert in_chain(context, replace(append(context), uuid=None))


def test_a_snapshot_descends_from_all_before_it_and_not_from_another_one_with_the_same_id():
    context = fake_table()
    first, second, third = (append(context) for _ in range(3))
    assert descends_from(context, second, first)
    assert descends_from(context, third, first)
    assert not descends_from(context, second, replace(first, uuid="another"))


def test_without_a_link_the_manifests_tell_a_snapshot_from_another_one_with_the_same_id():
    context = fake_table()
    append(context)
    lost = append(context)
    context.snapshots.delete([2])
    kept = append(context)
    following = replace(append(context), base=None)
    assert descends_from(context, following, kept)
    assert not descends_from(context, following, lost)


def test_an_orphaned_snapshot_is_recognized_when_the_snapshot_above_it_expires_meanwhile():
    context = fake_table()
    orphaned_snapshot(context)
    storage = FaultyStorage(context.storage)
    storage.before("read", "snapshot-3", lambda: context.snapshots.delete([3]))
    assert not in_chain(reopened(context, storage), context.snapshots.read(2))
    assert context.snapshots.ids() == [2, 4]


def test_a_snapshot_counts_as_in_the_chain_when_all_snapshots_above_it_expire_meanwhile(monkeypatch):
    monkeypatch.setattr(snapshot_chain, "SNAPSHOT_TRIES", 1)
    context = fake_table()
    orphaned_snapshot(context)
    storage = FaultyStorage(context.storage)
    storage.before("read", "snapshot-3", lambda: context.snapshots.delete([3]))
    assert in_chain(reopened(context, storage), context.snapshots.read(2))


def test_a_snapshot_is_in_the_chain_when_the_manifests_above_it_cannot_be_read():
    context = fake_table()
    first, _, third = (append(context) for _ in range(3))
    context.snapshots.delete([2])
    context.storage.delete([context.paths.manifest(third.base_manifest_list)])
    assert in_chain(reopened(context, context.storage), first)


def test_after_a_merge_of_manifests_the_files_that_a_snapshot_added_tell_whether_a_later_one_descends_from_it():
    context = fake_table(**{"manifest.merge-min-count": "2"})
    first, second = append(context), append(context)
    context.snapshots.delete([2])
    for _ in range(3):
        last = append(context)
    assert descends_from(context, last, first)
    assert not descends_from(context, last, second)


def test_a_snapshot_that_added_no_file_cannot_be_recognized_in_merged_manifests():
    context = fake_table(**{"manifest.merge-min-count": "2"})
    file = fake_file(context)
    append(context, file)
    (deletion,) = commit([message(context, deleted=(file,))], context=context, user="u")
    for _ in range(3):
        last = append(context)
    with pytest.raises(CorruptTable, match="the older snapshot added no file"):
        descends_from(context, last, deletion)
    assert in_chain(context, deletion)
