"""A writer that withdraws its snapshot never deletes another commit's snapshot of the same id."""

from dataclasses import replace

import pytest

from paimon_core.commit.base import Base
from paimon_core.commit.publishing import orphaned_snapshot
from paimon_core.commit.publishing.orphaned_snapshot import follows, withdraw
from paimon_core.errors import CommitConflict, CommitStateUnknown
from paimon_core.maintain.expiry.snapshots import plan_snapshot_expiry
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.table.commit_request import CommitRequest
from tests.support.commits import commit
from tests.support.fake_tables import (
    EVERYTHING,
    append,
    expire_all,
    fake_file,
    fake_table,
    files_on_storage,
    live,
    message,
    reopened,
)
from tests.support.faulty_storage import FaultyStorage, Outcome

MERGED = {"manifest.merge-min-count": "2", "manifest.full-compaction-threshold-size": "1 b"}
"""Every commit merges all manifests."""


def test_a_writer_withdraws_only_its_own_snapshot():
    context = fake_table()
    append(context)
    other_commit = append(context)
    own_commit = replace(other_commit, uuid="own")
    with pytest.raises(CommitStateUnknown, match="another process deleted snapshot 2"):
        withdraw(context, own_commit)
    assert context.snapshots.read(2) == other_commit
    withdraw(context, other_commit)
    assert not context.snapshots.exists(2)


def test_a_snapshot_whose_id_another_commit_has_does_not_follow_its_base():
    context = fake_table()
    base = Base(context, replace(append(context), uuid="rolled back"))
    other_commit = append(context)
    assert not follows(base, replace(other_commit, uuid="own"))


@pytest.mark.parametrize("answers", [True, False])
def test_a_withdrawn_snapshot_that_was_tagged_keeps_its_manifests(answers):
    """A rollback removes its base; before the writer notices, another process creates a tag on the snapshot.

    Unless ``answers``, the store then fails when the writer asks whether its table still exists.
    """
    context = fake_table()
    first = append(context)
    append(context)
    storage = FaultyStorage(context.storage)

    def concurrent_commits():
        rollback(context, first)
        append(context, user="after the rollback")

    def concurrent_tag():
        context.tags.create("t", context.snapshots.read(3))
        if not answers:
            storage.on("read", "schema/schema-0", Outcome.FAIL)

    storage.before("create_exclusive", "snapshot-3", concurrent_commits)
    storage.before("delete", "snapshot-3", concurrent_tag)
    with pytest.raises(CommitStateUnknown, match="a tag was created on snapshot 3"):
        append(reopened(context, storage), user="u", identifier=1)
    assert context.snapshots.ids() == [1, 2]
    assert context.manifests.entries_of(context.tags.read("t").snapshot) != []


def commit_on_expired_base(context, meanwhile):
    """Commit while the base expires; ``meanwhile`` runs when the commit knows that its snapshot is orphaned.

    The orphaned snapshot is 2, and the latest one is 4.
    """
    append(context)
    storage = FaultyStorage(context.storage)

    def concurrent_commits():
        for _ in range(3):
            append(context)
        expire_all(context)
        storage.before("read", "snapshot-2", lambda: storage.before("read", "snapshot-2", meanwhile))

    storage.before("create_exclusive", "snapshot-2", concurrent_commits)
    writer_context = reopened(context, storage)
    new = message(context, fake_file(context), changelog=(fake_file(context, name="changelog-1.parquet"),))
    return CommitRequest.of(writer_context, "paused", 7, None).commit_own([new])


def test_files_of_a_withdrawn_snapshot_are_not_published_again():
    """An expiry that has read the snapshot would delete its changelog, although the next snapshot references it."""
    context = fake_table()
    found = []
    with pytest.raises(CommitConflict, match="write the rows again") as caught:
        commit_on_expired_base(context, lambda: found.extend(plan_snapshot_expiry(context, EVERYTHING).files))
    assert "changelog-1.parquet" in {f.path.rpartition("/")[2] for f in found}
    assert caught.value.facts["taken_back"] == 2
    assert context.snapshots.ids() == [4]
    assert "changelog-1.parquet" not in files_on_storage(context)


def test_a_snapshot_that_expired_before_it_was_withdrawn_is_unknown():
    context = fake_table()
    with pytest.raises(CommitStateUnknown, match="no snapshot 2 in"):
        commit_on_expired_base(context, lambda: expire_all(context))
    assert context.snapshots.ids() == [4]


def test_a_lost_response_before_the_withdrawal_is_unknown():
    """The snapshot of the lost request may have been continued, and may have expired."""
    context = fake_table()
    append(context)
    storage = FaultyStorage(context.storage)

    def concurrent_commits():
        append(context)
        append(context)
        expire_all(context)

    storage.on("create_exclusive", "snapshot-2", Outcome.LOSE)
    storage.before("read", "snapshot-2", concurrent_commits)
    with pytest.raises(CommitStateUnknown, match="snapshot 2"):
        append(reopened(context, storage), user="u", identifier=1)
    assert context.snapshots.ids() == [4]


