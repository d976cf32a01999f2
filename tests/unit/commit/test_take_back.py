"""A writer that takes its snapshot back leaves one that another has made under the same id meanwhile."""

from dataclasses import replace

import pytest

from paimon_core.commit.base import Base
from paimon_core.commit.committer import commit
from paimon_core.commit.publish import _follows, _withdraw
from paimon_core.errors import CommitConflict, CommitStateUnknown
from paimon_core.maintain.expiry.snapshots import plan_snapshot_expiry
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.table.commit_request import CommitRequest
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


def test_only_its_own_snapshot_is_taken_back():
    context = fake_table()
    append(context)
    theirs = append(context)
    ours = replace(theirs, uuid="ours")
    with pytest.raises(CommitStateUnknown, match="another process deleted snapshot 2"):
        _withdraw(context, ours)
    assert context.snapshots.read(2) == theirs
    _withdraw(context, theirs)
    assert not context.snapshots.exists(2)


def test_a_snapshot_whose_id_is_anothers_does_not_follow_its_base():
    context = fake_table()
    base = Base(context, replace(append(context), uuid="rolled back"))
    theirs = append(context)
    assert not _follows(base, replace(theirs, uuid="ours"))


def test_a_snapshot_that_was_tagged_meanwhile_keeps_its_manifests():
    """A rollback took its base away; before the writer notices, somebody gives the snapshot a name."""
    context = fake_table()
    first = append(context)
    append(context)
    storage = FaultyStorage(context.storage)

    def others():
        rollback(context, first)
        append(context, user="after the rollback")

    storage.before("create_exclusive", "snapshot-3", others)
    storage.before("delete", "snapshot-3", lambda: context.tags.create("t", context.snapshots.read(3)))
    with pytest.raises(CommitStateUnknown, match="a tag was created on snapshot 3"):
        append(reopened(context, storage), user="u", identifier=1)
    assert context.snapshots.ids() == [1, 2]
    assert context.manifests.entries_of(context.tags.read("t").snapshot) != []


def overtaken(context, meanwhile):
    """A commit whose base expires while it sleeps; ``meanwhile`` runs once it knows that its snapshot follows nothing.

    It has made snapshot 2, where 4 is the latest.
    """
    append(context)
    storage = FaultyStorage(context.storage)

    def others():
        for _ in range(3):
            append(context)
        expire_all(context)
        storage.before("read", "snapshot-2", lambda: storage.before("read", "snapshot-2", meanwhile))

    storage.before("create_exclusive", "snapshot-2", others)
    mine = reopened(context, storage)
    new = message(context, fake_file(context), changelog=(fake_file(context, name="changelog-1.parquet"),))
    return CommitRequest.of(mine, "sleeper", 7, None).commit_own([new])


def test_files_of_a_snapshot_that_was_taken_back_are_not_published_again():
    """An expiry that has found the snapshot would remove its changelog under the next one."""
    context = fake_table()
    found = []
    with pytest.raises(CommitConflict, match="write the rows again") as caught:
        overtaken(context, lambda: found.extend(plan_snapshot_expiry(context, EVERYTHING).files))
    assert "changelog-1.parquet" in {f.path.rpartition("/")[2] for f in found}
    assert caught.value.facts["taken_back"] == 2
    assert context.snapshots.ids() == [4]
    assert "changelog-1.parquet" not in files_on_storage(context)


def test_a_snapshot_that_expired_before_it_was_taken_back_is_unknown():
    context = fake_table()
    with pytest.raises(CommitStateUnknown, match="no snapshot 2 in"):
        overtaken(context, lambda: expire_all(context))
    assert context.snapshots.ids() == [4]


def test_a_lost_answer_before_it_was_taken_back_is_unknown():
    """What the lost request did may have been built on, and have expired."""
    context = fake_table()
    append(context)
    storage = FaultyStorage(context.storage)

    def others():
        append(context)
        append(context)
        expire_all(context)

    storage.on("create_exclusive", "snapshot-2", Outcome.LOSE)
    storage.before("read", "snapshot-2", others)
    with pytest.raises(CommitStateUnknown, match="snapshot 2"):
        append(reopened(context, storage), user="u", identifier=1)
    assert context.snapshots.ids() == [4]


def test_a_snapshot_is_not_taken_back_because_another_lies_beside_the_chain():
    """Its base expires, and a sleeper makes one of that id anew: ours is all that the table has."""
    context = fake_table()
    append(context)
    base = append(context)
    file = fake_file(context)
    storage = FaultyStorage(context.storage)

    def others():
        context.snapshots.delete([1, 2])
        context.snapshots.create(replace(base, uuid="sleeper", delta_manifest_list=stray_list))

    added = append(context)
    stray_list = added.delta_manifest_list
    context.snapshots.delete([3])
    context.snapshots.write_latest_hint(2)
    storage.on("create_exclusive", "snapshot-3", Outcome.LOSE)
    storage.before("read", "snapshot-3", others)
    with pytest.raises(CommitStateUnknown, match="snapshot 2 is outside the snapshot chain"):
        append(reopened(context, storage), file, user="u", identifier=1)
    assert context.snapshots.ids() == [2, 3]
    assert file.file_name in {name for _, _, name in live(context)}


def test_a_rollback_is_known_by_the_newest_snapshots_that_it_left():
    """The oldest one tells nothing, for its file was compacted and no manifest names it any more."""
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


def test_nobody_builds_on_a_snapshot_above_a_gap():
    """It was made after a rollback, and its writer has not taken it back yet."""
    context = fake_table()
    target = append(context)
    append(context)
    stray = append(context)
    rollback(context, target)
    context.snapshots.publish(stray)
    storage = FaultyStorage(context.storage)
    tries = []
    storage.before("list", "snapshot", lambda: tries.append(context.snapshots.delete([3])))
    assert append(reopened(context, storage)).id == 2
    assert tries == [1]


def beside(context):
    """Snapshot 3, which follows the snapshot 2 that was rolled back, above another snapshot 2."""
    target = append(context)
    append(context)
    stray = append(context)
    rollback(context, target)
    append(context, user="after the rollback")
    assert context.snapshots.publish(stray)


def test_a_gap_that_stays_stops_nobody():
    context = fake_table()
    for _ in range(3):
        append(context)
    context.snapshots.delete([2])
    assert append(context).id == 4


def test_nobody_builds_on_a_snapshot_whose_base_was_rolled_back():
    context = fake_table(**{"commit.max-retries": "1"})
    beside(context)
    with pytest.raises(CommitConflict, match="cannot build on snapshot 3: it was built on a different snapshot 2"):
        append(context)
    rollback(context, context.snapshots.read(2))
    assert append(context).id == 3


def test_a_snapshot_that_expired_once_and_was_made_again_stops_nobody():
    context = fake_table()
    beside(context)
    context.snapshots.write_earliest_hint(3)
    assert append(context).id == 4


def test_a_chain_that_grew_after_a_rollback_is_known_by_its_links():
    """The files of the snapshot that stayed tell nothing, for they were compacted, and no manifest names them."""
    context = fake_table(**MERGED)
    file = fake_file(context)
    first = append(context, file)
    commit([message(context, before=(file,), after=(fake_file(context, level=5),))], context=context, user="c")
    append(context)
    storage = FaultyStorage(context.storage)

    def others():
        rollback(context, first)
        append(context, user="after the rollback")

    storage.before("create_exclusive", "snapshot-4", others)
    with pytest.raises(CommitConflict, match="was rolled back"):
        append(reopened(context, storage), user="u", identifier=1)
    assert context.snapshots.ids() == [1, 2]
