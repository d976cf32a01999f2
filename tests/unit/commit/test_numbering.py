"""Numbering: the rows of a later commit get higher sequence numbers than all rows of the bucket before them."""

import dataclasses
import io

import pyarrow.parquet as pq
import pytest

from paimon_core.commit import numbering
from paimon_core.commit.base import Base
from paimon_core.commit.changes import changes_of
from paimon_core.commit.numbering import GAP, Flush, Numbering, renumber
from paimon_core.commit.overwrite import Overwrite
from tests.support.changelogs import written
from tests.support.commits import commit
from tests.support.fake_tables import append, fake_file, fake_table, message, partition, reopened
from tests.support.faulty_storage import FaultyStorage

pytestmark = pytest.mark.usefixtures("fake_rows")


def numbers(context):
    entries = context.manifests.entries_of(context.snapshots.latest())
    return sorted((e.file.min_sequence_number, e.file.max_sequence_number) for e in entries)


def numbered(context, low, high):
    return dataclasses.replace(fake_file(context), min_sequence_number=low, max_sequence_number=high)


@pytest.mark.parametrize("buckets", ["1", "2"])
def test_numbers_that_are_too_low_are_raised_above_the_bucket(buckets):
    context = fake_table(bucket=buckets)
    for low, high in ((0, 9), (9, 12)):
        commit([message(context, numbered(context, low, high), total=int(buckets))], context=context, user="u")
    assert numbers(context) == [(0, 9), (10 + GAP, 13 + GAP)]


def test_the_next_number_is_high_enough():
    context = fake_table()
    append(context, numbered(context, 0, 9))
    append(context, numbered(context, 10, 12))
    assert numbers(context) == [(0, 9), (10, 12)]


def renamed(context, flush, file, shift):
    """Stand in for ``renumber`` as for a file whose rows store their numbers; a file without rows is not written."""
    if not file.row_count:
        return ()
    name = f"again-{shift // GAP}-{file.file_name}"
    low, high = file.min_sequence_number + shift, file.max_sequence_number + shift
    return (dataclasses.replace(file, file_name=name, min_sequence_number=low, max_sequence_number=high),)


def test_files_that_are_rewritten_again_replace_those_of_the_attempt_before(monkeypatch):
    monkeypatch.setattr(numbering, "renumber", renamed)
    context = fake_table()
    for bucket in (0, 1):
        commit([message(context, numbered(context, 0, 9), bucket=bucket)], context=context, user="rival")
    a, b, empty = (numbered(context, 0, 5) for _ in range(3))
    empty = dataclasses.replace(empty, row_count=0)
    (change,) = changes_of([message(context, a), message(context, b, empty, bucket=1)])
    ours = Numbering(context)
    ours.number(change.entries, change.flushes, Base(context, context.snapshots.latest()), replaces=False)
    late = append(context, numbered(context, 5 * GAP, 5 * GAP + 9), user="rival")
    entries = ours.number(change.entries, change.flushes, Base(context, late), replaces=False)
    names = [f"again-6-{a.file_name}", f"again-1-{b.file_name}"]
    assert [e.file.file_name for e in entries] == names
    assert {f.file_name for m in ours.written for f in m.new_files} == set(names)
    assert {f.file_name for m in ours.replaced for f in m.new_files} == {a.file_name, b.file_name}


def test_the_files_of_a_flush_are_raised_by_the_same_number_and_those_of_the_next_flush_lie_above_them():
    context = fake_table()
    append(context, numbered(context, 0, 9))
    first, low, next_flush = numbered(context, 20, 29), numbered(context, 9, 12), numbered(context, 15, 16)
    high_enough, equal = numbered(context, 3 * GAP, 3 * GAP + 1), numbered(context, 3 * GAP + 1, 3 * GAP + 1)
    flushes = [(first, low), (next_flush,), (high_enough,), (equal,)]
    commit([message(context, *files) for files in flushes], context=context, user="u")
    assert numbers(context) == [
        (0, 9),
        (10 + GAP, 13 + GAP),
        (21 + GAP, 30 + GAP),
        (31 + 2 * GAP, 32 + 2 * GAP),
        (3 * GAP, 3 * GAP + 1),
        (2 + 4 * GAP, 2 + 4 * GAP),
    ]


