"""A writer that takes its snapshot back leaves one that another has made under the same id meanwhile."""

from dataclasses import replace

import pytest

from paimon_core.commit.base import Base
from paimon_core.commit.publish import _follows, _take_back
from paimon_core.errors import CommitStateUnknown
from paimon_core.maintain.rollback import rollback
from tests.support.fake_tables import append, fake_table, reopened
from tests.support.faulty_storage import FaultyStorage


def test_only_its_own_snapshot_is_taken_back():
    context = fake_table()
    append(context)
    theirs = append(context)
    ours = replace(theirs, uuid="ours")
    _take_back(context, ours)
    assert context.snapshots.read(2) == theirs
    _take_back(context, theirs)
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
    with pytest.raises(CommitStateUnknown, match="a tag was made on snapshot 3"):
        append(reopened(context, storage), user="u", identifier=1)
    assert context.snapshots.ids() == [1, 2]
    assert context.manifests.entries_of(context.tags.read("t").snapshot) != []
