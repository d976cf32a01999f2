"""A writer that takes its snapshot back leaves one that another has made under the same id meanwhile."""

from dataclasses import replace

from paimon_core.commit.base import Base
from paimon_core.commit.publish import _follows, _take_back
from tests.support.fake_tables import append, fake_table


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
