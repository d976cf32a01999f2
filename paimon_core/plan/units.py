"""Units: divides a split into the parts that can be read separately, and selects splits that have enough rows for a
limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimon_core.plan.split import Split, layout_of


def units_of(split: Split) -> list[Split]:
    """Return the split divided into the smallest parts: a raw split by files, any other split by sections."""
    if split.raw:
        return [with_files(split, (at,)) for at in range(len(split.files))]
    return [
        replace(with_files(split, [at for run in section for at in run]), layout=layout_of([map(len, section)]))
        for section in split.layout
    ]


def with_files(split: Split, positions: Sequence[int]) -> Split:
    """Return the split with only the files at these positions; the layout is not changed."""
    files = tuple(split.files[at] for at in positions)
    vectors = {f.file_name: split.vectors[f.file_name] for f in files if f.file_name in split.vectors}
    return replace(split, files=files, vectors=vectors)


def enough_splits(splits: Sequence[Split], rows: int | None) -> Sequence[Split]:
    """Return some of the splits that together contain at least ``rows`` rows; all splits when ``rows`` is None.

    Only splits whose number of rows is known from metadata are chosen. If these splits have too few rows, all splits
    are returned. The result is valid only for a scan without a filter.
    """
    if rows is None:
        return splits
    chosen: list[Split] = []
    for split in splits:
        if rows <= 0:
            break
        if split.is_counted:
            chosen.append(split)
            rows -= split.row_count
    return splits if rows > 0 else chosen
