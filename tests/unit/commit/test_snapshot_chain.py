"""An orphaned snapshot is no commit: its writer was paused while another commit used the id and expired, then died."""

from dataclasses import replace

import pytest

from paimon_core.commit import snapshot_chain
from paimon_core.commit.author import Author
from paimon_core.commit.changes import Change
from paimon_core.commit.committer import commit_changes
from paimon_core.commit.exactly_once import newest_of
from paimon_core.commit.snapshot_chain import chain_break, descends_from, in_chain
from paimon_core.errors import CorruptTable
from paimon_core.metadata.snapshot import CommitKind
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from paimon_core.table.commit_request import CommitRequest
from tests.support.commits import commit
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
    assert newest_of(context, "u").id == 4
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


def test_without_a_link_the_record_count_tells_a_snapshot_that_added_no_file():
    context = fake_table()
    file = fake_file(context)
    append(context, file)
    (deletion,) = commit([message(context, deleted=(file,))], context=context, user="u")
    following = replace(append(context), base=None)
    assert descends_from(context, following, deletion)
    assert not descends_from(context, replace(following, total_record_count=11), deletion)


def test_a_snapshot_descends_from_the_one_that_added_all_of_its_files():
    context = fake_table()
    first = append(context)
    commit_changes([Change(CommitKind.ANALYZE, (), statistics="stat-x-0")], context, Author("u"))
    assert descends_from(context, append(context), first)


def test_a_snapshot_directly_above_another_one_is_in_the_chain():
    context = fake_table()
    lost = [append(context) for _ in range(2)][1]
    context.snapshots.delete([2])
    for _ in range(2):
        append(context)
    context.snapshots.delete([2])
    assert context.snapshots.create(lost)
    assert in_chain(context, lost)
    context.snapshots.delete([1])
    assert not in_chain(context, lost)


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


# -- whether a commit may build on the latest snapshot


def rolled_back(context):
    """Return snapshot 3, whose writer built it on a snapshot 2 that was rolled back; the ids are 1, 2 and 3."""
    _, _, third = (append(context) for _ in range(3))
    context.snapshots.delete([3])
    context.snapshots.delete([2])
    append(context, user="later")
    assert context.snapshots.create(third)
    return third


def test_a_commit_may_build_on_a_snapshot_that_names_the_one_below_it_and_on_the_first():
    context = fake_table()
    first, second = append(context), append(context)
    assert chain_break(context, first, gaps=True) is None
    assert chain_break(context, second, gaps=True) is None


@pytest.mark.parametrize("earliest", [None, 1, 2])
def test_a_commit_must_not_build_on_a_snapshot_whose_base_was_rolled_back(earliest):
    context = fake_table()
    third = rolled_back(context)
    context.storage.delete([context.paths.hint("EARLIEST")])
    if earliest is not None:
        context.snapshots.write_earliest_hint(earliest)
    assert chain_break(context, third, gaps=False) == (
        "it was built on a different snapshot 2 than the one of user later that exists now, probably before a "
        "rollback, and its writer stopped before deleting it: roll back to snapshot 2"
    )


def test_a_commit_must_not_build_on_the_second_snapshot_when_the_first_is_another_one():
    context = fake_table()
    append(context)
    second = replace(append(context), base="1 another")
    assert "it was built on a different snapshot 1" in chain_break(context, second, gaps=False)


def test_a_commit_may_build_on_a_snapshot_whose_base_had_expired_before_its_id_was_used_again():
    context = fake_table()
    third = rolled_back(context)
    context.snapshots.write_earliest_hint(3)
    assert chain_break(context, third, gaps=False) is None


def test_a_commit_may_build_on_a_snapshot_that_names_no_base_or_whose_base_cannot_be_read():
    context = fake_table()
    third = rolled_back(context)
    assert chain_break(context, replace(third, base=None), gaps=True) is None
    context.storage.overwrite(context.paths.snapshot(2), b"{")
    assert chain_break(context, third, gaps=True) is None


def test_the_catalog_that_owns_the_history_decides_on_which_snapshot_a_commit_builds():
    class Catalog:
        owns_history = True

    context = fake_table()
    third = rolled_back(context)
    owned = replace(context, snapshots=SnapshotStore(context.storage, context.paths, Catalog()))
    assert chain_break(owned, third, gaps=True) is None


def test_a_commit_waits_while_ids_below_the_latest_snapshot_are_missing_and_others_exist():
    context = fake_table()
    fourth = [append(context) for _ in range(4)][3]
    context.snapshots.delete([3])
    assert chain_break(context, fourth, gaps=True) == (
        "snapshot 3 is missing, but snapshot 2 exists, as while an expiry or a rollback runs: commit again later"
    )
    assert chain_break(context, fourth, gaps=False) is None
    context.snapshots.delete([1, 2])
    assert chain_break(context, fourth, gaps=True) is None
