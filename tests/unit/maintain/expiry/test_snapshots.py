"""Snapshot expiry: what is deleted and kept, and that no crash or concurrent process loses a file in use."""

from __future__ import annotations

import dataclasses
import json

import pytest

from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import CorruptTable, InvalidRequest, SnapshotNotFound, StorageError, UnsupportedFeature
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.maintain.tags.operations import create_tag, delete_tag
from tests.support.commits import commit
from tests.support.fake_tables import (
    append,
    assert_nothing_is_left_over,
    check_whole,
    compacted,
    data_files,
    expire_all,
    fake_file,
    fake_table,
    files_on_storage,
    message,
    reopened,
    table_of,
)
from tests.support.faulty_storage import Died, FaultyStorage, Outcome

# -- which snapshots


def test_old_snapshots_expire_and_the_latest_is_always_kept():
    context = table_of(5)
    report = expire_all(context)
    assert (report.expired, report.earliest, report.dry_run) == ((1, 2, 3, 4), 5, False)
    assert context.snapshots.ids() == [5]
    assert context.storage.read(context.paths.hint("EARLIEST")) == b"5"
    check_whole(context)
    assert_nothing_is_left_over(context)


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ({"retain_min": 3}, [3, 4, 5]),
        ({"retain_min": 9}, [1, 2, 3, 4, 5]),
        ({"limit": 2}, [3, 4, 5]),
        ({"limit": 0}, [1, 2, 3, 4, 5]),
        ({"older_than_millis": 0}, [1, 2, 3, 4, 5]),
        ({"older_than_millis": 3000}, [2, 3, 4, 5]),
        ({"older_than_millis": 3001}, [3, 4, 5]),
        ({"older_than_millis": 0, "retain_max": 2}, [4, 5]),
        ({"older_than_millis": 0, "retain_max": 2, "limit": 1}, [2, 3, 4, 5]),
        ({"protected": [3]}, [3, 4, 5]),
        ({"protected": [4, 2]}, [2, 3, 4, 5]),
        ({"protected": [0]}, [5]),
        ({"protected": [1]}, [1, 2, 3, 4, 5]),
        ({"older_than_millis": 0, "retain_min": 2, "retain_max": 2}, [4, 5]),
        ({"older_than_millis": 0, "retain_max": 1}, [5]),
    ],
)
def test_number_age_and_limit_bound_the_expiry_of_snapshots(rules, left):
    context = table_of(5)
    expire_all(context, **rules)
    assert context.snapshots.ids() == left
    check_whole(context)


@pytest.mark.parametrize("rules", [{"retain_min": 0}, {"limit": -1}, {"retain_max": 1, "retain_min": 2}])
def test_a_wrong_retention_is_refused(rules):
    with pytest.raises(InvalidRequest, match=r"retain|limit"):
        expire_all(table_of(2), **rules)


def test_an_expiry_without_expired_snapshots_writes_the_missing_hint():
    assert expire_all(fake_table()).expired == ()
    context = table_of(2)
    expire_all(context, retain_min=2)
    assert context.storage.read(context.paths.hint("EARLIEST")) == b"1"


def test_a_consumer_protects_snapshots_that_it_has_not_read():
    context = table_of(5)
    path = f"{context.paths.consumer_directory}/consumer-c"
    context.storage.write(path, b'{"nextSnapshot": 3}')
    expire_all(context)
    assert context.snapshots.ids() == [3, 4, 5]
    context.storage.overwrite(path, b'{"nextSna')
    with pytest.raises(CorruptTable, match="consumer-c"):
        expire_all(context)
    assert context.snapshots.ids() == [3, 4, 5]


def test_an_expiry_option_that_cannot_be_parsed_is_refused():
    context = table_of(2)
    odd = dataclasses.replace(context.schema, options={**context.schema.options, "changelog.time-retained": "soon"})
    with pytest.raises(UnsupportedFeature, match=r"changelog\.time-retained"):
        expire_all(context.reopened(odd))
    assert context.snapshots.ids() == [1, 2]


def test_a_gap_in_the_ids_does_not_stop_the_expiry():
    context = table_of(6)
    context.snapshots.delete([2, 3])
    assert expire_all(context, retain_min=2).expired == (1, 4)
    check_whole(context)


# -- which files


def test_files_replaced_by_a_compaction_are_deleted_and_upgraded_files_are_kept():
    context, (a, b, c, d) = compacted()
    assert expire_all(context, retain_min=3).expired == (1, 2)
    assert data_files(context) == {c, d}
    assert expire_all(context).expired == (3, 4)
    assert data_files(context) == {c, d}
    check_whole(context)
    assert_nothing_is_left_over(context)
    assert a
    assert b


def test_files_are_deleted_with_the_last_snapshot_that_uses_them():
    context, (a, b, c, d) = compacted()
    expire_all(context, limit=1)
    assert data_files(context) == {a, b, c, d}
    report = expire_all(context, limit=1)
    assert data_files(context) == {c, d}
    assert report.removed.data_files == 2
    assert sum(p.endswith(".parquet") for p in report.removed.paths) == 2
    assert report.removed.size_bytes > 8


