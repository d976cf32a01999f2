"""Snapshot history: the recent snapshots, newest first, with gaps in the ids."""

from paimon_core.commit.base import Base
from paimon_core.commit.snapshot_history import newest_first, recent_changes
from paimon_core.errors import SnapshotNotFound
from tests.support.fake_tables import table_of


def test_gaps_in_the_ids_are_skipped():
    snapshots = table_of(6).snapshots
    snapshots.delete([3, 4])
    assert [s.id for s in newest_first(snapshots, 6)] == [6, 5, 2, 1]
    assert [s.id for s in newest_first(snapshots, 4)] == [2, 1]
    assert [s.id for s in newest_first(snapshots, 6, above=2)] == [6, 5]


def test_at_most_so_many_recent_snapshots_are_read():
    context = table_of(4)
    base = Base(context, context.snapshots.latest())
    assert [(s.id, len(entries)) for s, entries in recent_changes(base, 2)] == [(4, 1), (3, 1)]
    assert [s.id for s, _ in recent_changes(base, 9)] == [4, 3, 2, 1]
    assert list(recent_changes(Base(context, None))) == []


def test_a_snapshot_that_is_still_listed_is_not_read_again():
    tried = []

    class Stale:
        def ids(self):
            return [1, 2, 3]

        def read(self, number):
            tried.append(number)
            if tried == [3]:
                raise SnapshotNotFound("snapshot 3 has expired")
            return number

    assert list(newest_first(Stale(), 3)) == [2, 1]
    assert tried == [3, 2, 1]
