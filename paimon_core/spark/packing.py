"""Packing: combines the splits and compactions of small buckets into about as many tasks as the cores can use.

A Spark task costs 20 to 70 ms in addition to its work: separate tasks for thousands of small buckets would take
minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace

OPEN_BYTES = 1 << 18
"""Bytes that are added to the size of a payload: merging a few small files takes as long as reading these bytes."""
MOST_BYTES = 128 << 20
"""About the most bytes of a task with several payloads, as ``spark.sql.files.maxPartitionBytes`` of Spark."""
UNKNOWN_CORES = 32
"""The number of tasks of a small job when the number of cores is not known."""


def packed(sizes: Sequence[int], cores: int) -> list[list[int]]:
    """Return the positions of ``sizes`` (bytes) in groups of about equal bytes, the largest group first.

    The positions of a group are ascending. There are at least ``cores`` groups, unless there are fewer positions.
    """
    weights = [size + OPEN_BYTES for size in sizes]
    return balanced(weights, max(cores, -(-sum(weights) // MOST_BYTES)))


def balanced(weights: Sequence[int], most: int) -> list[list[int]]:
    """Return the positions of ``weights`` in at most ``most`` groups of about equal weight, the heaviest group first.

    The heaviest position is assigned first, and each position to the group that is the lightest at that time. The
    positions of a group are ascending, and no group is empty, even if positions have no weight.
    """
    count = min(len(weights), most)
    groups: list[list[int]] = [[] for _ in range(count)]
    lightest = [(0, 0, group) for group in range(count)]  # weight, positions
    heapify(lightest)
    for position in sorted(range(len(weights)), key=lambda at: -weights[at]):
        weight, held, group = lightest[0]
        groups[group].append(position)
        heapreplace(lightest, (weight + weights[position], held + 1, group))
    order = sorted(lightest, reverse=True)
    return [sorted(groups[group]) for _, _, group in order]
