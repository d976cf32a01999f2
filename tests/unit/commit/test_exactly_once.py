"""exactly_once: which snapshots a search finds, and which it reads."""

from __future__ import annotations

import pytest

from paimon_core.commit.exactly_once import NOTHING_SEARCHED, OwnSnapshots, check_ascending, find_own, newest_of
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from paimon_core.table.commit_request import CommitRequest
from tests.support.commits import commit
from tests.support.fake_tables import append, expire_all, fake_file, fake_table, message

pytestmark = pytest.mark.usefixtures("fake_rows")


@pytest.fixture
def reads(monkeypatch):
    """The ids of the snapshots that are read."""
    read, ids = SnapshotStore.read, []

    def noted(self, snapshot_id):
        ids.append(snapshot_id)
        return read(self, snapshot_id)

    monkeypatch.setattr(SnapshotStore, "read", noted)
    return ids


def search(context, identifier, before=NOTHING_SEARCHED):
    return find_own(context, "u", identifier, context.snapshots.latest(), before)


def both_parts(context, identifier):
    old, new, merged = fake_file(context), fake_file(context), fake_file(context, level=5)
    append(context, old)
    whole = [message(context, new, before=(old, new), after=(merged,))]
    return commit(whole, context=context, user="u", identifier=identifier)


def test_both_parts_of_a_commit_are_found():
    context = fake_table()
    first, compaction = both_parts(context, 3)
    append(context)
    own = search(context, 3)
    assert own == OwnSnapshots(context.snapshots.latest(), (compaction, first))
    assert own.by_part == {False: first, True: compaction}


def test_higher_and_lower_identifiers():
    context = fake_table()
    two = append(context, user="u", identifier=2)
    append(context, user="other", identifier=9)
    four = append(context, user="u", identifier=4)
    assert (search(context, 3).found, search(context, 3).higher) == ((), four)
    assert (search(context, 2).found, search(context, 2).higher) == ((two,), four)
    assert search(context, 5) == OwnSnapshots(four)
    assert newest_of(context, "u") == four
    assert newest_of(context, "none") is newest_of(fake_table(), "u") is None
    with pytest.raises(InvalidRequest, match="identifier 3 is too low"):
        check_ascending(context, "u", 3, search(context, 3))
    check_ascending(context, "u", 5, search(context, 5))


def test_a_search_ends_at_the_first_part_and_at_a_lower_identifier(reads):
    context = fake_table()
    for number in range(6):
        append(context, user="u", identifier=number)
    latest = context.snapshots.latest()
    for identifier in (5, 6):
        reads.clear()
        find_own(context, "u", identifier, latest)
        assert set(reads) == {6}


def test_a_search_continues_another_one(reads):
    context = fake_table()
    for _ in range(5):
        append(context)
    before = search(context, 1)
    assert before == OwnSnapshots(context.snapshots.read(5))
    mine = append(context, user="u", identifier=1)
    append(context)
    latest = context.snapshots.latest()
    reads.clear()
    found = find_own(context, "u", 1, latest, before)
    assert found == OwnSnapshots(latest, (mine,))
    assert sorted(set(reads)) == [5, 6, 7]  # 5: whether it is still there
    reads.clear()
    assert find_own(context, "u", 1, latest, found) == found
    assert not reads


def test_a_search_starts_again_when_its_end_was_rolled_back_or_has_expired():
    context = fake_table()
    mine = append(context, user="u", identifier=1)
    append(context)
    assert find_own(context, "u", 1, None, search(context, 1)) == NOTHING_SEARCHED
    before = search(context, 2)
    context.snapshots.delete([2])
    other = append(context)
    assert before.searched != other
    assert find_own(context, "u", 1, other, before) == OwnSnapshots(other, (mine,))
    before = search(context, 1)
    append(context)
    expire_all(context, retain_min=1)
    assert search(context, 1, before) == OwnSnapshots(context.snapshots.latest())


def test_a_request_and_its_commit_read_each_snapshot_once(reads):
    context = fake_table()
    for number in range(20):
        append(context, user="u" if number == 10 else "other", identifier=number)
    request = CommitRequest.of(context, "u", 30, None)
    reads.clear()
    assert request.committed_snapshot() is None
    assert min(reads) == 11
    searched = [i for i in reads if i < 19]
    assert len(searched) == len(set(searched))
    reads.clear()
    assert request.commit([message(context, fake_file(context))], fresh=True).id == 21
    assert set(reads) == {19, 20}  # the base and the snapshot below it
