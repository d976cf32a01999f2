"""pack_files: divides the files of many buckets into splits, with the files given as columns (format 8.7).

Most buckets have one file, or only files of one level above 0. Such files, and the files of append tables, are read raw
(without a merge), and a running sum of the file sizes shows where one split ends and the next begins. Only buckets
whose files share keys, or have rows of kind delete, are divided into sections: groups of files that have no key in
common with another group.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from paimon_core.plan.split import Layout, Packing, layout_of

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Section = list[list[int]]
"""The sorted runs of a section, the oldest first; each run is a list of the positions of its files."""


@dataclass(frozen=True)
class FileColumns:
    """The files of some buckets as columns.

    ``group``: the number of each file's bucket, from 0; files may be in any order.
    """

    group: Numbers
    groups: int
    level: Numbers
    file_size: Numbers
    row_count: Numbers
    min_sequence_number: Numbers
    max_sequence_number: Numbers
    clean: Mask
    """Whether the file is known to contain no row of kind delete."""
    key_ranks: Callable[[Numbers], tuple[Numbers, Numbers]]
    """Returns two arrays for the files at the given positions: numbers for their smallest and for their largest keys.

    Comparing these numbers gives the order of the keys.
    """

    @cached_property
    def sizes(self) -> list[int]:
        """``file_size`` as a list."""
        return list(self.file_size.tolist())

    @cached_property
    def rows(self) -> list[int]:
        """``row_count`` as a list."""
        return list(self.row_count.tolist())


@dataclass(frozen=True, slots=True)
class PackedFiles:
    """The positions of the files of one split, and the layout of the split: () for a raw split."""

    group: int
    files: Numbers
    layout: Layout
    row_count: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class PackingRule:
    """The settings that decide how files are packed, with the same rules as ``split.pack_keyed``."""

    packing: Packing
    keyed: bool
    """Whether the table has a primary key."""
    unique: bool = False
    """Whether each key is visible in only one file, so that no merge is necessary."""
    combines: bool = False
    trusts_counts: bool = True
    """Whether the recorded number of deletes is used for all files; False: only for files that a compaction wrote."""


def pack_files(columns: FileColumns, rule: PackingRule, matches: Mask | None = None) -> Iterator[PackedFiles]:
    """Yield the splits of all buckets, by bucket; ``matches``: the files in which a row may match the filter.

    Raises CorruptTable for keys that do not decode.
    """
    if not len(columns.group):
        return
    order = np.argsort(columns.group, kind="stable")
    starts = np.searchsorted(columns.group[order], np.arange(columns.groups))
    clean = np.logical_and.reduceat(columns.clean[order], starts)
    append = np.full(columns.groups, not rule.keyed) | (rule.unique & clean)
    levels = columns.level[order]
    low, high = np.minimum.reduceat(levels, starts), np.maximum.reduceat(levels, starts)
    counts = np.diff(starts, append=len(order))
    # Files of one level above 0 share no key (format 7.3), so their keys need not be decoded.
    apart = (counts == 1) | ((low == high) & (low > 0))
    in_order = np.where(append[columns.group], columns.min_sequence_number, 0)
    sections = _Sections(columns, order[~(append | apart)[columns.group[order]]])
    separate = sections.separate(columns.groups) & clean
    in_order[sections.files] = np.where(separate[columns.group[sections.files]], sections.place, 0)
    raw = append | (apart & clean) | separate
    order = np.lexsort((in_order, columns.group))
    keep = raw[columns.group[order]]
    others = _sectioned(columns, rule, order[~keep], apart, sections, matches)
    chosen = order[keep] if matches is None else order[keep & matches[order]]
    ends = np.searchsorted(columns.group[chosen], np.arange(columns.groups), side="right").tolist()
    raw_splits = _RawSplits(columns, rule.packing, chosen)
    start = 0
    for group, end in enumerate(ends):
        yield from raw_splits.cut(group, start, end) if raw[group] else others(group)
        start = end


class _RawSplits:
    """Divides files, in their order, into raw splits of the target size."""

    def __init__(self, found: FileColumns, packing: Packing, order: Numbers) -> None:
        self.order, self.target = order, packing.target_bytes
        sizes = found.file_size[order]
        self.weight = _sums(np.maximum(sizes, packing.open_file_bytes))
        self.size = _sums(sizes)
        self.rows = _sums(found.row_count[order])

    def cut(self, group: int, start: int, end: int) -> Iterator[PackedFiles]:
        weight, size, rows = self.weight, self.size, self.rows
        while start < end:
            upto, most = end, weight[start] + self.target
            if weight[end] > most:
                upto = max(start + int(np.searchsorted(weight[start + 1 : end + 1], most, side="right")), start + 1)
            files = self.order[start:upto]
            yield PackedFiles(group, files, (), int(rows[upto] - rows[start]), int(size[upto] - size[start]))
            start = upto


def _sums(values: Numbers) -> npt.NDArray[Any]:
    """Return 0 and the sums of the first values; Python numbers if a sum may not fit in 64 bits."""
    if len(values) and float(values.max()) * len(values) >= 2.0**62:
        return np.array([0, *accumulate(values.tolist())], object)
    out = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=out[1:])
    return out


def _sectioned(
    found: FileColumns, rule: PackingRule, order: Numbers, apart: Mask, sections: _Sections, matches: Mask | None
) -> Callable[[int], Iterator[PackedFiles]]:
    """Return a function that packs the files of one bucket, which may have to be merged.

    ``order``: the positions of the files, sorted by bucket.
    """
    starts = np.searchsorted(found.group[order], np.arange(found.groups + 1))
    sections.open(order[~apart[found.group[order]]])
    clean = found.clean

    def pack(group: int) -> Iterator[PackedFiles]:
        files = order[starts[group] : starts[group + 1]]
        if matches is not None and not rule.combines and not matches[files].any():
            return
        whole = [[[at]] for at in files.tolist()] if apart[group] else sections.of(files)
        if matches is not None:
            whole = [s for s in whole if (rule.combines and len(s) > 1) or any(matches[at] for run in s for at in run)]
        raw: list[int] = []
        merged: list[Section] = []
        for section in whole:
            if len(section) == 1 and all(clean[at] for at in section[0]):
                raw += section[0]
            else:
                merged.append(section)
        sizes = found.sizes
        for some in rule.packing.pack(raw, sizes.__getitem__):
            yield _packed(found, group, some, ())
        for group_ in rule.packing.pack(merged, lambda s: sum(sizes[at] for run in s for at in run)):
            yield _packed(
                found, group, [at for s in group_ for run in s for at in run], layout_of(map(len, s) for s in group_)
            )

    return pack


def _packed(found: FileColumns, group: int, files: list[int], layout: Layout) -> PackedFiles:
    rows, sizes = found.rows, found.sizes
    return PackedFiles(
        group, np.array(files, np.int64), layout, sum(rows[at] for at in files), sum(sizes[at] for at in files)
    )


class _Sections:
    """Divides the files of a bucket into sections as ``lsm.sections.intervals`` does, but with files as columns."""

    def __init__(self, found: FileColumns, files: Numbers) -> None:
        """``files``: the files of all buckets with several files that may share keys."""
        none = np.zeros(0, np.int64)
        lows, highs = found.key_ranks(files) if len(files) else (none, none)
        order = np.lexsort((highs, lows, found.group[files]))
        self.files = files[order]
        """The files by bucket and key."""
        self.place = np.arange(len(order))
        self._found, self._lows, self._highs = found, lows[order], highs[order]

    def separate(self, groups: int) -> Mask:
        """Return which of the buckets have only files that share no key with another file."""
        group = self._found.group[self.files]
        out = np.zeros(groups, bool)
        out[group] = True
        out[group[1:][(group[1:] == group[:-1]) & (self._lows[1:] <= self._highs[:-1])]] = False
        return out

    def open(self, files: Numbers) -> None:
        """Prepare ``of`` for buckets with these files."""
        chosen = np.zeros(len(self._found.group), bool)
        chosen[files] = True
        at = chosen[self.files]
        names = self.files[at].tolist()
        self.low = dict(zip(names, self._lows[at].tolist(), strict=True))
        self.high = dict(zip(names, self._highs[at].tolist(), strict=True))
        found, some = self._found, self.files[at]
        columns = (-found.level[some], found.max_sequence_number[some], found.min_sequence_number[some])
        ages = zip(*(c.tolist() for c in columns), strict=True)
        self.age: dict[int, tuple[int, int, int]] = dict(zip(names, ages, strict=True))

    def of(self, files: Numbers) -> list[Section]:
        low, high = self.low, self.high
        out: list[Section] = []
        together: list[int] = []
        bound = 0
        for at in sorted(files.tolist(), key=lambda at: (low[at], high[at])):
            if together and low[at] > bound:
                out.append(self._runs(together))
                together = []
            bound = max(bound, high[at]) if together else high[at]
            together.append(at)
        return [*out, self._runs(together)]

    def _runs(self, files: list[int]) -> Section:
        if len(files) == 1:
            return [files]
        runs: list[tuple[int, int, list[int]]] = []
        for number, at in enumerate(files):
            if runs and runs[0][0] < self.low[at]:
                _, opened, run = runs[0]
                run.append(at)
                heapq.heapreplace(runs, (self.high[at], opened, run))
            else:
                heapq.heappush(runs, (self.high[at], number, [at]))
        return sorted((run for _, _, run in sorted(runs, key=lambda r: r[1])), key=self._age)

    def _age(self, run: list[int]) -> tuple[int, int, int]:
        """Return a sort key that puts the oldest run first: higher levels are older, then smaller sequence numbers."""
        if len(run) == 1:
            return self.age[run[0]]
        ages = [self.age[at] for at in run]
        return min(a[0] for a in ages), max(a[1] for a in ages), min(a[2] for a in ages)
