"""Splits: cut files into byte ranges, and pack the ranges into tasks of similar size.

A line belongs to the split that contains its first byte. So each line of a file is in exactly one split.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.formats import FileFormat, compression_of
from paimon_lake.sources.files.listing import SourceFile

TARGET_BYTES = 64 << 20


@dataclass(frozen=True)
class FileSplit:
    """The bytes of a file from ``start`` up to ``end`` (exclusive); the whole file when it cannot be divided."""

    file: SourceFile
    start: int
    end: int

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.end - self.start


def plan_splits(
    files: Iterable[SourceFile], file_format: FileFormat, target_bytes: int = TARGET_BYTES
) -> list[FileSplit]:
    """Return the splits of the files, in order; an empty file has no split.

    CSV without ``multiline``, JSON lines and change events are cut into equal ranges of at most ``target_bytes``,
    unless they are compressed. Raises PipelineError for a compression that cannot be read.
    """
    if target_bytes < 1:
        raise PipelineError(f"a split must have at least one byte, not {target_bytes}")
    splits = []
    for file in files:
        whole = compression_of(file.path, file_format.kind) is not None or not file_format.is_splittable
        count = 1 if whole else -(-file.size // target_bytes)
        cuts = [file.size * n // count for n in range(count + 1)] if file.size else []
        splits += [FileSplit(file, start, end) for start, end in itertools.pairwise(cuts)]
    return splits


def pack(splits: Sequence[FileSplit], tasks: int) -> list[list[FileSplit]]:
    """Cut the splits, in the order of paths and positions, into at most ``tasks`` consecutive groups of similar size.

    The groups are in this order, because in a load a row of a later group replaces a row with the same key of an
    earlier group.
    """
    if tasks < 1:
        raise PipelineError(f"the number of tasks must be at least 1, not {tasks}")
    ordered = sorted(splits, key=lambda s: (s.file.path, s.start))
    total = sum(max(1, split.size) for split in ordered)
    groups: list[list[FileSplit]] = []
    seen = number = 0
    for split in ordered:
        middle = seen + max(1, split.size) / 2
        if not groups or middle * tasks >= total * number:
            groups.append([])
            number = int(middle * tasks / total) + 1
        groups[-1].append(split)
        seen += max(1, split.size)
    return groups
