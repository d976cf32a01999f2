"""Fast-forward: main gets the history of a branch by additions only; it is refused when a commit would be lost."""

import dataclasses

import pytest

from paimon_core.errors import BranchNotFound, CommitConflict, InvalidRequest
from paimon_core.maintain.branches.fast_forward import fast_forward
from paimon_core.maintain.branches.operations import create_branch
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.maintain.tags.operations import create_tag
from tests.support.fake_tables import append, check_whole, expire_all, fake_table, live, reopened
from tests.support.faulty_storage import Died, FaultyStorage, Outcome


def branched(commits=2):
    """Main with two snapshots, and a branch from the second with its own commits and its own tag."""
    context = fake_table()
    append(context)
    append(context)
    create_tag(context, "base", context.snapshots.read(2))
    branch = create_branch(context, "dev", "base")
    for _ in range(commits):
        append(branch)
    create_tag(branch, "audited", branch.snapshots.latest())
    return context, branch


def test_after_a_fast_forward_main_has_the_snapshots_and_tags_of_the_branch():
    context, branch = branched()
    assert fast_forward(context, "dev") == branch.snapshots.read(4)
    assert context.snapshots.ids() == [1, 2, 3, 4]
    assert live(context) == live(branch)
    assert [t.name for t in context.tags.list()] == ["audited", "base"]
    assert context.storage.read(context.paths.hint("LATEST")) == b"4"
    for i in (2, 3, 4):
        assert context.snapshots.read(i) == branch.snapshots.read(i)
    check_whole(context)
    check_whole(branch)


def test_a_repeated_fast_forward_changes_nothing_and_later_commits_can_be_added():
    context, branch = branched()
    fast_forward(context, "dev")
    assert fast_forward(context, "dev").id == 4
    append(branch)
    assert fast_forward(context, "dev").id == 5
    assert append(context).id == 6
    check_whole(context)


def test_stale_hints_change_nothing():
    for hint in ("1", "9", "x", ""):
        context, _ = branched()
        context.storage.overwrite(context.paths.hint("LATEST"), hint.encode())
        assert fast_forward(context, "dev").id == 4
        assert context.snapshots.latest_id() == 4


@pytest.mark.parametrize("empty", [False, True])
def test_own_commits_of_main_are_a_conflict_that_names_them(empty):
    context, branch = branched()
    if empty:
        append(branch := create_branch(context, "other"))
    else:
        append(context, user="night")
        append(context, user="day")
    name, before = branch.branch, live(context)
    who = "1 of user u, 2 of user u" if empty else "3 of user night, 4 of user day"
    with pytest.raises(CommitConflict, match=f"{name}'.* would be lost: {who}. Nothing was deleted"):
        fast_forward(context, name)
    assert live(context) == before
    check_whole(context)
    check_whole(branch)


def test_an_empty_main_gets_all_snapshots_of_a_branch_that_began_empty():
    context = fake_table()
    branch = create_branch(context, "dev")
    append(branch)
    append(branch)
    assert fast_forward(context, "dev").id == 2
    assert live(context) == live(branch)


def test_a_concurrent_commit_that_uses_the_id_first_is_kept():
    for snapshot in (3, 4):
        context, branch = branched()
        storage = FaultyStorage(context.storage)
        storage.before("create_exclusive", f"t/snapshot/snapshot-{snapshot}", lambda c=context: append(c, user="fast"))
        with pytest.raises(CommitConflict, match=f"snapshot {snapshot} was committed by a concurrent writer"):
            fast_forward(reopened(context, storage), "dev")
        assert context.snapshots.latest().commit_user == "fast"
        assert context.snapshots.latest_id() == snapshot
        check_whole(context)
        assert len(live(branch)) == 4
        with pytest.raises(CommitConflict, match=f"{snapshot} of user fast"):
            fast_forward(context, "dev")


def changed_before(context, verb, file, change):
    """Return the table on a storage that runs ``change`` right before the first such call on the file."""
    storage = FaultyStorage(context.storage)
    storage.before(verb, file, change)
    return reopened(context, storage)


@pytest.mark.parametrize(("verb", "file"), [("list", "branch-dev/tag"), ("create_exclusive", "t/snapshot/snapshot-3")])
def test_a_snapshot_is_not_added_above_a_commit_that_follows_a_concurrent_rollback(verb, file):
    context, branch = branched()

    def roll_back_and_commit():
        rollback(context, context.snapshots.read(1))
        append(context, user="after the rollback")

    with pytest.raises(CommitConflict, match="snapshot 2 has expired or was rolled back during the fast-forward"):
        fast_forward(changed_before(context, verb, file, roll_back_and_commit), "dev")
    assert context.snapshots.ids() == [1, 2]
    assert context.snapshots.latest().commit_user == "after the rollback"
    check_whole(context)
    check_whole(branch)


def test_a_rollback_between_two_added_snapshots_is_not_undone():
    context, _ = branched()
    table = changed_before(
        context, "create_exclusive", "t/snapshot/snapshot-4", lambda: rollback(context, context.snapshots.read(2))
    )
    with pytest.raises(CommitConflict, match="snapshot 3 has expired or was rolled back during the fast-forward"):
        fast_forward(table, "dev")
    assert context.snapshots.ids() == [1, 2]
    assert fast_forward(context, "dev").id == 4