def test_a_snapshot_is_not_withdrawn_because_of_another_orphaned_snapshot():
    """Its base expires, and a paused writer re-creates that id: this commit's snapshot is all that the table has."""
    context = fake_table()
    append(context)
    base = append(context)
    file = fake_file(context)
    storage = FaultyStorage(context.storage)

    def concurrent_commits():
        context.snapshots.delete([1, 2])
        context.snapshots.create(replace(base, uuid="paused", delta_manifest_list=orphaned_list))

    added = append(context)
    orphaned_list = added.delta_manifest_list
    context.snapshots.delete([3])
    context.snapshots.write_latest_hint(2)
    storage.on("create_exclusive", "snapshot-3", Outcome.LOSE)
    storage.before("read", "snapshot-3", concurrent_commits)
    with pytest.raises(CommitStateUnknown, match="snapshot 2 is outside the snapshot chain"):
        append(reopened(context, storage), file, user="u", identifier=1)
    assert context.snapshots.ids() == [2, 3]
    assert file.file_name in {name for _, _, name in live(context)}


def test_a_rollback_is_known_by_the_newest_snapshots_that_it_left():
    """The oldest snapshot proves nothing, because its file was compacted and no manifest names it any more."""
    context = fake_table(**MERGED)
    first = fake_file(context)
    append(context, first)
    commit([message(context, before=(first,), after=(fake_file(context, level=5),))], context=context, user="c")
    append(context)
    target = append(context)
    append(context)
    storage = FaultyStorage(context.storage)
    storage.before("create_exclusive", "snapshot-6", lambda: rollback(context, target))
    with pytest.raises(CommitConflict, match="was rolled back"):
        append(reopened(context, storage), user="u", identifier=1)
    assert context.snapshots.ids() == [1, 2, 3, 4]


def test_no_commit_builds_on_a_snapshot_above_a_gap():
    """It was created after a rollback, and its writer has not withdrawn it yet."""
    context = fake_table()
    target = append(context)
    append(context)
    orphaned = append(context)
    rollback(context, target)
    context.snapshots.publish(orphaned)
    storage = FaultyStorage(context.storage)
    deletions = []
    storage.before("list", "snapshot", lambda: deletions.append(context.snapshots.delete([3])))
    assert append(reopened(context, storage)).id == 2
    assert deletions == [1]


def create_orphaned_snapshot(context):
    """Create snapshot 3, which was built on the snapshot 2 that was rolled back, above another snapshot 2."""
    target = append(context)
    append(context)
    orphaned = append(context)
    rollback(context, target)
    append(context, user="after the rollback")
    assert context.snapshots.publish(orphaned)


@pytest.mark.parametrize("retries", ["10", "2", "0"])
def test_a_lasting_gap_does_not_stop_commits(retries):
    context = fake_table(**{"commit.max-retries": retries})
    for _ in range(3):
        append(context)
    context.snapshots.delete([2])
    assert append(context).id == 4


@pytest.mark.parametrize("retries", ["1", "0"])
def test_a_commit_that_loses_its_last_race_above_a_lasting_gap_names_the_lost_race(retries):
    context = fake_table(**{"commit.max-retries": retries})
    for _ in range(3):
        append(context)
    context.snapshots.delete([2])
    storage = FaultyStorage(context.storage)
    storage.before("create_exclusive", "snapshot-4", lambda: append(context, user="winner"))
    with pytest.raises(CommitConflict, match="lost 1 races in a row") as caught:
        append(reopened(context, storage))
    assert caught.value.facts["attempts"] == 1
    assert context.snapshots.latest().commit_user == "winner"


def test_no_commit_builds_on_a_snapshot_whose_base_was_rolled_back():
    context = fake_table(**{"commit.max-retries": "1"})
    create_orphaned_snapshot(context)
    with pytest.raises(CommitConflict, match="cannot build on snapshot 3: it was built on a different snapshot 2"):
        append(context)
    rollback(context, context.snapshots.read(2))
    assert append(context).id == 3


def test_a_re_created_expired_snapshot_does_not_stop_commits():
    context = fake_table()
    create_orphaned_snapshot(context)
    context.snapshots.write_earliest_hint(3)
    assert append(context).id == 4


def test_a_chain_that_grew_after_a_rollback_is_known_by_its_links():
    """The files of the remaining snapshot prove nothing: they were compacted, and no manifest names them."""
    context = fake_table(**MERGED)
    file = fake_file(context)
    first = append(context, file)
    commit([message(context, before=(file,), after=(fake_file(context, level=5),))], context=context, user="c")
    append(context)
    storage = FaultyStorage(context.storage)

    def concurrent_commits():
        rollback(context, first)
        append(context, user="after the rollback")

    storage.before("create_exclusive", "snapshot-4", concurrent_commits)
    with pytest.raises(CommitConflict, match="was rolled back"):
        append(reopened(context, storage), user="u", identifier=1)
    assert context.snapshots.ids() == [1, 2]


def test_the_newest_and_the_oldest_ids_are_looked_at(monkeypatch):
    context = fake_table()
    for _ in range(9):
        append(context)
    looked_at = []
    monkeypatch.setattr(orphaned_snapshot, "descends_from", lambda _, __, other: looked_at.append(other.id))
    assert not orphaned_snapshot._has_ancestor(context, context.snapshots.read(9), context.snapshots.ids()[:-1])
    assert looked_at == [8, 7, 6, 5, 4, 1]
