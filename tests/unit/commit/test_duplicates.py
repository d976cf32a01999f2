"""Duplicates: a file that was added before is found, at a cost that does not grow with the table."""

import dataclasses
import time

import pytest

from paimon_core.commit import duplicates
from paimon_core.commit.base import Base
from paimon_core.commit.changes import changes_of
from paimon_core.commit.duplicates import DELTAS_READ, added_before
from paimon_core.errors import CommitConflict
from paimon_core.metadata.times.local_time import epoch_millis
from paimon_core.storage.paths import FileNames
from tests.support.commits import commit
from tests.support.fake_tables import append, fake_file, fake_table, message, reopened
from tests.support.faulty_storage import FaultyStorage

DAY = 86_400_000


def aged(file, days):
    return dataclasses.replace(file, creation_time_millis=file.creation_time_millis + days * DAY)


def test_in_any_of_the_newest_snapshots():
    context = fake_table()
    file = fake_file(context)
    append(context, file)
    for _ in range(DELTAS_READ - 2):
        append(context)
    with pytest.raises(CommitConflict, match=r"snapshot 1 \(append commit of user u\) added it"):
        append(context, file)


@pytest.mark.parametrize("merge_at", ["2", "100"])
def test_in_the_manifests_when_that_was_long_ago(merge_at):
    context = fake_table(**{"manifest.merge-min-count": merge_at})
    file = fake_file(context)
    append(context, file)
    for _ in range(DELTAS_READ):
        append(context)
    context.snapshots.delete([1])
    with pytest.raises(CommitConflict, match="is already in the table"):
        append(context, file)
    append(context, fake_file(context, bucket=1))


def test_manifests_of_other_buckets_are_passed_over():
    context = fake_table(**{"manifest.merge-min-count": "100"})
    commit([message(context, fake_file(context, of="b", bucket=1), of="b", bucket=1)], context=context, user="u")
    file = fake_file(context)
    append(context, file)
    for _ in range(DELTAS_READ):
        append(context)
    with pytest.raises(CommitConflict, match=r"snapshot 2 \(append commit of user u\) added it"):
        append(context, file)


def test_files_made_after_the_newest_snapshots_cost_their_deltas_only():
    context = fake_table()
    long_ago = time.time_ns() // 1_000_000 - 10 * DAY
    for _ in range(DELTAS_READ + 10):
        append(context, now_millis=long_ago)
    storage = FaultyStorage(context.storage)
    append(reopened(context, storage))
    assert storage.count("read", "snapshot/snapshot-") <= DELTAS_READ + 4
    assert storage.count("read", "manifest/manifest-list-") <= DELTAS_READ + 3


def test_a_file_of_unknown_age_is_looked_for_everywhere():
    context = fake_table()
    file = dataclasses.replace(fake_file(context), creation_time_millis=None)
    append(context, file, now_millis=5)
    for _ in range(DELTAS_READ + 1):
        append(context, now_millis=5)
    with pytest.raises(CommitConflict, match="is already in the table"):
        append(context, file)


def test_a_file_of_another_bucket_or_partition_opens_no_manifest():
    context = fake_table()
    for _ in range(DELTAS_READ + 5):
        append(context)
    storage = FaultyStorage(context.storage)
    new = aged(fake_file(context, of="b"), -400)
    commit([message(context, new, of="b")], context=reopened(context, storage), user="u")
    assert storage.count("read", "manifest/manifest-") == storage.count("read", "manifest/manifest-list-")


def test_a_renumbered_file_stands_for_its_original():
    context = fake_table()
    file = fake_file(context)
    again = FileNames.again(file.file_name).next("data-", ".parquet")
    append(context, fake_file(context, name=again))
    with pytest.raises(CommitConflict, match="is already in the table"):
        append(context, file)


def test_a_file_made_less_than_26_hours_after_the_newest_snapshots_is_looked_for_everywhere():
    context = fake_table()
    file = fake_file(context)
    before = time.time_ns() // 1_000_000 - 25 * DAY // 24
    append(context, file, now_millis=before)
    for _ in range(DELTAS_READ):
        append(context, now_millis=before)
    with pytest.raises(CommitConflict, match="is already in the table"):
        append(context, file)


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (1, 1, True),
        (0, 1, True),
        (1, 2, True),
        (0, 0, False),
        (2, 3, False),
        (None, 0, True),
        (2, None, True),
        (None, None, True),
    ],
)
def test_a_manifest_is_searched_unless_its_range_of_buckets_leaves_the_file_out(low, high, found):
    context = fake_table()
    file = fake_file(context, bucket=1)
    for one in (file, fake_file(context, bucket=1)):
        commit([message(context, one, bucket=1)], context=context, user="u")
    context.snapshots.delete([1])
    base = Base(context, context.snapshots.latest())
    vars(base)["manifests"] = [dataclasses.replace(m, min_bucket=low, max_bucket=high) for m in base.manifests]
    (change,) = changes_of([message(context, file, bucket=1)])
    assert [entry for entry, _ in added_before(base, change.entries)] == (change.entries if found else [])


def found_before(context, *messages):
    """Return the names of those new files of the messages that the table has or had."""
    (change,) = changes_of(messages)
    return [e.file.file_name for e, _ in added_before(Base(context, context.snapshots.latest()), change.entries)]


@pytest.mark.parametrize(
    ("oldest_delta", "searched"), [(0, True), (-1, False)], ids=["26 hours before", "26 hours and a millisecond before"]
)
def test_all_manifests_are_searched_unless_the_oldest_delta_is_more_than_26_hours_older_than_the_file(
    monkeypatch, oldest_delta, searched
):
    monkeypatch.setattr(duplicates, "DELTAS_READ", 2)
    context = fake_table()
    file = dataclasses.replace(fake_file(context), creation_time_millis=1_700_000_000_000)
    before = epoch_millis(file.creation_time_millis) - 26 * 3_600_000
    append(context, file, now_millis=before - 9)
    for millis in (-9, oldest_delta, 0):
        append(context, now_millis=before + millis)
    assert found_before(context, message(context, file)) == ([file.file_name] if searched else [])


def test_an_old_file_is_found_beside_a_new_one(monkeypatch):
    monkeypatch.setattr(duplicates, "DELTAS_READ", 2)
    context = fake_table()
    old, new = aged(fake_file(context), -20), fake_file(context)
    long_ago = time.time_ns() // 1_000_000 - 10 * DAY
    append(context, old, now_millis=long_ago)
    for _ in range(3):
        append(context, now_millis=long_ago)
    assert found_before(context, message(context, new, old)) == [old.file_name]


def test_a_file_is_found_beside_one_of_another_bucket_and_in_any_block_of_a_manifest():
    context = fake_table(bucket="2")
    files = [fake_file(context, bucket=1) for _ in range(400)]
    commit([message(context, *files, bucket=1)], context=context, user="u")
    (manifest,) = context.manifests.manifests_of(append(context))[:1]
    assert len(list(context.manifests.blocks_of(manifest))) > 1
    context.snapshots.delete([1])
    for file in (files[0], files[-1]):
        messages = [message(context, fake_file(context)), message(context, file, bucket=1)]
        assert found_before(context, *messages) == [file.file_name]
