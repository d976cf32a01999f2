"""Universal compaction: chooses the sorted runs of a bucket to merge, and the output level (format 8.2, 8.4).

Runs are picked from the newest run on and without gaps, so rows in lower levels are always newer. Level 0 is never the
output level, because a compaction always picks all runs of levels 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paimon_core.lsm.levels import Levels
from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.metadata.data_file import DataFile
from paimon_core.options import TableOptions


@dataclass(frozen=True, slots=True)
class CompactionUnit:
    """The files to compact, newest run first, and their output level."""

    output_level: int
    files: tuple[DataFile, ...]
    drop_delete: bool
    """Whether to leave out deletes, because no run older than the output remains (format 8.5, step 1)."""
    each_alone: bool = False
    """Whether each file is rewritten separately, because the bucket is already one run at the last level."""
    runs_left: int = 0
    """Number of sorted runs of the bucket that are not compacted."""

    @property
    def is_bottom(self) -> bool:
        """Whether the output level is the last level: this is true when no other run of the bucket is left."""
        return self.runs_left == 0


@dataclass(frozen=True, slots=True)
class UniversalCompaction:
    """The universal rule; each field is the option whose name ends with the name of the field."""

    compaction_trigger: int = 5
    max_size_amplification_percent: int = 200
    size_ratio: int = 1

    @staticmethod
    def of(options: TableOptions) -> UniversalCompaction:
        """Return the rule with the table's options."""
        return UniversalCompaction(
            options["num-sorted-run.compaction-trigger"],
            options["compaction.max-size-amplification-percent"],
            options["compaction.size-ratio"],
        )

    def pick(self, levels: Levels) -> CompactionUnit | None:
        """Return the next compaction; None if there are fewer runs than the trigger, or as many and no rule fits."""
        picked = self._picked(levels.runs)
        if picked == 0:
            return None
        return _unit(levels, levels.runs[:picked])

    def pick_level_0(self, levels: Levels) -> CompactionUnit | None:
        """Return a compaction of level 0 and the next runs of similar size; None if level 0 is empty (format 8.3)."""
        count = sum(run.level == 0 for run in levels.runs)
        return _unit(levels, levels.runs[: self._by_ratio(levels.runs, count, triggered=True)]) if count else None

    def _picked(self, runs: tuple[SortedRun, ...]) -> int:
        """Return the number of newest runs to compact; 0: none.

        The rules are tried in order: size amplification, size ratio, number of runs.
        """
        if not runs or len(runs) < self.compaction_trigger:
            return 0
        # If the newer runs only replace rows of the oldest run, a full merge frees as many bytes as the newer runs
        # have.
        newer = sum(run.size for run in runs[:-1])
        if newer * 100 > self.max_size_amplification_percent * runs[-1].size:
            return len(runs)
        # Only runs of similar size are merged, so that a large old run is not rewritten for a few new rows.
        by_ratio = self._by_ratio(runs, 1, triggered=False)
        # Too many runs slow down reads: the newest runs are merged so that at most ``compaction_trigger`` runs remain.
        if by_ratio == 0 and len(runs) > self.compaction_trigger:
            return self._by_ratio(runs, len(runs) - self.compaction_trigger + 1, triggered=True)
        return by_ratio

    def _by_ratio(self, runs: tuple[SortedRun, ...], count: int, *, triggered: bool) -> int:
        """Return the number of runs to compact: the newest ``count`` runs and the next runs that are small enough.

        A run is small enough if it is at most ``size_ratio`` percent larger than all runs before it together. If
        ``triggered``, or after a run that is small enough was added, runs of levels 0 and 1 are added without a test of
        their size. Return 0 if ``triggered`` is false and no run was added.
        """
        size = sum(run.size for run in runs[:count])
        for run in runs[count:]:
            if size * (100.0 + self.size_ratio) / 100.0 < run.size and (not triggered or run.level > 1):
                break
            size += run.size
            count += 1
            triggered = True
        return count if triggered else 0


def full_unit(
    levels: Levels, *, force_rewrite: bool = False, expires: Callable[[DataFile], bool] | None = None
) -> CompactionUnit | None:
    """Return the compaction of all runs into the last level; None if no file must be compacted (format 8.4).

    If the bucket is already one run at the last level, all files are rewritten if ``force_rewrite`` is true. If it is
    false, only the files for which ``expires`` is true are rewritten, because they contain expired rows.
    """
    if not levels.runs:
        return None
    if len(levels.runs) == 1 and levels.runs[0].level == levels.max_level:
        files = tuple(f for f in levels.files if force_rewrite or (expires is not None and expires(f)))
        return CompactionUnit(levels.max_level, files, drop_delete=True, each_alone=True) if files else None
    return _unit(levels, levels.runs)


def _unit(levels: Levels, runs: tuple[SortedRun, ...]) -> CompactionUnit:
    """Return the compaction of the newest ``runs``.

    The output level is one less than the level of the next run; without a next run, it is the last level.
    """
    rest = levels.runs[len(runs) :]
    output_level = rest[0].level - 1 if rest else levels.max_level
    files = tuple(file for run in runs for file in run.files)
    drop_delete = output_level >= levels.highest_level
    return CompactionUnit(output_level, files, drop_delete=drop_delete, runs_left=len(rest))
