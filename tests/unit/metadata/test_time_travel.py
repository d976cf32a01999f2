"""The snapshot of a time, a watermark or a version; errors name the snapshots that exist."""

import pytest

from paimon_core.errors import InvalidRequest, SnapshotNotFound
from paimon_core.maintain.tags.operations import create_tag
from paimon_core.metadata.time_travel import (
    by_id,
    by_version,
    from_time,
    from_watermark,
    tag_source,
    until_watermark,
)
from tests.support.fake_tables import append, expire_all, fake_table, reopened
from tests.support.faulty_storage import FaultyStorage

NONE = -(2**63)


def table(*watermarks):
    """Snapshots 1, 2, ... at 1000, 2000, ... ms with these watermarks."""
    context = fake_table(keyed=False)
    for number, watermark in enumerate(watermarks, 1):
        append(context, now_millis=1000 * number)
        snapshot = context.snapshots.read(number)
        members = snapshot.to_members() | {"watermark": watermark}
        text = type(snapshot).from_members({k: v for k, v in members.items() if v is not None}).to_json()
        context.storage.overwrite(context.paths.snapshot(number), text.encode())
    return context


def test_the_first_at_or_after_a_time():
    context = table(None, None, None)
    assert [from_time(context, t).id for t in (-1, 0, 1000, 1001, 2000, 3000)] == [1, 1, 1, 2, 2, 3]
    with pytest.raises(SnapshotNotFound, match="no snapshot committed at or after 3001 ms: it has snapshots 1 to 3"):
        from_time(context, 3001)


def test_an_expired_snapshot_with_a_tag_may_be_the_first():
    context = table(None, None, None)
    create_tag(context, "one", context.snapshots.read(1))
    expire_all(context)
    assert from_time(context, 500).id == 1
    assert from_time(context, 1500).id == 3


@pytest.mark.parametrize(
    ("watermarks", "first", "last"),
    [
        # by watermark: the snapshots at or after 5, 10, 11, 20, 25; those at or before
        ([10, 20, 30], [1, 1, 2, 2, 3], [None, 1, 1, 2, 2]),
        ([10, 10, 20], [1, 1, 3, 3, None], [None, 2, 2, 3, 3]),
        ([None, 10, None, 20], [2, 2, 4, 4, None], [None, 2, 2, 4, 4]),
        ([NONE, 10, NONE, 30], [2, 2, 4, 4, 4], [None, 2, 2, 2, 2]),
        ([10, None, None, None], [1, 1, None, None, None], [None, 1, 1, 1, 1]),
        ([None, None], [None] * 5, [None] * 5),
        ([], [None] * 5, [None] * 5),
    ],
)
def test_by_watermark(watermarks, first, last):
    def found(search, watermark):
        try:
            return search(context, watermark).id
        except SnapshotNotFound:
            return None

    context = table(*watermarks)
    assert [found(from_watermark, w) for w in (5, 10, 11, 20, 25)] == first
    assert [found(until_watermark, w) for w in (5, 10, 11, 20, 25)] == last


def test_a_search_is_retried_when_a_snapshot_expires():
    context = table(10, 20, 30, 40)
    for search, at, want in ((from_time, 2500, 3), (from_watermark, 15, 3), (until_watermark, 35, 3)):
        context = table(10, 20, 30, 40)
        storage = FaultyStorage(context.storage)
        storage.before("read", "snapshot-3", lambda c=context: c.snapshots.delete([1, 2]))
        assert search(reopened(context, storage), at).id == want


def test_a_tag_from_a_watermark_may_be_of_an_expired_snapshot():
    context = table(10, 20, 30)
    create_tag(context, "one", context.snapshots.read(1))
    expire_all(context)
    assert tag_source(context, None, 5).id == 1
    assert tag_source(context, None, 11).id == 3
    assert tag_source(context, 500, None).id == 1
    with pytest.raises(SnapshotNotFound, match="watermark at or after 31: it has snapshots 3 to 3"):
        tag_source(context, None, 31)
    create_tag(context, "three", context.snapshots.read(3))
    context.snapshots.delete([3])
    assert tag_source(context, None, 11).id == 3


def test_4947_a_version_is_a_tag_before_it_is_an_id():
    context = table(10, 20, 30)
    context.tags.create("2", context.snapshots.read(3))  # as another writer may call it
    create_tag(context, "watermark-10", context.snapshots.read(2))
    assert by_version(context, "2").id == 3
    assert by_version(context, 2).id == 2
    assert by_version(context, "1").id == 1
    assert by_version(context, "watermark-10").id == 2
    assert by_version(context, "watermark-11").id == 2
    for text in ("none", "", "1.5", "-1", "watermark-x", "9" * 30):
        with pytest.raises(InvalidRequest, match=r"is not a tag, a snapshot id or watermark-<milliseconds>"):
            by_version(context, text)


def test_7600_the_error_for_a_missing_id_names_the_existing_ones():
    context = table(None, None, None)
    create_tag(context, "one", context.snapshots.read(1))
    context.snapshots.delete([1])
    for number in (-1, 0, 4, 2**62):
        with pytest.raises(SnapshotNotFound, match="it has snapshots 2 to 3"):
            by_id(context, number)
    with pytest.raises(
        SnapshotNotFound, match=r"snapshot 1 .* has expired \(there are 2 to 3\); tag 'one' still contains it"
    ):
        by_id(context, 1)
    assert by_id(context, 1, tagged=True).id == 1
