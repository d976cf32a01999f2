"""Tags: they hold their snapshot whatever expires, and take with them only what nobody else uses."""

import pytest

from paimon_core.errors import AlreadyExists, CorruptTable, InvalidRequest, SnapshotNotFound, TagNotFound
from paimon_core.maintain.tags import create_tag, delete_tag, expire_tags
from tests.support.fake_tables import (
    append,
    assert_nothing_is_left_over,
    check_whole,
    compacted,
    data_files,
    expire_all,
    fake_table,
    files_on_storage,
    reopened,
)
from tests.support.faulty_storage import Died, FaultyStorage


def test_a_tag_is_its_snapshot():
    context = fake_table()
    snapshot = append(context)
    assert create_tag(context, "eod", snapshot).snapshot == snapshot
    assert context.tags.read("eod").snapshot == snapshot
    with pytest.raises(AlreadyExists):
        create_tag(context, "eod", snapshot)


@pytest.mark.parametrize("name", [".x", "a/b", " ", "../x"])
def test_bad_names_are_refused(name):
    context = fake_table()
    with pytest.raises(InvalidRequest, match="tag"):
        create_tag(context, name, append(context))
    assert context.tags.list() == []


def test_an_expired_snapshot_cannot_be_tagged_unless_a_tag_holds_it():
    context, _ = compacted()
    first, second = context.snapshots.read(1), context.snapshots.read(2)
    create_tag(context, "one", first)
    expire_all(context)
    assert create_tag(context, "two", first).snapshot == first
    with pytest.raises(SnapshotNotFound, match="snapshot 2 has expired"):
        create_tag(context, "three", second)


def test_deleting_the_tag_of_a_live_snapshot_deletes_only_the_tag():
    context, _ = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    before = files_on_storage(context)
    assert delete_tag(context, "t").paths == ()
    assert before - files_on_storage(context) == {"tag/tag-t"}
    with pytest.raises(TagNotFound):
        delete_tag(context, "t")


def test_deleting_the_tag_of_an_expired_snapshot_deletes_what_only_it_used():
    context, (a, b, c, d) = compacted()
    create_tag(context, "one", context.snapshots.read(1))
    create_tag(context, "two", context.snapshots.read(2))
    expire_all(context)
    assert data_files(context) == {a, b, c, d}
    planned = delete_tag(context, "two", dry_run=True)
    assert data_files(context) == {a, b, c, d}
    assert delete_tag(context, "two") == planned
    assert (planned.data_files, data_files(context)) == (1, {a, c, d})
    check_whole(context)
    assert_nothing_is_left_over(context)
    delete_tag(context, "one")
    assert data_files(context) == {c, d}
    assert_nothing_is_left_over(context)


def test_two_tags_on_one_snapshot_do_not_touch_each_other():
    context, (a, _, c, d) = compacted()
    for name in ("x", "y"):
        create_tag(context, name, context.snapshots.read(1))
    expire_all(context)
    delete_tag(context, "x")
    assert data_files(context) == {a, c, d}
    check_whole(context)


def test_an_upgraded_file_stays_when_the_tag_with_its_old_level_goes():
    context, (_, _, c, d) = compacted()
    create_tag(context, "t", context.snapshots.read(3))
    expire_all(context)
    delete_tag(context, "t")
    assert data_files(context) == {c, d}
    assert_nothing_is_left_over(context)


def test_another_tag_that_cannot_be_read_stops_the_deletion():
    context, _ = compacted()
    for number in (1, 2):
        create_tag(context, f"t{number}", context.snapshots.read(number))
    expire_all(context)
    torn = context.tags.read("t2").snapshot.delta_manifest_list
    context.storage.overwrite(context.paths.manifest(torn), b"torn")
    before = files_on_storage(context)
    with pytest.raises(CorruptTable, match=torn):
        delete_tag(reopened(context, context.storage), "t1")
    assert files_on_storage(context) == before


def test_a_tag_whose_own_files_are_torn_can_still_be_deleted():
    context, (_, _, c, d) = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    expire_all(context)
    snapshot = context.tags.read("t").snapshot
    context.storage.overwrite(context.paths.manifest(snapshot.delta_manifest_list), b"torn")
    delete_tag(reopened(context, context.storage), "t")
    assert context.tags.list() == []
    assert {c, d} <= data_files(context)


def test_a_crash_while_deleting_leaves_no_tag_without_files():
    for die_at in range(20):
        context, _ = compacted()
        create_tag(context, "one", context.snapshots.read(1))
        create_tag(context, "two", context.snapshots.read(2))
        expire_all(context)
        storage = FaultyStorage(context.storage, die_at=die_at)
        try:
            delete_tag(reopened(context, storage), "two")
        except Died:
            check_whole(context)
            continue
        break
    assert die_at > 3
    check_whole(context)


def test_tags_go_when_their_time_is_over():
    context, (_, _, c, d) = compacted()
    create_tag(context, "short", context.snapshots.read(1), 1000, now_millis=50_000)
    create_tag(context, "long", context.snapshots.read(2), 9000, now_millis=50_000)
    create_tag(context, "forever", context.snapshots.read(3))
    expire_all(context)
    assert expire_tags(context, 51_000) == []
    assert expire_tags(context, 51_001) == ["short"]
    assert expire_tags(context, 10**15) == ["long"]
    assert [t.name for t in context.tags.list()] == ["forever"]
    assert data_files(context) == {c, d}
    check_whole(context)
