"""Sorted run: files of one bucket with disjoint key ranges; read in order, their rows are sorted (format 8.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from paimon_core.lsm.key_order import KeyOrder
from paimon_core.metadata.data_file import DataFile


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Files with disjoint key ranges. ``level``: the highest level of the files; a run of a section may mix levels."""

    level: int
    files: tuple[DataFile, ...]

    @property
    def size(self) -> int:
        """The total size of the files in bytes."""
        return sum(file.file_size for file in self.files)


def in_sequence(runs: Sequence[SortedRun]) -> tuple[SortedRun, ...] | None:
    """Return the runs, the oldest first, if their ranges of sequence numbers do not overlap; otherwise None.

    If the ranges do not overlap, the row of the latest run is the newest row of each key, so no sequence number must be
    read.
    """
    ranges = sorted(
        (
            min(f.min_sequence_number for f in run.files),
            max(f.max_sequence_number for f in run.files),
            number,
        )
        for number, run in enumerate(runs)
    )
    if any(later[0] <= earlier[1] for earlier, later in pairwise(ranges)):
        return None
    return tuple(runs[number] for _, _, number in ranges)


def by_key(files: Sequence[DataFile], key_order: KeyOrder) -> list[DataFile]:
    """Return the files in order of their smallest, then their largest key."""
    return sorted(files, key=lambda file: (key_order(file.min_key), key_order(file.max_key)))