def test_files_replaced_by_an_overwrite_are_deleted_with_their_extra_files():
    context = fake_table()
    old = dataclasses.replace(fake_file(context), extra_files=("x.index",))
    context.storage.write(context.paths.data_file("p=a", 0, "x.index"), b"index")
    append(context, old)
    new = fake_file(context)
    commit([message(context, new)], context=context, user="u", overwrite=Overwrite())
    assert expire_all(context).removed.data_files == 2
    assert data_files(context) == {new.file_name}


def test_files_at_external_paths_are_not_deleted():
    context = fake_table()
    old = dataclasses.replace(fake_file(context), external_path="file:///elsewhere/f")
    append(context, old)
    commit([message(context, deleted=(old,))], context=context, user="u")
    assert expire_all(context).removed.data_files == 0
    assert data_files(context) == {old.file_name}


def test_every_tag_protects_its_files():
    context, (a, b, c, d) = compacted()
    for number in (1, 2, 3):
        create_tag(context, f"t{number}", context.snapshots.read(number))
    report = expire_all(context)
    assert report.kept_by_tags == 2
    assert data_files(context) == {a, b, c, d}
    check_whole(context)
    assert_nothing_is_left_over(context)


def test_the_report_counts_the_files_that_a_tag_protects():
    context, _ = compacted()
    create_tag(context, "one", context.snapshots.read(1))
    assert [p.what for p in expire_all(context, dry_run=True).protected if p.by == "tag one"] == ["1 data file"]
    create_tag(context, "both", context.snapshots.read(2))
    delete_tag(context, "one")
    assert [p.what for p in expire_all(context).protected if p.by == "tag both"] == ["2 data files"]


def test_a_tag_does_not_protect_files_that_were_replaced_before_its_snapshot():
    context, (_, _, c, d) = compacted()
    create_tag(context, "late", context.snapshots.read(4))
    expire_all(context)
    assert data_files(context) == {c, d}
    assert_nothing_is_left_over(context)


def test_merged_manifests_are_deleted_and_shared_manifests_are_kept():
    context = fake_table(**{"manifest.merge-min-count": "3"})
    for number in range(9):
        append(context, now_millis=number)
    create_tag(context, "t", context.snapshots.read(4))
    expire_all(context, retain_min=2)
    check_whole(context)
    assert_nothing_is_left_over(context)


def test_a_dry_run_reports_the_same_and_changes_nothing():
    context, _ = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    before = files_on_storage(context)
    planned = expire_all(context, dry_run=True)
    assert files_on_storage(context) == before
    done = expire_all(context)
    assert (planned.expired, planned.removed, planned.kept_by_tags) == (done.expired, done.removed, done.kept_by_tags)
    root = context.paths.root
    snapshots = {f"snapshot/snapshot-{i}" for i in done.expired}
    assert before - files_on_storage(context) == snapshots | {p.removeprefix(root + "/") for p in done.removed.paths}


# -- missing and truncated files


def test_missing_or_unreadable_files_of_expired_snapshots_do_not_stop_the_expiry():
    context, (_, _, c, d) = compacted()
    second = context.snapshots.read(2)
    context.storage.delete([context.paths.manifest(second.delta_manifest_list)])
    third = context.snapshots.read(3)
    (manifest,) = context.manifests.read_list(third.delta_manifest_list)
    context.storage.overwrite(context.paths.manifest(context.snapshots.read(1).base_manifest_list), b"torn")
    context = reopened(context, context.storage)
    assert expire_all(context).expired == (1, 2, 3, 4)
    assert data_files(context) == {c, d}
    assert not context.storage.exists(context.paths.manifest(manifest.file_name)) or manifest
    check_whole(context)


@pytest.mark.parametrize("victim", ["kept", "tag"])
def test_an_unreadable_file_of_a_kept_snapshot_stops_the_expiry_before_any_deletion(victim):
    context, _ = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    snapshot = context.snapshots.read(5 if victim == "kept" else 1)
    context.storage.overwrite(context.paths.manifest(snapshot.delta_manifest_list), b"torn")
    before = files_on_storage(context)
    with pytest.raises(CorruptTable, match=snapshot.delta_manifest_list):
        expire_all(reopened(context, context.storage))
    assert files_on_storage(context) == before


def test_a_tag_that_cannot_be_read_stops_the_expiry():
    context, _ = compacted()
    context.storage.write(context.paths.tag("t"), b"{")
    before = files_on_storage(context)
    with pytest.raises(CorruptTable, match="tag-t"):
        expire_all(context)
    assert files_on_storage(context) == before


