"""Rollback: an older snapshot becomes the latest, also after a rollback that was interrupted at any call."""

import pytest

from paimon_core.errors import CommitConflict, PlanOutdated, SnapshotNotFound
from paimon_core.maintain.branches.operations import create_branch
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.rollback.rollback import apply_rollback, plan_rollback, rollback
from paimon_core.maintain.tags.operations import create_tag, delete_tag
from tests.support.fake_tables import (
    append,
    check_whole,
    compacted,
    data_files,
    expire_all,
    fake_file,
    fake_table,
    live,
    reopened,
)
from tests.support.faulty_storage import Died, FaultyStorage, Outcome


def five():
    context = fake_table()
    for number in range(1, 6):
        append(context, now_millis=number)
    return context, [context.snapshots.read(i) for i in range(1, 6)]


def test_a_rollback_deletes_newer_snapshots_and_their_tags():
    context, s = five()
    for tagged in (2, 3, 4):
        create_tag(context, f"t{tagged}", s[tagged - 1])
    plan = plan_rollback(context, s[2])
    assert (plan.subjects, plan.files) == (("snapshot 5", "snapshot 4", "tag t4"), ())
    assert rollback(context, s[2]) == s[2]
    assert context.snapshots.ids() == [1, 2, 3]
    assert context.snapshots.latest() == s[2]
    assert context.storage.read(context.paths.hint("LATEST")) == b"3"
    assert [t.name for t in context.tags.list()] == ["t2", "t3"]
    check_whole(context)


def test_commits_after_a_rollback_continue_from_its_target():
    context, s = five()
    rollback(context, s[1])
    new = fake_file(context)
    assert append(context, new).id == 3
    assert len(live(context)) == 3
    assert context.snapshots.read(3) != s[2]
    check_whole(context)
    with pytest.raises(SnapshotNotFound, match="has no snapshot 3"):
        rollback(context, s[2])
    with pytest.raises(SnapshotNotFound, match="it has 1 to 3"):
        rollback(context, s[4])
    assert context.snapshots.ids() == [1, 2, 3]


def test_a_rollback_to_the_latest_snapshot_changes_nothing():
    context, s = five()
    rollback(context, s[4])
    assert context.snapshots.ids() == [1, 2, 3, 4, 5]


def test_a_rollback_to_a_tag_restores_its_expired_snapshot():
    context, (a, *_) = compacted()
    first = context.snapshots.read(1)
    create_tag(context, "t", first)
    expire_all(context)
    assert plan_rollback(context, first).arguments["restores"]
    rollback(context, first)
    assert context.snapshots.ids() == [1]
    assert (context.snapshots.latest(), context.snapshots.earliest_id()) == (first, 1)
    assert context.storage.read(context.paths.hint("EARLIEST")) == b"1"
    assert live(context) == {("p=a/bucket-0", 0, a)}
    assert [t.name for t in context.tags.list()] == ["t"]
    append(context)
    check_whole(context)


@pytest.mark.parametrize("restores", [False, True])
@pytest.mark.parametrize("after", [False, True])
def test_a_rollback_that_crashes_at_any_call_is_completed_by_the_next_one(restores, after):
    for die_at in range(20):
        context, _ = compacted()
        target = context.snapshots.read(1 if restores else 2)
        create_tag(context, "t", target)
        create_tag(context, "newer", context.snapshots.read(4))
        if restores:
            expire_all(context, limit=2)
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            rollback(reopened(context, storage), target)
        except Died:
            assert live(context)
            if not restores:
                check_whole(context)
            rollback(context, target)
        assert context.snapshots.latest() == target
        assert [t.name for t in context.tags.list()] == ["t"]
        check_whole(context)
        if not storage.dead:
            break
    assert die_at > 3


def test_a_concurrent_commit_is_deleted_by_the_rollback():
    context, s = five()
    storage = FaultyStorage(context.storage)
    storage.before("delete", "snapshot-5", lambda: append(context))
    rollback(reopened(context, storage), s[2])
    assert context.snapshots.ids() == [1, 2, 3]


def test_a_target_that_a_concurrent_expiry_deletes_is_created_again():
    context, s = five()
    storage = FaultyStorage(context.storage)
    storage.before("delete", "snapshot-4", lambda: context.snapshots.delete([1, 2, 3]))
    rollback(reopened(context, storage), s[2])
    assert (context.snapshots.ids(), context.snapshots.earliest_id()) == ([3], 3)
    check_whole(context)


@pytest.mark.parametrize("at", [4, 5])
def test_a_rollback_that_crashed_after_its_target_expired_is_completed_by_the_next_one(at):
    """The rollback was paused, an expiry deleted the target, and the rollback crashed: only the guard tag has it."""
    context, s = five()
    storage = FaultyStorage(context.storage)
    storage.before("delete", f"snapshot-{at}", lambda: expire_all(context))
    storage.on("delete", f"snapshot-{at}", Outcome.DIE_AFTER)
    with pytest.raises(Died):
        rollback(reopened(context, storage), s[2])
    rollback(context, s[2])
    assert context.snapshots.latest() == s[2]
    assert context.snapshots.ids()[-1] == 3
    check_whole(context)


@pytest.mark.parametrize("at", ["tag-paimon-core-rollback", "LATEST", "snapshot-5", "snapshot-4"])
def test_an_expiry_at_any_call_of_a_rollback_leaves_a_complete_table(at):
    """Similar to known bug #4947: an expiry deletes the target while the rollback deletes all newer snapshots."""
    for verb in ("overwrite", "delete"):
        context, _ = compacted()
        target = context.snapshots.read(2)
        storage = FaultyStorage(context.storage)
        storage.before(verb, at, lambda context=context: expire_all(context))
        try:
            rollback(reopened(context, storage), target)
        except SnapshotNotFound:
            assert context.snapshots.ids() == [5]
        assert context.snapshots.latest() is not None
        check_whole(context)


