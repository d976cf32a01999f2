"""rollback: an older snapshot is the latest again, from wherever the last rollback was cut short."""

import pytest

from paimon_core.errors import CommitConflict, SnapshotNotFound
from paimon_core.maintain.rollback import plan_rollback, rollback
from paimon_core.maintain.tags import create_tag
from tests.support.fake_tables import append, check_whole, compacted, expire_all, fake_file, fake_table, live, reopened
from tests.support.faulty_storage import Died, FaultyStorage


def five():
    context = fake_table()
    for number in range(1, 6):
        append(context, now_millis=number)
    return context, [context.snapshots.read(i) for i in range(1, 6)]


def test_newer_snapshots_and_their_tags_are_gone():
    context, s = five()
    for tagged in (2, 3, 4):
        create_tag(context, f"t{tagged}", s[tagged - 1])
    plan = plan_rollback(context, s[2])
    assert (plan.snapshots, plan.tags, plan.restores) == ((5, 4), ("t4",), False)
    assert rollback(context, s[2]) == s[2]
    assert context.snapshots.ids() == [1, 2, 3]
    assert context.snapshots.latest() == s[2]
    assert context.storage.read(context.paths.hint("LATEST")) == b"3"
    assert [t.name for t in context.tags.list()] == ["t2", "t3"]
    check_whole(context)


def test_later_commits_go_on_from_there():
    context, s = five()
    rollback(context, s[1])
    new = fake_file(context)
    assert append(context, new).id == 3
    assert len(live(context)) == 3
    assert context.snapshots.read(3) != s[2]
    check_whole(context)
    with pytest.raises(SnapshotNotFound, match="holds no snapshot 3"):
        rollback(context, s[2])
    with pytest.raises(SnapshotNotFound, match="it has 1 to 3"):
        rollback(context, s[4])
    assert context.snapshots.ids() == [1, 2, 3]


def test_to_the_latest_changes_nothing():
    context, s = five()
    rollback(context, s[4])
    assert context.snapshots.ids() == [1, 2, 3, 4, 5]


def test_an_expired_snapshot_comes_back_from_its_tag():
    context, (a, *_) = compacted()
    first = context.snapshots.read(1)
    create_tag(context, "t", first)
    expire_all(context)
    assert plan_rollback(context, first).restores
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
def test_a_crash_anywhere_is_finished_by_the_next(restores, after):
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


def test_a_commit_that_lands_meanwhile_is_given_up_too():
    context, s = five()
    storage = FaultyStorage(context.storage)
    storage.before("delete", "snapshot-5", lambda: append(context))
    rollback(reopened(context, storage), s[2])
    assert context.snapshots.ids() == [1, 2, 3]


def test_a_target_that_goes_away_meanwhile_is_told():
    context, s = five()
    storage = FaultyStorage(context.storage)
    storage.before("delete", "snapshot-4", lambda: context.snapshots.delete([3]))
    with pytest.raises(CommitConflict, match="snapshot 3 was removed"):
        rollback(reopened(context, storage), s[2])
