"""assemble: how the options and the commit kind determine the snapshot."""

from dataclasses import replace

import pytest

from paimon_core.commit.author import Author
from paimon_core.commit.changes import Change, changes_of
from paimon_core.commit.committer import commit_changes
from paimon_core.errors import CommitConflict, InvalidRequest
from paimon_core.metadata.column_stats import EMPTY_ROW, EMPTY_STATS, ColumnStats
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.snapshot import CommitKind
from tests.support.commits import commit
from tests.support.fake_tables import append, changelog, check_whole, fake_file, fake_table, live, message


def test_statistics_are_a_snapshot_that_changes_no_file():
    context = fake_table()
    append(context)
    (analyzed,) = commit_changes([Change(CommitKind.ANALYZE, (), statistics="stat-x-0")], context, Author("u"))
    assert (analyzed.commit_kind, analyzed.delta_record_count, analyzed.statistics) == ("ANALYZE", 0, "stat-x-0")
    assert append(context).statistics == "stat-x-0"
    check_whole(context)


def test_statistics_of_another_schema_are_refused():
    context = fake_table()
    append(context)
    with pytest.raises(CommitConflict, match=r"schema 3.*analyze the table again"):
        commit_changes([Change(CommitKind.ANALYZE, (), statistics="s", statistics_schema=3)], context, Author("u"))


def test_duplicate_files_are_left_out_where_the_option_says_so():
    context = fake_table(**{"commit.discard-duplicate-files": "true", "changelog-producer": "input"})
    old, new = fake_file(context), fake_file(context, bucket=1)
    changes, more = fake_file(context, name="changelog-1"), fake_file(context, name="changelog-2", bucket=1)
    commit([message(context, old, changelog=(changes,))], context=context, user="u")
    (second,) = commit(
        [message(context, old, changelog=(changes,)), message(context, new, changelog=(more,), bucket=1)],
        context=context,
        user="u",
    )
    assert second.delta_record_count == 10
    assert changelog(context, second) == {"changelog-2"}
    assert {name for _, _, name in live(context)} == {old.file_name, new.file_name}
    assert commit([message(context, old)], context=context, user="u") == ()
    check_whole(context)


@pytest.mark.parametrize(("option", "kept"), [("false", True), ("true", False)])
def test_deleted_files_are_recorded_without_value_statistics_where_that_is_wanted(option, kept):
    context = fake_table(**{"manifest.delete-file-drop-stats": option})
    stats = ColumnStats(EMPTY_ROW, EMPTY_ROW, (None,))
    old = replace(fake_file(context, level=5), value_stats=stats, key_stats=stats)
    new = replace(old, file_name=fake_file(context, level=5).file_name)
    commit([message(context, old)], context=context, user="u")
    commit([message(context, before=(old,), after=(new,))], context=context, user="u")
    snapshot = context.snapshots.latest()
    deleted, added = sorted(
        (
            e
            for m in context.manifests.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
            for e in context.manifests.read_manifest(m.file_name, m.file_size)
        ),
        key=lambda e: e.kind is FileKind.ADD,
    )
    assert (added.file.value_stats, deleted.file.key_stats) == (stats, stats)
    assert (deleted.file.value_stats, deleted.file.value_stats_cols) == ((stats, None) if kept else (EMPTY_STATS, ()))
    check_whole(context)


def test_nothing_can_be_committed_where_that_is_wanted():
    context = fake_table()
    (snapshot,) = commit_changes(changes_of([], keep_empty=True), context, Author("u", watermark=7))
    assert (snapshot.commit_kind, snapshot.watermark, snapshot.total_record_count) == ("APPEND", 7, 0)
    assert changes_of([]) == []


@pytest.mark.parametrize(("user", "identifier"), [("", 1), (" ", 1), ("u", -1), ("u", 2**63)])
def test_an_author_has_a_name_and_a_number(user, identifier):
    with pytest.raises(InvalidRequest, match="identifier"):
        Author(user, identifier)