def test_the_highest_number_of_all_files_of_a_flush_counts_for_the_next_flush():
    context = fake_table()
    flushes = [(numbered(context, 30, 39), numbered(context, 20, 29)), (numbered(context, 35, 36),)]
    commit([message(context, *files) for files in flushes], context=context, user="u")
    assert numbers(context) == [(20, 29), (30, 39), (40 + GAP, 41 + GAP)]


def test_a_file_above_level_0_keeps_its_numbers_and_the_flush_after_it_is_raised():
    context = fake_table()
    base = Base(context, append(context, numbered(context, 0, 9)))
    upper, low = fake_file(context, level=5), numbered(context, 0, 3)
    (change,) = changes_of([message(context, upper), message(context, low)])
    entries = Numbering(context).number(change.entries, change.flushes, base, replaces=False)
    assert [e.file.min_sequence_number for e in entries] == [0, 10 + GAP]


def test_an_overwrite_keeps_its_numbers_however_low():
    context = fake_table()
    append(context, numbered(context, 5, 9))
    commit([message(context, numbered(context, 0, 3))], context=context, user="u", overwrite=Overwrite())
    assert numbers(context) == [(0, 3)]


def test_a_table_without_fixed_buckets_keeps_its_numbers():
    context = fake_table(keyed=False)
    for _ in "ab":
        append(context, numbered(context, 0, 9))
    assert numbers(context) == [(0, 9), (0, 9)]


@pytest.mark.parametrize(("since", "read"), [(0, 0), (1, 1), (2, 2), (3, 5)])
def test_the_deltas_of_few_snapshots_are_read_for_the_highest_number_and_all_manifests_after_many(
    monkeypatch, since, read
):
    monkeypatch.setattr(numbering, "DELTAS_READ", 2)
    context = fake_table()
    snapshots = [append(context, numbered(context, 10 * n, 10 * n + 9)) for n in range(5)]
    after = snapshots[4 - since]
    ours = dataclasses.replace(
        message(context, numbered(context, 3, 5)), numbered_after=(after.id, after.delta_manifest_list)
    )
    (change,) = changes_of([ours])
    storage = FaultyStorage(context.storage)
    base = Base(reopened(context, storage), snapshots[4])
    (entry,) = Numbering(base.context).number(change.entries, change.flushes, base, replaces=False)
    assert entry.file.min_sequence_number == (3 if since == 0 else 50 + GAP)
    assert storage.count("read", "manifest/manifest-") - storage.count("read", "manifest/manifest-list-") == read


def test_when_the_snapshot_that_a_flush_follows_was_rolled_back_all_live_files_are_read():
    context = fake_table()
    append(context, numbered(context, 0, 9))
    lost = append(context, numbered(context, 10, 12))
    context.snapshots.delete([2])
    append(context, numbered(context, 10, 19))
    ours = message(context, numbered(context, 13, 15))
    commit([dataclasses.replace(ours, numbered_after=(2, lost.delta_manifest_list))], context=context, user="u")
    assert numbers(context) == [(0, 9), (10, 19), (20 + GAP, 22 + GAP)]


def test_a_file_of_an_older_schema_is_rewritten_with_that_schema():
    context = fake_table()
    (file,) = written(context, [("+I", 7, "a", 1, 5)], partition=partition("a"))
    newer = context.reopened(dataclasses.replace(context.schema, id=1, fields=context.schema.fields[:2]))
    flush = Flush(partition("a"), 0, 2, (file.file_name,), None)
    (again,) = renumber(newer, flush, file, 100)
    assert (again.schema_id, again.min_sequence_number, again.max_sequence_number) == (0, 107, 107)
    path = context.paths.data_file(context.partition_path(partition("a")), 0, again.file_name)
    table = pq.read_table(io.BytesIO(context.storage.read(path)))
    assert [row["v"] for row in table.to_pylist()] == [5]
