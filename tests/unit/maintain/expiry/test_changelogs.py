"""Changelog files are deleted with their snapshot, also when it is tagged; all others are kept."""

from __future__ import annotations

import pytest

from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.maintain.tags.operations import create_tag, delete_tag
from tests.support.commits import commit
from tests.support.fake_tables import (
    append,
    assert_nothing_is_left_over,
    changelog,
    check_whole,
    data_files,
    expire_all,
    fake_file,
    fake_table,
    files_on_storage,
    live,
    message,
    reopened,
)
from tests.support.faulty_storage import Died, FaultyStorage


def history():
    """1: a with changelog; 2: b with changelog; 3: both become c, with the changelog of that; 4: d with changelog."""
    context = fake_table(**{"changelog-producer": "input"})
    a, b, c, d = fake_file(context), fake_file(context), fake_file(context, level=5, rows=20), fake_file(context)
    changes = [fake_file(context, rows=n, name=f"changelog-{n}.parquet") for n in (11, 12, 13, 14)]
    for number, one in enumerate(
        (
            message(context, a, changelog=(changes[0],)),
            message(context, b, changelog=(changes[1],)),
            message(context, before=(a, b), after=(c,), compact_changelog=(changes[2],)),
            message(context, d, changelog=(changes[3],)),
        ),
        1,
    ):
        commit([one], context=context, user="u", now_millis=number * 1000)
    return context, [f.file_name for f in (a, b, c, d)]


def changelogs(context):
    return {name for name in data_files(context) if name.startswith("changelog-")}


@pytest.mark.parametrize("kept", [1, 2, 3, 4])
def test_a_changelog_is_deleted_with_its_snapshot(kept):
    context, _ = history()
    expire_all(context, retain_min=kept)
    assert changelogs(context) == {f"changelog-{n}.parquet" for n in range(15 - kept, 15)}
    check_whole(context)
    assert_nothing_is_left_over(context)


def test_the_report_counts_changelog_files():
    context, _ = history()
    planned = expire_all(context, dry_run=True)
    assert len(changelogs(context)) == 4
    done = expire_all(context)
    assert (planned.removed, planned.expired) == (done.removed, (1, 2, 3))
    assert done.removed.data_files == 5
    assert done.kept_by_tags == 0


def test_a_tag_protects_the_data_files_but_not_the_changelog_of_its_snapshot():
    context, (a, _, c, d) = history()
    create_tag(context, "t", context.snapshots.read(1))
    report = expire_all(context)
    assert report.kept_by_tags == 1
    assert data_files(context) == {a, c, d, "changelog-14.parquet"}
    check_whole(context)
    assert_nothing_is_left_over(context)


def test_a_tag_whose_changelog_expired_does_not_stop_later_expiries():
    context, _ = history()
    create_tag(context, "t", context.snapshots.read(1))
    expire_all(context, retain_min=2)
    expire_all(context)
    create_tag(context, "u", context.snapshots.read(4))
    check_whole(context)
    assert_nothing_is_left_over(context)
    removed = delete_tag(context, "t")
    assert removed.data_files == 1
    assert_nothing_is_left_over(context)
    append(context, now_millis=5000)
    expire_all(context)
    assert changelogs(context) == set()
    delete_tag(context, "u")
    check_whole(context)
    assert_nothing_is_left_over(context)


def test_the_deletion_of_the_tag_of_a_live_snapshot_keeps_the_changelog():
    context, _ = history()
    create_tag(context, "t", context.snapshots.read(2))
    before = files_on_storage(context)
    delete_tag(context, "t")
    assert before - files_on_storage(context) == {"tag/tag-t"}


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_call_leaves_complete_changelogs(after):
    for die_at in range(20):
        context, _ = history()
        create_tag(context, "t", context.snapshots.read(2))
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            expire_all(reopened(context, storage), retain_min=2)
        except Died:
            check_whole(context)
            expire_all(context, retain_min=2)
        assert [changelog(context, context.snapshots.read(i)) for i in (3, 4)] == [
            {"changelog-13.parquet"},
            {"changelog-14.parquet"},
        ]
        check_whole(context)
        if not storage.dead:
            break
    assert die_at > 3


def test_a_changelog_list_that_is_missing_or_cannot_be_read_does_not_stop_the_expiry():
    context, _ = history()
    first, second = context.snapshots.read(1), context.snapshots.read(2)
    context.storage.delete([context.paths.manifest(first.changelog_manifest_list)])
    (manifest,) = context.manifests.read_list(second.changelog_manifest_list)
    context.storage.overwrite(context.paths.manifest(manifest.file_name), b"torn")
    context = reopened(context, context.storage)
    assert expire_all(context).expired == (1, 2, 3)
    check_whole(context)
    assert not context.storage.exists(context.paths.manifest(manifest.file_name))


def test_a_rollback_keeps_the_changelogs_up_to_its_target():
    context, _ = history()
    rollback(context, context.snapshots.read(2))
    assert [changelog(context, context.snapshots.read(i)) for i in (1, 2)] == [
        {"changelog-11.parquet"},
        {"changelog-12.parquet"},
    ]
    check_whole(context)
    append(context, now_millis=6000)
    expire_all(context)
    check_whole(context)


def test_a_snapshot_that_was_restored_from_its_tag_expires_again():
    context, (a, b, *_) = history()
    second = context.snapshots.read(2)
    create_tag(context, "t", second)
    expire_all(context)
    rollback(context, second)
    assert live(context) == {("p=a/bucket-0", 0, a), ("p=a/bucket-0", 0, b)}
    append(context, now_millis=6000)
    assert expire_all(context).expired == (2,)
    check_whole(context)
