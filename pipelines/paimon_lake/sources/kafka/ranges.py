"""Ranges: choose the offsets of the next batch, and divide these offsets into parts of similar size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paimon_lake.sources.kafka.position import Place


@dataclass(frozen=True)
class OffsetRange:
    """The offsets of a partition from ``start`` up to ``end`` (exclusive); some may have no message."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def place(self) -> Place:
        """The topic and the partition."""
        return self.topic, self.partition

    @property
    def size(self) -> int:
        """The number of offsets."""
        return self.end - self.start


def next_ranges(offsets: Mapping[Place, int], ends: Mapping[Place, int], limit: int) -> list[OffsetRange]:
    """Return ranges of at most ``limit`` offsets together, in the order of topics and partitions.

    When more than ``limit`` offsets are left, each partition gets a proportional share, so that all partitions are read
    up to their ends at about the same time. A range has at least one offset; there are at most ``limit`` ranges.
    """
    left = {place: ends[place] - start for place, start in sorted(offsets.items()) if ends.get(place, 0) > start}
    total, ranges = sum(left.values()), []
    for place, size in left.items():
        share = size if total <= limit else min(limit, max(1, size * limit // total))
        limit, total = limit - share, total - size
        if share:
            ranges.append(OffsetRange(*place, offsets[place], offsets[place] + share))
    return ranges


def cut_ranges(ranges: Sequence[OffsetRange], parts: int) -> list[list[OffsetRange]]:
    """Cut ranges into at most ``parts`` groups of consecutive offsets, whose numbers of offsets differ by at most one.

    A range may be cut as well. The groups are in order: in a load, a row of a later group replaces a row with the same
    key of an earlier group.
    """
    total = sum(one.size for one in ranges)
    parts = max(1, min(parts, total))
    groups: list[list[OffsetRange]] = [[] for _ in range(parts if total else 0)]
    at = 0
    for one in ranges:
        start = one.start
        while start < one.end:
            group = min(parts - 1, ((at + 1) * parts - 1) // total)
            end = min(one.end, start + total * (group + 1) // parts - at)
            groups[group].append(OffsetRange(*one.place, start, end))
            at, start = at + end - start, end
    return groups
