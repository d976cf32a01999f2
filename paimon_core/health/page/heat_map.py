"""heat_map: a picture of the bytes of buckets (columns) by partitions (rows)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from paimon_core.health.facts import Facts
from paimon_core.health.page.markup import figure, legend
from paimon_core.health.page.svg import CHARACTER, Drawing
from paimon_core.health.page.texts import counted, number, short, size
from paimon_core.health.places import bucket_text

MOST_PARTITIONS, MOST_BUCKETS = 60, 64
NO_PARTITIONS = "not partitioned"
STEPS = 5
"""The number of colours."""
CELL, TOP, LABEL = 22.0, 34.0, 36
Numbers = npt.NDArray[np.int64]


def heat_map_figure(facts: Facts, most_partitions: int | None = None, most_buckets: int | None = None) -> str:
    """Return the picture of the largest partitions and buckets, at most as many as given (None: as on the page).

    Returns "" without files.
    """
    layout = facts.layout
    if not len(layout):
        return ""
    partitions = _largest(layout.partition, layout.bytes, most_partitions or MOST_PARTITIONS)
    buckets = np.sort(_largest(layout.bucket, layout.bytes, most_buckets or MOST_BUCKETS))
    at = np.flatnonzero(np.isin(layout.partition, partitions) & np.isin(layout.bucket, buckets))
    most = int(layout.bytes[at].max())
    names = [facts.context.partition_path(layout.partitions[code]) or NO_PARTITIONS for code in partitions.tolist()]
    left = min(LABEL, max(map(len, names))) * CHARACTER + 10
    width = left + len(buckets) * CELL
    drawing = Drawing(max(width, left + 9 * CHARACTER) + 4, TOP + len(partitions) * CELL + 4)
    drawing.text(left, 12, "bucket")
    each = 1 if buckets.max() < 100 else 2  # numbers of three digits are wider than a column
    for n, bucket in enumerate(buckets.tolist()):
        if n % each == 0:
            drawing.text(left + (n + 0.5) * CELL, TOP - 6, str(bucket), "middle")
    for n, name in enumerate(names):
        drawing.text(left - 8, TOP + n * CELL + 15, short(name, LABEL), "end", title=name)
        drawing.rectangle(left, TOP + n * CELL, len(buckets) * CELL, CELL - 2, "empty")
    row, column = np.argsort(partitions)[np.searchsorted(np.sort(partitions), layout.partition[at])], layout.bucket[at]
    order = np.lexsort((column, row))
    cells = []
    for position, r in zip(at[order].tolist(), row[order].tolist(), strict=True):
        bucket, length, files = (int(c[position]) for c in (layout.bucket, layout.bytes, layout.files))
        held = int(layout.rows[position])
        x = left + int(np.searchsorted(buckets, bucket)) * CELL
        title = f"bucket {bucket} of {names[r]}: {size(length)}, {counted(files, 'file')}"
        drawing.rectangle(x, TOP + r * CELL, CELL - 2, CELL - 2, f"heat{_step(length, most)}", title)
        cells.append((names[r], bucket, length, files, held))
    return figure(
        "Bytes by bucket and partition",
        [_said(facts), *_left_out(facts, partitions, buckets)],
        drawing.markup("Bytes by bucket and partition", _said(facts)) + legend(_meanings(most)),
        ("partition", "bucket", "bytes", "files", "rows in files"),
        cells,
    )


def _largest(codes: Numbers, amounts: Numbers, most: int) -> Numbers:
    """Return the codes with the largest amounts, the largest first."""
    known, inverse = np.unique(codes, return_inverse=True)
    sums = np.zeros(len(known), np.int64)
    np.add.at(sums, inverse, amounts)
    return known[np.argsort(-sums, kind="stable")][:most]


def _step(length: int, most: int) -> int:
    """Return the number of the colour, from 1 to ``STEPS``; each is an equal part of the largest bucket's bytes."""
    return max(1, -(-length * STEPS // max(1, most)))


def _meanings(most: int) -> list[tuple[str, str]]:
    """Return the legend: the largest bytes of each colour."""
    return [
        ("empty", "no files"),
        *((f"heat{n}", f"to {size(most * n // STEPS)}") for n in range(1, STEPS + 1)),
    ]


def _said(facts: Facts) -> str:
    layout = facts.layout
    large, small = int(np.argmax(layout.bytes)), int(np.argmin(layout.bytes))
    text = f"{counted(len(layout), 'bucket')} in {counted(len(layout.partitions), 'partition')} with files. "
    if len(layout) == 1:
        return f"{text}All {size(int(layout.bytes[large]))} are in {bucket_text(facts, large)}."
    return (
        f"{text}The largest is {bucket_text(facts, large)} with {size(int(layout.bytes[large]))}, the smallest "
        f"{bucket_text(facts, small)} with {size(int(layout.bytes[small]))}; the mean is "
        f"{size(float(layout.bytes.mean()))}."
    )


def _left_out(facts: Facts, partitions: Numbers, buckets: Numbers) -> list[str]:
    layout = facts.layout
    found = (("partitions", len(partitions), len(layout.partitions)), ("buckets", len(buckets), _count(layout.bucket)))
    return [
        f"Drawn are the {number(drawn)} largest {what}; {number(there - drawn)} are left out."
        for what, drawn, there in found
        if there > drawn
    ]


def _count(codes: Numbers) -> int:
    return len(np.unique(codes))