def test_a_target_that_expires_before_it_is_protected_is_an_error_and_nothing_changes():
    context, s = five()
    storage = FaultyStorage(context.storage)
    storage.before("overwrite", "tag-", lambda: context.snapshots.delete([1, 2, 3]))
    with pytest.raises(SnapshotNotFound, match="snapshot 3 has expired"):
        rollback(reopened(context, storage), s[2])
    assert (context.snapshots.ids(), context.tags.list()) == ([4, 5], [])


def test_a_rollback_fails_with_an_error_when_concurrent_commits_do_not_stop():
    context, s = five()

    class Busy(FaultyStorage):
        def list(self, directory):
            if directory.endswith("/tag") and self.mutations:
                append(context)
            return super().list(directory)

    with pytest.raises(
        CommitConflict, match=r"concurrent commits or expiries kept changing the table.*tag 'paimon-core-rollback-3'"
    ):
        rollback(reopened(context, Busy(context.storage)), s[2])
    rollback(context, s[2])
    assert (context.snapshots.ids(), context.tags.list()) == ([1, 2, 3], [])


def test_the_hint_latest_is_written_before_snapshots_are_deleted():
    """Known bug #4331: readers that check only the next id use a LATEST that points at a missing snapshot."""
    context, s = five()
    storage = FaultyStorage(context.storage)
    rollback(reopened(context, storage), s[2])
    moves = [(verb, path.rsplit("/", 1)[1]) for verb, path in storage.calls if verb in ("overwrite", "delete")]
    assert moves[2:5] == [("overwrite", "LATEST"), ("delete", "snapshot-5"), ("delete", "snapshot-4")]


def test_a_restored_snapshot_is_complete_also_after_the_next_expiry():
    """Known bugs #8450 and #5712: the files of a snapshot restored from a tag had been, or later were, deleted."""
    context, (a, b, _, _) = compacted()
    create_tag(context, "t", context.snapshots.read(2))
    expire_all(context)
    rollback(context, context.tags.read("t").snapshot)
    delete_tag(context, "t")
    append(context)
    expire_all(context)
    assert {a, b} <= data_files(context)
    check_whole(context)


def test_a_reader_sees_the_new_snapshot_of_a_reused_id():
    """Known bug #4966: a cache by id returned the snapshot that was rolled back."""
    context, s = five()
    assert context.snapshots.read(4) == s[3]
    rollback(context, s[2])
    again = append(context)
    assert (again.id, context.snapshots.read(4)) == (4, again)


def test_a_rollback_deletes_lasting_changelogs_of_newer_snapshots():
    context, s = five()
    for snapshot in s[:4]:
        context.changelogs.create(snapshot)
    context.snapshots.delete([1])
    assert plan_rollback(context, s[2]).subjects == ("snapshot 5", "snapshot 4", "changelog 4")
    rollback(context, s[2])
    assert context.changelogs.ids() == [1, 2, 3]
    assert context.storage.read(context.paths.changelog_hint("LATEST")) == b"3"


def test_a_rollback_that_deletes_all_changelogs_writes_a_hint_without_a_changelog():
    context, s = five()
    context.changelogs.create(s[3])
    rollback(context, s[2])
    assert context.changelogs.ids() == []
    assert context.storage.read(context.paths.changelog_hint("LATEST")) == b"-1"


def test_a_tag_whose_snapshot_id_is_in_use_again_cannot_be_restored():
    context, s = five()
    create_tag(context, "t", s[2])
    context.snapshots.delete([5, 4, 3])
    append(context)
    append(context)
    with pytest.raises(SnapshotNotFound, match="has no snapshot 3 of user u"):
        plan_rollback(context, s[2])


def test_a_rollback_plan_is_refused_after_the_table_changed():
    context, s = five()
    plan = Plan.from_bytes(plan_rollback(context, s[2]).to_bytes())
    assert plan.sentence().startswith("rollback db.t: snapshot 5, snapshot 4")
    append(context)
    with pytest.raises(PlanOutdated, match="latest snapshot is 6, not 5"):
        apply_rollback(context, plan)
    assert len(context.snapshots.ids()) == 6
    assert apply_rollback(context, plan_rollback(context, s[2])) == s[2]
    assert context.snapshots.ids() == [1, 2, 3]


def test_a_rollback_of_a_branch_does_not_change_main():
    context, s = five()
    create_tag(context, "t", s[1])
    branch = create_branch(context, "b", "t")
    append(branch)
    rollback(branch, s[1])
    assert (branch.snapshots.ids(), len(context.snapshots.ids())) == ([2], 5)


def test_a_guard_that_was_created_after_its_target_expired_does_not_bring_it_back():
    """The rollback was paused, an expiry removed the target and its files, and the delete of the guard failed."""
    context, s = five()
    storage = FaultyStorage(context.storage)
    storage.before("overwrite", "tag-", lambda: expire_all(context))
    storage.on("delete", "tag-", Outcome.DIE_BEFORE)
    with pytest.raises(Died):
        rollback(reopened(context, storage), s[2])
    assert [t.name for t in context.tags.list()] == ["paimon-core-rollback-3"]
    with pytest.raises(SnapshotNotFound, match="no snapshot 3"):
        rollback(context, s[2])
    assert (context.snapshots.ids(), context.tags.list()) == ([5], [])
    check_whole(context)
