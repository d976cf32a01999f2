"""Units: the parts of a split that can be read or left out separately, and splits that are enough for a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimon_core.plan.split import Split, layout_of


def units_of(split: Split) -> list[Split]:
    """Return a split for each file of a raw split, and for each section of another one."""
    if split.raw:
        return [with_files(split, (at,)) for at in range(len(split.files))]
    return [
        replace(with_files(split, [at for run in section for at in run]), layout=layout_of([map(len, section)]))
        for section in split.layout
    ]


def with_files(split: Split, positions: Sequence[int]) -> Split:
    """Return the split of some of the files, by their positions; the layout is unchanged."""
    files = tuple(split.files[at] for at in positions)
    vectors = {f.file_name: split.vectors[f.file_name] for f in files if f.file_name in split.vectors}
    return replace(split, files=files, vectors=vectors)


def enough_splits(splits: Sequence[Split], rows: int | None) -> Sequence[Split]:
    """Return splits that contain at least ``rows`` rows, or all of them; None: all.

    Only splits of which the number of rows is known from metadata count; for a scan without a filter.
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
