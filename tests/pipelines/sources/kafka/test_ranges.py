"""Ranges of offsets: batches that are bounded, and parts of similar size that have each offset once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from paimon_lake.sources.kafka.ranges import OffsetRange, cut_ranges, next_ranges

A, B = ("a", 0), ("b", 1)


def test_all_offsets_when_they_are_few():
    assert next_ranges({A: 2, B: 0}, {A: 5, B: 1}, 4) == [OffsetRange("a", 0, 2, 5), OffsetRange("b", 1, 0, 1)]


def test_each_partition_has_its_share_of_a_batch():
    assert next_ranges({A: 0, B: 0}, {A: 900, B: 100}, 100) == [OffsetRange("a", 0, 0, 90), OffsetRange("b", 1, 0, 10)]


def test_partitions_without_new_messages_have_no_range():
    assert next_ranges({A: 7, B: 3}, {A: 7}, 10) == []


def test_ranges_are_cut_in_their_order():
    ranges = [OffsetRange("a", 0, 0, 5), OffsetRange("b", 1, 10, 11)]
    assert cut_ranges(ranges, 2) == [
        [OffsetRange("a", 0, 0, 3)],
        [OffsetRange("a", 0, 3, 5), OffsetRange("b", 1, 10, 11)],
    ]
    assert cut_ranges([], 3) == []


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=6), st.integers(1, 60), st.integers(1, 9))
def test_batches_and_parts_have_each_offset_once(sizes, limit, parts):
    offsets = {("t", n): start for n, (start, _) in enumerate(sizes)}
    ends = {("t", n): start + size for n, (start, size) in enumerate(sizes)}
    seen: dict[tuple[str, int], list[int]] = {place: [] for place in offsets}
    while ranges := next_ranges(offsets, ends, limit):
        assert sum(one.size for one in ranges) <= limit
        groups = cut_ranges(ranges, parts)
        counts = [sum(one.size for one in group) for group in groups]
        assert len(groups) <= parts
        assert max(counts) - min(counts) <= 1
        for one in (one for group in groups for one in group):
            seen[one.place] += range(one.start, one.end)
        offsets |= {one.place: one.end for one in ranges}
    assert seen == {("t", n): list(range(start, start + size)) for n, (start, size) in enumerate(sizes)}
