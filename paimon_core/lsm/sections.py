"""Sections: groups of files to merge together; different sections have disjoint key ranges (format 8.5, step 2)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from paimon_core.lsm.key_order import KeyOrder, SortKey
from paimon_core.lsm.sorted_run import SortedRun, by_key
from paimon_core.metadata.data_file import DataFile


@dataclass(frozen=True, slots=True)
class Section:
    """The files of one key range, arranged in as few sorted runs as possible, the oldest run first.

    No key of a section is in another section.
    """

    runs: tuple[SortedRun, ...]

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files, run by run."""
        return tuple(file for run in self.runs for file in run.files)


def intervals(files: Sequence[DataFile], key_order: KeyOrder) -> list[Section]:
    """Divide the files of a bucket, of any levels, into sections in key order.

    A section ends where the next file starts above all keys of the files before it. Within a section, the files are
    added to runs in key order: a file is added to the run with the smallest last key if the file starts above this key;
    otherwise the file starts a new run. Raises CorruptTable for keys that do not decode.
    """
    sections: list[Section] = []
    open_files: list[DataFile] = []
    bound: SortKey = ()
    for file in by_key(files, key_order):
        if open_files and key_order(file.min_key) > bound:
            sections.append(_section(open_files, key_order))
            open_files = []
        last = key_order(file.max_key)
        bound = max(bound, last) if open_files else last
        open_files.append(file)
    if open_files:
        sections.append(_section(open_files, key_order))
    return sections


def _section(files: Sequence[DataFile], key_order: KeyOrder) -> Section:
    runs: list[tuple[SortKey, int, list[DataFile]]] = []
    for number, file in enumerate(files):
        last = key_order(file.max_key)
        if runs and runs[0][0] < key_order(file.min_key):
            _, opened, run = runs[0]
            run.append(file)
            heapq.heapreplace(runs, (last, opened, run))
        else:
            heapq.heappush(runs, (last, number, [file]))
    found = [SortedRun(max(f.level for f in run), tuple(run)) for _, _, run in sorted(runs, key=lambda r: r[1])]
    return Section(tuple(sorted(found, key=lambda run: (-run.level, *_sequences(run)))))


def _sequences(run: SortedRun) -> tuple[int, int]:
    return max(f.max_sequence_number for f in run.files), min(f.min_sequence_number for f in run.files)
