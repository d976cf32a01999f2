"""The snapshots, and their files, that contain the changes of a range."""

from __future__ import annotations

import dataclasses

import pytest

from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import CorruptTable, InvalidRequest, SnapshotNotFound
from paimon_core.plan.changelog_plan import changed_files, changed_snapshots
from tests.support.commits import commit
from tests.support.fake_tables import (
    append,
    expire_all,
    fake_file,
    fake_table,
    message,
    reopened,
    table_of,
)


def names(context, snapshot_id):
    return [c.file.file_name for c in changed_files(context, context.snapshots.read(snapshot_id))]


@pytest.mark.parametrize(
    ("after", "until", "ids"),
    [
        (None, None, [1, 2, 3]),
        (0, 3, [1, 2, 3]),
        (1, None, [2, 3]),
        (1, 2, [2]),
        (3, None, []),
        (2, 2, []),
        (None, 0, []),
    ],
)
def test_a_range_leaves_out_its_start_and_has_its_end(after, until, ids):
    assert list(changed_snapshots(table_of(3), after, until, None)) == ids


def test_a_table_never_written_has_no_changes():
    assert list(changed_snapshots(fake_table(), None, None, None)) == []


@pytest.mark.parametrize(
    ("after", "until", "missing"), [(None, None, 1), (0, 2, 1), (2, None, 3), (1, 2, 2), (6, None, 6), (4, 9, 9)]
)
def test_the_first_snapshot_that_is_missing_is_named(after, until, missing):
    context = table_of(5)
    expire_all(context, retain_min=2)
    with pytest.raises(SnapshotNotFound) as caught:
        changed_snapshots(context, after, until, None)
    assert caught.value.facts["snapshot"] == missing


def test_what_is_still_held_is_said():
    context = table_of(5)
    expire_all(context, retain_min=2)
    with pytest.raises(SnapshotNotFound, match="changes after snapshot 3 are available"):
        changed_snapshots(context, 1, None, None)
    assert list(changed_snapshots(context, 3, None, None)) == [4, 5]


@pytest.mark.parametrize(("after", "until"), [(-1, None), (None, -1), (True, None), ("1", None), (1.0, 2), (2, 1)])
def test_what_is_no_range_is_refused(after, until):
    with pytest.raises(InvalidRequest):
        changed_snapshots(table_of(3), after, until, None)


def test_a_pinned_table_ends_with_its_snapshot():
    context = table_of(3)
    assert list(changed_snapshots(context, None, None, 2)) == [1, 2]
    with pytest.raises(InvalidRequest, match="pinned to snapshot 2"):
        changed_snapshots(context, None, 3, 2)
    with pytest.raises(SnapshotNotFound, match="its latest snapshot is 2"):
        changed_snapshots(context, 3, None, 2)


def test_without_a_producer_appended_files_are_the_changes():
    context = fake_table()
    a, b = fake_file(context), fake_file(context)
    append(context, a, b)
    commit([message(context, before=(a,), after=(a.upgraded(5),))], context=context, user="u")
    commit([message(context, fake_file(context))], context=context, user="u", overwrite=Overwrite())
    assert [names(context, i) for i in (1, 2, 3)] == [[a.file_name, b.file_name], [], []]


def test_with_a_producer_changelog_files_are():
    context = fake_table(**{"changelog-producer": "lookup"})
    a, c, d = fake_file(context), fake_file(context), fake_file(context)
    append(context, a)
    upgraded = message(context, before=(a,), after=(a.upgraded(5),), compact_changelog=(c, d))
    commit([upgraded], context=context, user="u")
    assert [names(context, i) for i in (1, 2)] == [[], [c.file_name, d.file_name]]


def test_files_come_by_partition_and_bucket_then_as_they_were_written():
    context = fake_table()
    places = [("b", 0), ("a", 1), ("a", 0), ("b", 1), ("a", 0)]
    files = [fake_file(context, of=of, bucket=bucket) for of, bucket in places]
    messages = [message(context, f, of=of, bucket=b) for f, (of, b) in zip(files, places, strict=True)]
    commit(messages, context=context, user="u")
    assert names(context, 1) == [files[i].file_name for i in (2, 4, 1, 0, 3)]


def test_a_file_outside_of_the_table_is_refused():
    context = fake_table()
    append(context, dataclasses.replace(fake_file(context), external_path="s3://elsewhere/x"))
    with pytest.raises(InvalidRequest, match="s3://elsewhere/x, outside of the table"):
        names(context, 1)


def test_a_snapshot_that_expired_meanwhile_says_so():
    context = table_of(2)
    first, second = context.snapshots.read(1), context.snapshots.read(2)
    expire_all(context)
    fresh = reopened(context, context.storage)
    with pytest.raises(SnapshotNotFound, match="snapshot 1"):
        list(changed_files(fresh, first))
    context.storage.delete([context.paths.manifest(second.delta_manifest_list)])
    with pytest.raises(CorruptTable, match="missing"):
        list(changed_files(fresh, second))


def test_files_of_the_postpone_bucket_are_no_changes():
    context = fake_table()
    file = fake_file(context)
    append(context, file)
    commit([message(context, fake_file(context, bucket=-2), bucket=-2, total=-2)], context=context, user="u")
    assert [names(context, i) for i in (1, 2)] == [[file.file_name], []]