def test_snapshots_are_not_added_below_commits_that_follow_expired_ones():
    """The ids 3 and 4 of the branch are free again on main, and the hint LATEST must not return to them."""
    context, branch = branched()

    def commit_and_expire():
        for _ in range(4):
            append(context, user="main")
        expire_all(context)

    with pytest.raises(CommitConflict, match="snapshot 2 has expired or was rolled back during the fast-forward"):
        fast_forward(changed_before(context, "create_exclusive", "t/snapshot/snapshot-3", commit_and_expire), "dev")
    assert context.snapshots.ids() == [6]
    assert context.snapshots.latest_id() == 6
    assert append(context).id == 7
    check_whole(context)
    check_whole(branch)


def test_a_first_commit_to_an_empty_main_is_not_hidden_by_the_branch():
    context = fake_table()
    branch = create_branch(context, "dev")
    append(branch)
    append(branch)
    append(branch)
    expire_all(branch)
    table = changed_before(context, "create_exclusive", "t/snapshot/snapshot-3", lambda: append(context, user="main"))
    with pytest.raises(CommitConflict, match="it got its first snapshot during the fast-forward"):
        fast_forward(table, "dev")
    assert context.snapshots.ids() == [1]
    assert context.snapshots.latest().commit_user == "main"


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_call_leaves_main_complete_and_the_next_run_continues(after):
    for die_at in range(30):
        context, branch = branched(commits=3)
        states = [live(context, branch.snapshots.read(i)) for i in (2, 3, 4, 5)]
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            fast_forward(reopened(context, storage), "dev")
        except Died:
            assert live(context) in states
            check_whole(context)
            fast_forward(context, "dev")
        assert live(context) == states[-1]
        assert [t.name for t in context.tags.list()] == ["audited", "base"]
        check_whole(context)
        if not storage.dead:
            break
    assert die_at > 5


def test_a_snapshot_whose_creation_lost_its_response_is_recognised():
    context, branch = branched()
    storage = FaultyStorage(context.storage)
    storage.on("create_exclusive", "t/snapshot/snapshot-3", Outcome.EXISTS)
    assert fast_forward(reopened(context, storage), "dev").id == 4
    assert live(context) == live(branch)


def test_snapshots_that_expired_on_the_branch_are_a_conflict_when_they_would_leave_a_gap():
    context, branch = branched(commits=3)
    branch.snapshots.delete([2])
    assert fast_forward(context, "dev").id == 5  # the branch's copy of the tag references its first snapshot
    append(branch)
    append(branch)
    branch.snapshots.delete([3, 4, 5, 6])
    with pytest.raises(CommitConflict, match="snapshots 6 to 6 of the branch have expired, which would leave a gap"):
        fast_forward(context, "dev")
    branch.tags.delete("audited")
    with pytest.raises(CommitConflict, match="cannot be determined whether the branch contains its commits"):
        fast_forward(context, "dev")


def test_a_fast_forward_can_be_repeated_after_a_rollback_of_main():
    context, branch = branched()
    fast_forward(context, "dev")
    rollback(context, context.snapshots.read(2))
    assert fast_forward(context, "dev").id == 4
    assert live(context) == live(branch)


def test_snapshots_that_expired_on_main_do_not_stop_a_fast_forward():
    context, _ = branched()
    expire_all(context)
    assert context.snapshots.ids() == [2]
    assert fast_forward(context, "dev").id == 4
    check_whole(context)


def test_schemas_are_copied_and_a_schema_change_on_main_is_a_conflict():
    context, branch = branched()
    newer = dataclasses.replace(branch.schema, id=1, comment="theirs")
    branch.schemas.publish(newer)
    append(branch.reopened(newer))
    fast_forward(context, "dev")
    assert context.schemas.latest() == newer
    branch.schemas.publish(dataclasses.replace(newer, id=2))
    context.schemas.publish(dataclasses.replace(newer, id=2, comment="ours"))
    with pytest.raises(CommitConflict, match="schema 2 was created on branch 'main'"):
        fast_forward(reopened(context, context.storage), "dev")


def test_a_schema_that_another_writer_publishes_first_must_be_the_same():
    for comment in ("theirs", "ours"):
        context, branch = branched()
        newer = dataclasses.replace(branch.schema, id=1, comment="theirs")
        branch.schemas.publish(newer)
        append(branch.reopened(newer))
        rival = dataclasses.replace(newer, comment=comment)
        storage = FaultyStorage(context.storage)
        storage.before("create_exclusive", "t/schema/schema-1", lambda c=context, s=rival: c.schemas.publish(s))
        if comment == "theirs":
            assert fast_forward(reopened(context, storage), "dev").id == 5
        else:
            with pytest.raises(CommitConflict, match="schema 1 was created by a concurrent writer"):
                fast_forward(reopened(context, storage), "dev")
        assert reopened(context, context.storage).schemas.latest() == rival


def test_a_tag_of_the_same_name_on_another_snapshot_is_a_conflict():
    context, _ = branched()
    create_tag(context, "audited", context.snapshots.read(1))
    with pytest.raises(CommitConflict, match="tag 'audited' names another snapshot on branch 'main'"):
        fast_forward(context, "dev")
    assert context.snapshots.ids() == [1, 2]


def test_an_empty_a_missing_and_the_current_branch_are_refused():
    context, branch = branched()
    create_branch(context, "empty")
    with pytest.raises(InvalidRequest, match="has no snapshot"):
        fast_forward(context, "empty")
    with pytest.raises(InvalidRequest, match="to itself"):
        fast_forward(branch, "dev")
    with pytest.raises(BranchNotFound):
        fast_forward(context, "none")
