"""Changelog files in commit and abort: which snapshot references and counts them, and what a failed commit leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paimon_core.commit.changes import changes_of
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import CommitConflict, InvalidRequest
from paimon_core.metadata.abort import abort, abort_changelog
from paimon_core.metadata.manifests.entries import FileKind
from tests.support.commits import commit
from tests.support.fake_tables import (
    append,
    assert_nothing_is_left_over,
    changelog,
    changelog_entries,
    check_whole,
    data_files,
    fake_file,
    fake_table,
    live,
    message,
    partition,
    reopened,
)
from tests.support.faulty_storage import Died, FaultyStorage, Outcome

pytestmark = pytest.mark.usefixtures("fake_rows")


def with_changelog():
    """Return a table and one message with new files, a compaction and the changelog files of both."""
    context = fake_table(**{"changelog-producer": "input"})
    new, merged = fake_file(context), fake_file(context, level=5)
    changes, compact_changes = fake_file(context, rows=7), fake_file(context, level=5, rows=4)
    both = message(
        context, new, before=(new,), after=(merged,), changelog=(changes,), compact_changelog=(compact_changes,)
    )
    return context, both, changes, compact_changes


def test_each_snapshot_has_its_own_changelog():
    context, both, changes, compact_changes = with_changelog()
    first, second = commit([both], context=context, user="u")
    assert (first.commit_kind, first.changelog_record_count) == ("APPEND", 7)
    assert (second.commit_kind, second.changelog_record_count) == ("COMPACT", 4)
    assert changelog(context, first) == {changes.file_name}
    assert changelog(context, second) == {compact_changes.file_name}
    (entry,) = changelog_entries(context, second)
    assert (entry.kind, entry.partition, entry.bucket, entry.total_buckets) == (FileKind.ADD, partition("a"), 0, 2)
    size = len(context.storage.read(context.paths.manifest(first.changelog_manifest_list)))
    assert first.changelog_manifest_list_size == size
    check_whole(context)
    assert_nothing_is_left_over(context)


def test_changelog_files_are_no_part_of_the_state():
    context, both, *_ = with_changelog()
    first, second = commit([both], context=context, user="u")
    assert (first.delta_record_count, first.total_record_count) == (10, 10)
    assert (second.delta_record_count, second.total_record_count) == (0, 10)
    assert live(context) == {("p=a/bucket-0", 5, both.compact_after[0].file_name)}


def test_the_next_snapshot_does_not_inherit_it():
    context, both, *_ = with_changelog()
    commit([both], context=context, user="u")
    following = append(context)
    assert following.changelog_manifest_list is None
    assert following.changelog_manifest_list_size is None
    assert following.changelog_record_count is None
    assert "changelogManifestList" not in following.to_members()


@pytest.mark.parametrize(("member", "kind"), [("changelog", "APPEND"), ("compact_changelog", "COMPACT")])
def test_changes_alone_make_a_snapshot(member, kind):
    context = fake_table(**{"changelog-producer": "input"})
    file = fake_file(context)
    (snapshot,) = commit([message(context, **{member: (file,)})], context=context, user="u")
    assert (snapshot.commit_kind, snapshot.delta_record_count) == (kind, 0)
    assert changelog(context, snapshot) == {file.file_name}
    check_whole(context)


def test_an_overwrite_takes_no_changelog():
    context, both, *_ = with_changelog()
    snapshots = commit([both], context=context, user="u", overwrite=Overwrite())
    assert [s.commit_kind for s in snapshots] == ["OVERWRITE", "COMPACT"]
    assert [s.changelog_manifest_list for s in snapshots] == [None, None]
    only = message(context, changelog=both.changelog_files, compact_changelog=both.compact_changelog)
    assert changes_of([only], Overwrite()) == []


def test_files_of_several_messages_keep_their_order():
    context = fake_table(**{"changelog-producer": "input"})
    files = [fake_file(context) for _ in range(5)]
    (snapshot,) = commit([message(context, f, changelog=(f,)) for f in files], context=context, user="u")
    assert [e.file.file_name for e in changelog_entries(context, snapshot)] == [f.file_name for f in files]


def test_a_lost_race_leaves_no_manifest_of_a_changelog():
    context, both, *_ = with_changelog()
    storage = FaultyStorage(context.storage)
    storage.before("create_exclusive", "snapshot-1", lambda: append(context, fake_file(context, 20, 29)))
    first, second = commit([both], context=reopened(context, storage), user="u")
    assert (first.id, second.id) == (2, 3)
    assert_nothing_is_left_over(context)


def test_a_store_that_fails_leaves_no_manifest_of_a_changelog():
    context, both, *_ = with_changelog()
    storage = FaultyStorage(context.storage)
    storage.on("create_exclusive", "snapshot-1", Outcome.FAIL)
    with pytest.raises(OSError):
        commit([both], context=reopened(context, storage), user="u")
    assert not context.storage.list(context.paths.manifest_directory)


def test_a_repeated_identifier_commits_its_changelog_once():
    context, both, *_ = with_changelog()
    first = commit([both], context=context, user="u", identifier=3)
    assert commit([both], context=context, user="u", identifier=3) == first
    assert context.snapshots.ids() == [1, 2]


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_anywhere_commits_changes_with_their_rows_or_not_at_all(after):
    for die_at in range(20):
        context, both, changes, compact_changes = with_changelog()
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            commit([both], context=reopened(context, storage), user="u", identifier=1)
        except Died:
            check_whole(context)
        first, second = commit([both], context=context, user="u", identifier=1)
        assert (changelog(context, first), changelog(context, second)) == (
            {changes.file_name},
            {compact_changes.file_name},
        )
        check_whole(context)
        if not storage.dead:
            break
    assert die_at > 8


def test_an_abort_deletes_changelog_files_too():
    context, both, *_ = with_changelog()
    kept = fake_file(context)
    abort([both, message(context, before=(kept,), after=(kept.upgraded(5),))], context)
    assert data_files(context) == {kept.file_name}


def test_the_changelog_alone_can_be_given_up():
    context, both, *_ = with_changelog()
    abort_changelog([both], context)
    assert data_files(context) == {both.new_files[0].file_name, both.compact_after[0].file_name}


def test_a_file_that_is_added_twice_is_still_a_conflict():
    context, both, *_ = with_changelog()
    with pytest.raises(CommitConflict, match="twice"):
        commit([both, both], context=context, user="u")


def test_an_overwrite_that_deletes_is_refused():
    context = fake_table()
    with pytest.raises(InvalidRequest, match="determines the files"):
        changes_of([message(context, deleted=(fake_file(context),))], Overwrite())


def test_only_a_compaction_of_the_postpone_bucket_numbers_its_rows():
    context = fake_table()
    before, after = fake_file(context), fake_file(context)
    packed = message(context, before=(before,), after=(after,))
    assert [change.flushes for change in changes_of([packed])] == [[]]
    (change,) = changes_of([replace(packed, compact_before=(), numbered_after=(1, "user"))])
    assert [flush.names for flush in change.flushes] == [(after.file_name,)]
