"""lsm_tree: a picture of the files of the worst bucket: an LSM tree, or files by size for an append table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from paimon_core.health.facts import Facts
from paimon_core.health.page.markup import Cell, figure, legend
from paimon_core.health.page.svg import Drawing, Scale, ticks
from paimon_core.health.page.texts import counted, number, short, size
from paimon_core.health.places import bucket_text
from paimon_core.plan.entry_table import EntryTable
from paimon_core.plan.live_files import read_live_files
from paimon_core.plan.prune import Pruners

MOST_FILES = 200
WIDTH, LEFT, ROW, BAR = 760.0, 112.0, 20.0, 14.0
HEIGHT = 200.0
Numbers = npt.NDArray[np.int64]


def files_figure(facts: Facts) -> str:
    """Return the picture of the bucket with the most sorted runs (the largest of several); "" without files.

    Raises SnapshotNotFound when the version expires during the call, CorruptTable for metadata that cannot be read.
    """
    layout = facts.layout
    if not len(layout) or facts.snapshot is None:
        return ""
    worst = int(np.lexsort((-layout.bytes, -layout.runs))[0])
    place = bucket_text(facts, worst)
    with facts.context.manifests.reading(facts.snapshot):
        live = read_live_files(
            facts.context.manifests, facts.snapshot, Pruners(), None, level_0=True, evolves=True
        ).table
    partition = live.partitions.index(layout.partitions[int(layout.partition[worst])])
    files = live.taken(np.flatnonzero((live.partition == partition) & (live.bucket == layout.bucket[worst])))
    return _tree(facts, files, place) if facts.context.is_keyed else _by_size(facts, files, place)


def _tree(facts: Facts, files: EntryTable, place: str) -> str:
    at, note = _drawn(files)
    types = tuple(f.type for f in facts.context.schema.key_fields)
    ranks = np.array(files.key_ranks(at, types), np.int64)
    known, dense = np.unique(ranks, return_inverse=True)
    low, high = dense.reshape(2, -1)
    level = files.level[at]
    row = _rows(level)
    count = int(row.max()) + 1
    drawing = Drawing(WIDTH, count * ROW + 40)
    scale = Scale(0, len(known), LEFT, WIDTH - 8)
    names = [file.file_name for file in files.files(at)]
    rows: list[Sequence[Cell]] = []
    for n in range(count):
        drawing.line([(LEFT, (n + 1) * ROW), (WIDTH - 8, (n + 1) * ROW)], "grid")
        here = int(level[np.flatnonzero(row == n)[0]])
        newest = ", newest" if n == 0 and here == 0 else ""
        drawing.text(0, n * ROW + 14, f"level {here}{newest}")
    for name, lv, r, lo, hi, length, held in zip(
        names, *(c.tolist() for c in (level, row, low, high, files.file_size[at], files.row_count[at])), strict=True
    ):
        x, title = scale(lo), f"{name}: level {lv}, {size(length)}, {counted(held, 'row')}"
        drawing.rectangle(x, r * ROW + 3, scale(hi + 1) - x - 1, BAR, "level0" if lv == 0 else "level", title)
        rows.append((lv, name, length, held, lo + 1, hi + 1))
    bottom = count * ROW + 16
    drawing.text(LEFT, bottom, "smallest key")
    drawing.text(WIDTH - 8, bottom, "largest key", "end")
    runs = int((files.level == 0).sum()) + len(np.unique(files.level[files.level > 0]))
    title = f"LSM tree of {place}"
    said = (
        f"{counted(runs, 'sorted run')} with {counted(len(files), 'file')}, {size(int(files.file_size.sum()))}. A read "
        "of one key may open each file that a vertical line at the key crosses."
    )
    notes = [
        f"{said} This is the bucket with the most sorted runs. From left to right is the order of the smallest and "
        f"largest keys of the files; widths do not tell numbers of keys.{note}"
    ]
    picture = drawing.markup(title, said)
    picture += legend([("level0", "level 0: each file is a sorted run"), ("level", "higher levels")])
    header = ("level", "file", "bytes", "rows", "rank of smallest key", "rank of largest key")
    return figure(title, notes, picture, header, rows)


def _drawn(files: EntryTable) -> tuple[Numbers, str]:
    """Return the positions of the files to draw, level 0 first and newest first, and a text about omitted files."""
    flushed = np.flatnonzero(files.level == 0)
    flushed = flushed[np.argsort(-files.max_sequence_number[flushed], kind="stable")]
    higher = np.flatnonzero(files.level > 0)
    room = max(MOST_FILES // 2, MOST_FILES - len(higher))
    largest = higher[np.argsort(-files.file_size[higher], kind="stable")][: MOST_FILES - min(len(flushed), room)]
    largest = largest[np.argsort(files.level[largest], kind="stable")]
    at = np.concatenate([flushed[:room], largest])
    left = len(files) - len(at)
    note = (
        f" Drawn are the newest {number(min(len(flushed), room))} files of level 0 and the largest "
        f"{number(len(largest))} of the other levels; {number(left)} files are left out."
    )
    return at, note if left else ""


def _rows(level: Numbers) -> Numbers:
    """Return the row of the picture for each file: a file of level 0 has its own row, each other level has one row."""
    flushed = int((level == 0).sum())
    levels = np.unique(level[level > 0])
    return np.where(level == 0, np.cumsum(level == 0) - 1, flushed + np.searchsorted(levels, level))


def _by_size(facts: Facts, files: EntryTable, place: str) -> str:
    at = np.argsort(-files.file_size, kind="stable")[:MOST_FILES]
    sizes, held = files.file_size[at].tolist(), files.row_count[at].tolist()
    marks = ticks(max(sizes))
    drawing = Drawing(WIDTH, HEIGHT + 40)
    y = Scale(0, marks[-1], HEIGHT, 12)
    for mark in marks:
        drawing.line([(LEFT, y(mark)), (WIDTH - 8, y(mark))], "grid")
        drawing.text(LEFT - 6, y(mark) + 4, size(mark), "end")
    wide = min(40.0, (WIDTH - 8 - LEFT) / len(at))
    names = [file.file_name for file in files.files(at)]
    for n, (name, length, rows) in enumerate(zip(names, sizes, held, strict=True)):
        title = f"{name}: {size(length)}, {counted(rows, 'row')}"
        drawing.rectangle(LEFT + n * wide, y(length), wide - 1, HEIGHT - y(length), "level", title)
    drawing.text(LEFT, HEIGHT + 18, "largest")
    drawing.text(LEFT + max(len(at) * wide, 140), HEIGHT + 18, "smallest", "end")
    target = facts.context.options.target_file_bytes(keyed=False)
    title = f"Files of {place} by size"
    said = (
        f"{counted(len(files), 'file')}, {size(int(files.file_size.sum()))}; option target-file-size is {size(target)}."
    )
    note = f"{said} This is the bucket with the most files."
    if len(files) > len(at):
        note += f" Drawn are the {number(len(at))} largest; {number(len(files) - len(at))} files are left out."
    rows_of = list(zip(names, sizes, held, strict=True))
    return figure(short(title, 200), [note], drawing.markup(title, said), ("file", "bytes", "rows"), rows_of)
