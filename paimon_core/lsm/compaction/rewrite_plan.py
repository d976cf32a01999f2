"""Rewrite plan: the files of a compaction that are merged into new files, and the files that only change their level.

This module implements steps 2 to 4 of format 8.5. An upgrade changes only the level in the manifest entry of a file, so
large files move to higher levels at little cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paimon_core.lsm.compaction.universal import CompactionUnit
from paimon_core.lsm.key_order import KeyOrder
from paimon_core.lsm.sections import Section, intervals
from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.metadata.data_file import DataFile
from paimon_core.options import TableOptions


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A step that gives ``file`` the unit's output level without rewriting the file."""

    file: DataFile

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The file to upgrade."""
        return (self.file,)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The file as a section of its own."""
        return (_alone(self.file),)

    @property
    def rewrite(self) -> Rewrite:
        """The step that writes the rows of the file into new files instead."""
        return Rewrite(self.sections)


@dataclass(frozen=True, slots=True)
class Reread(Upgrade):
    """An upgrade of ``file`` during which the rows of the file are read, for a changelog or for deletion vectors."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A step that merges the sections, in key order, into one sequence of new files."""

    sections: tuple[Section, ...]

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files that are replaced."""
        return tuple(file for section in self.sections for file in section.files)


def plan_rewrite(
    unit: CompactionUnit,
    *,
    key_order: KeyOrder,
    small_file_bytes: int,
    is_clean: Callable[[DataFile], bool],
    force_rewrite: bool = False,
    expires: Callable[[DataFile], bool] | None = None,
) -> list[Upgrade | Rewrite]:
    """Return the steps of a unit in key order; files of the unit that are in no step remain unchanged.

    Overlapping files and files smaller than ``small_file_bytes`` are merged; those that are adjacent in key order are
    merged in one step. Any other file is upgraded, or stays unchanged if it already has the output level. In three
    cases, such a file is rewritten instead: the output level is the last level and ``is_clean`` is false for the file
    (it may contain deletes); ``expires`` is true for the file (it contains expired rows, format 16.5); or
    ``force_rewrite`` is true (option compaction.force-rewrite-all-files).
    """
    if unit.each_alone:
        return [Upgrade(file).rewrite for section in intervals(unit.files, key_order) for file in section.files]
    steps: list[Upgrade | Rewrite] = []
    pending: list[Section] = []

    def move(file: DataFile) -> None:
        if force_rewrite or (unit.is_bottom and not is_clean(file)) or (expires is not None and expires(file)):
            steps.append(Upgrade(file).rewrite)
        elif file.level != unit.output_level:
            steps.append(Upgrade(file))

    def flush(sections: Sequence[Section]) -> None:
        if len(sections) == 1 and len(sections[0].runs) == 1:
            for file in sections[0].files:
                move(file)
        elif sections:
            steps.append(Rewrite(tuple(sections)))

    for section in intervals(unit.files, key_order):
        if len(section.runs) > 1:
            pending.append(section)
            continue
        for file in section.files:
            if file.file_size < small_file_bytes:
                pending.append(_alone(file))
            else:
                flush(pending)
                pending = []
                move(file)
    flush(pending)
    return steps


def small_file_bytes(options: TableOptions) -> int:
    """Return target-file-size * compaction.small-file-ratio in bytes; smaller files are merged with adjacent files."""
    return int(options.target_file_bytes(keyed=True) * options["compaction.small-file-ratio"])


def _alone(file: DataFile) -> Section:
    return Section((SortedRun(file.level, (file,)),))
