"""Repack: joins or divides the splits of a plan to reach another split size, with the same rows in the same order.

A raw split can be divided between its files. Any other split can be divided only between its sections, because the
sorted runs of a section must be merged together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from paimon_core.metadata.data_file import DataFile
from paimon_core.plan.split import Packing, Split, layout_of

_Unit = tuple[tuple[DataFile, ...], tuple[int, ...]]
"""The files of a unit that cannot be divided, and the number of files of each of its sorted runs; () if the split is
raw.
"""


def repacked(splits: Iterable[Split], packing: Packing) -> list[Split]:
    """Return splits of about ``packing.target_bytes``: adjacent splits of a bucket are joined, large splits divided.

    A unit (a file or section that cannot be divided) that exceeds the target is alone in its split.
    """
    out: list[Split] = []
    for _, neighbours in groupby(splits, lambda s: (s.partition, s.bucket, s.total_buckets, s.snapshot_id, s.raw)):
        some = list(neighbours)
        vectors = {name: vector for split in some for name, vector in split.vectors.items()}
        units = [unit for split in some for unit in _units(split)]
        for packed in packing.pack(units, lambda unit: sum(f.file_size for f in unit[0])):
            files = tuple(f for unit in packed for f in unit[0])
            here = {f.file_name: vectors[f.file_name] for f in files if f.file_name in vectors}
            layout = () if some[0].raw else layout_of(lengths for _, lengths in packed)
            out.append(replace(some[0], files=files, layout=layout, vectors=here))
    return out


def evenly(splits: Sequence[Split], threads: int) -> list[Split]:
    """Divide large splits, so that several threads have about equal work; splits are never joined."""
    share = max(sum(s.size_bytes for s in splits) // (_PARTS * threads), _LEAST_BYTES)
    packing = Packing(share, 0)
    return [part for s in splits for part in (repacked([s], packing) if s.size_bytes > share else [s])]


_PARTS = 4
"""The number of splits of equal size that each thread should get."""
_LEAST_BYTES = 4 << 20
"""Splits of at most this number of bytes are not divided, because reading one more split has a fixed cost."""


def _units(split: Split) -> Iterator[_Unit]:
    if split.raw:
        yield from (((f,), ()) for f in split.files)
        return
    for section in split.layout:
        yield tuple(split.files[at] for run in section for at in run), tuple(map(len, section))