# -- crashes and concurrent changes


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_call_leaves_complete_snapshots_and_the_next_run_continues(after):
    deaths = 0
    for die_at in range(40):
        context, (a, _, c, d) = compacted()
        create_tag(context, "t", context.snapshots.read(1))
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            expire_all(reopened(context, storage))
        except Died:
            deaths += 1
        check_whole(context)
        expire_all(context)
        assert context.snapshots.ids() == [5]
        check_whole(context)
        assert {a, c, d} <= data_files(context)
        if not storage.dead:
            break
    assert deaths == die_at >= 12


def test_snapshots_are_deleted_before_their_files():
    context, _ = compacted()
    storage = FaultyStorage(context.storage)
    expire_all(reopened(context, storage))
    deleted = [path.rsplit("/", 1)[1] for verb, path in storage.calls if verb == "delete"]
    assert deleted[:4] == ["snapshot-1", "snapshot-2", "snapshot-3", "snapshot-4"]
    assert not any(name.startswith("snapshot-") for name in deleted[4:])


def test_a_tag_created_during_the_expiry_protects_its_files():
    context, (a, _, _, _) = compacted()
    storage = FaultyStorage(context.storage)
    first = context.snapshots.read(1)
    storage.before("delete", "snapshot-1", lambda: create_tag(context, "t", first))
    report = expire_all(reopened(context, storage))
    assert report.kept_by_tags == 1
    assert a in data_files(context)
    check_whole(context)


def test_a_tag_created_after_its_snapshot_expired_is_withdrawn():
    context, (a, _, _, _) = compacted()
    storage = FaultyStorage(context.storage)
    first = context.snapshots.read(1)
    storage.before("create_exclusive", "tag-t", lambda: expire_all(context))
    with pytest.raises(SnapshotNotFound, match="expired"):
        create_tag(reopened(context, storage), "t", first)
    assert context.tags.list() == []
    assert a not in data_files(context)


def test_a_concurrent_expiry_that_is_faster_is_no_error():
    context, _ = compacted()
    for verb, part in (("read", "snapshot-4"), ("read", "manifest-list"), ("list", "/tag")):
        context, _ = compacted()
        storage = FaultyStorage(context.storage)
        storage.before(verb, part, lambda context=context: expire_all(context))
        expire_all(reopened(context, storage), retain_min=2)
        assert context.snapshots.ids() == [5]
        check_whole(context)


def test_a_concurrent_rollback_stops_the_expiry():
    context, _ = compacted()
    storage = FaultyStorage(context.storage)
    second = context.snapshots.read(2)
    storage.before("read", "snapshot-5", lambda: rollback(context, second))
    assert expire_all(reopened(context, storage)).expired == ()
    assert context.snapshots.ids() == [1, 2]
    check_whole(context)


def test_files_that_a_crash_left_are_deleted_by_the_next_run_while_a_manifest_names_them():
    context, (a, b, c, d) = compacted()
    storage = FaultyStorage(context.storage)
    storage.on("delete", "bucket-0", Outcome.DIE_BEFORE)
    with pytest.raises(Died):
        expire_all(reopened(context, storage), retain_min=3)
    assert data_files(context) == {a, b, c, d}
    expire_all(context)
    assert data_files(context) == {c, d}


def test_a_hint_that_cannot_be_written_does_not_stop_the_expiry():
    context, (_, _, c, d) = compacted()
    storage = FaultyStorage(context.storage)
    storage.on("overwrite", "EARLIEST", Outcome.FAIL)
    expire_all(reopened(context, storage))
    assert data_files(context) == {c, d}
    assert context.snapshots.earliest_id() == 5


def test_a_deletion_that_fails_leaves_only_orphan_files():
    context, _ = compacted()
    storage = FaultyStorage(context.storage)
    storage.on("delete", "bucket-0", Outcome.FAIL)
    with pytest.raises(StorageError):
        expire_all(reopened(context, storage))
    assert context.snapshots.ids() == [5]
    check_whole(context)


def test_the_manifest_of_a_changelog_is_deleted_too():
    context = fake_table()
    snapshot = append(context, now_millis=1)
    change = fake_file(context)
    entry = dataclasses.replace(context.manifests.entries_of(snapshot)[0], file=change)
    manifests = context.manifests.write_manifests([entry], 1 << 20)
    name, size = context.manifests.write_list(manifests)
    with_changelog = dataclasses.replace(
        snapshot, id=2, uuid="x", changelog_manifest_list=name, changelog_manifest_list_size=size
    )
    context.snapshots.publish(
        dataclasses.replace(
            with_changelog,
            delta_manifest_list=context.manifests.write_list([])[0],
            delta_manifest_list_size=None,
            base_manifest_list=snapshot.delta_manifest_list,
            base_manifest_list_size=None,
        )
    )
    append(context, now_millis=2)
    expire_all(context)
    assert change.file_name not in data_files(context)
    check_whole(context)
    assert_nothing_is_left_over(context)
    assert json.loads(context.storage.read(context.paths.snapshot(3)))["id"] == 3
