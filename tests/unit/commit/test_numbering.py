"""Numbering: the rows of a later commit get higher sequence numbers than all rows of the bucket before them."""

import dataclasses

import pytest

from paimon_core.commit.committer import commit
from paimon_core.commit.numbering import GAP
from tests.support.fake_tables import append, fake_file, fake_table, message

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
