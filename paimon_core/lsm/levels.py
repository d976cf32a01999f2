"""Levels: the LSM tree of one bucket as sorted runs, newest first (format 8.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.metadata.data_file import DataFile
from paimon_core.options import TableOptions


@dataclass(frozen=True, slots=True)
class Levels:
    """The sorted runs of a bucket, the newest first.

    Each file of level 0 is a separate run, and each higher level that has files is one run.
    """

    runs: tuple[SortedRun, ...]
    num_levels: int

    @staticmethod
    def of(files: Iterable[DataFile], num_levels: int) -> Levels:
        """Return the levels of a bucket with these live files; a file at or above level ``num_levels`` adds levels.

        The files of level 0 are sorted by their largest sequence number, descending, then by smallest sequence number,
        creation time and name, ascending. The files of a higher level keep the given order.
        """
        by_level: dict[int, list[DataFile]] = {}
        for file in files:
            by_level.setdefault(file.level, []).append(file)
        newest_first = sorted(
            by_level.pop(0, []),
            key=lambda f: (
                -f.max_sequence_number,
                f.min_sequence_number,
                f.creation_time_millis or 0,
                f.file_name,
            ),
        )
        runs = [SortedRun(0, (file,)) for file in newest_first]
        runs += [SortedRun(level, tuple(by_level[level])) for level in sorted(by_level)]
        return Levels(tuple(runs), max(num_levels, max(by_level, default=0) + 1))

    @property
    def max_level(self) -> int:
        """The number of the last level, which has the oldest rows."""
        return self.num_levels - 1

    @property
    def highest_level(self) -> int:
        """The highest level that has files; -1 when the bucket is empty."""
        return self.runs[-1].level if self.runs else -1

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files, run by run."""
        return tuple(file for run in self.runs for file in run.files)


def num_levels(options: TableOptions) -> int:
    """Return option num-levels, or num-sorted-run.compaction-trigger plus one when it is not set (format 8.1)."""
    given: int | None = options["num-levels"]
    return int(options["num-sorted-run.compaction-trigger"]) + 1 if given is None else given
