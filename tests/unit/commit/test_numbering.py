"""Numbering: the rows of a later commit get higher sequence numbers than all rows of the bucket before them."""

import dataclasses
import io

import pyarrow.parquet as pq
import pytest

from paimon_core.commit import numbering
from paimon_core.commit.base import Base
from paimon_core.commit.changes import changes_of
from paimon_core.commit.committer import commit
from paimon_core.commit.numbering import GAP, Flush, Numbering, renumber
from tests.support.changelogs import written
from tests.support.fake_tables import append, fake_file, fake_table, message, partition

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


def test_files_that_are_rewritten_again_replace_those_of_the_attempt_before(monkeypatch):
    def renamed(context, flush, file, shift):
        name = f"again-{shift // GAP}-{file.file_name}"
        low, high = file.min_sequence_number + shift, file.max_sequence_number + shift
        return (dataclasses.replace(file, file_name=name, min_sequence_number=low, max_sequence_number=high),)

    monkeypatch.setattr(numbering, "renumber", renamed)
    context = fake_table()
    for bucket in (0, 1):
        commit([message(context, numbered(context, 0, 9), bucket=bucket)], context=context, user="rival")
    a, b = (numbered(context, 0, 5) for _ in "ab")
    (change,) = changes_of([message(context, a), message(context, b, bucket=1)])
    ours = Numbering(context)
    ours.number(change.entries, change.flushes, Base(context, context.snapshots.latest()), replaces=False)
    late = append(context, numbered(context, 5 * GAP, 5 * GAP + 9), user="rival")
    entries = ours.number(change.entries, change.flushes, Base(context, late), replaces=False)
    names = [f"again-6-{a.file_name}", f"again-1-{b.file_name}"]
    assert [e.file.file_name for e in entries] == names
    assert {f.file_name for m in ours.written for f in m.new_files} == set(names)
    assert {f.file_name for m in ours.replaced for f in m.new_files} == {a.file_name, b.file_name}


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
