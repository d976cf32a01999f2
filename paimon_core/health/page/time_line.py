"""time_line: a picture of snapshots, tags and branches in time, with the bytes of data files that each holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_core.health.facts import Facts
from paimon_core.health.held import Held
from paimon_core.health.page.markup import Cell, figure, legend
from paimon_core.health.page.svg import CHARACTER, Drawing, Scale, sampled
from paimon_core.health.page.texts import counted, moment, number, short, size

MOST_TICKS = 500
MOST_ROWS = 100
"""The largest number of tags and branches that are drawn: those that hold the most bytes."""
WIDTH, ROW, LABEL = 760.0, 22.0, 30
RIGHT = 12 * CHARACTER
TITLE = "Snapshots, tags and branches"


@dataclass(frozen=True)
class _Holder:
    kind: str
    name: str
    millis: int
    snapshot: int | None
    bytes: int


def time_line_figure(facts: Facts) -> str:
    """Return the picture; "" when there are no snapshots, tags and branches."""
    held = facts.held
    holders = _holders(held)
    if not held.versions and not holders:
        return ""
    drawn = holders
    if len(holders) > MOST_ROWS:
        least = sorted(holders, key=lambda one: -one.bytes)[:MOST_ROWS]
        drawn = [one for one in holders if one in least]
    times = [v.snapshot.time_millis for v in held.versions] + [h.millis for h in drawn]
    drawing = Drawing(WIDTH, (len(drawn) + 1) * ROW + 34)
    labels = ["snapshots", *(f"{one.kind} {one.name}" for one in drawn)]
    left = min(LABEL, max(map(len, labels))) * CHARACTER + 12
    x = Scale(min(times, default=0), max(times, default=0), left + 8, WIDTH - RIGHT - 8)
    _draw_row(drawing, 0, left, labels[0], size(held.snapshots))
    _draw_snapshots(drawing, held, x)
    for n, one in enumerate(drawn, 1):
        _draw_row(drawing, n, left, labels[n], size(one.bytes))
        title = f"{one.kind} {one.name}: {moment(one.millis)}, holds {size(one.bytes)}"
        drawing.circle(x(one.millis), n * ROW + ROW / 2, 6, one.kind, title)
    bottom = (len(drawn) + 1) * ROW + 16
    if times:
        drawing.text(left, bottom, moment(min(times)))
    if times and max(times) > min(times):
        drawing.text(WIDTH - RIGHT, bottom, moment(max(times)), "end")
    said = _said(held)
    colours = [
        ("tick", "snapshot"),
        ("tag", "tag, at the time of its snapshot"),
        ("branch", "branch, at its last commit or its creation"),
    ]
    header = ("what", "name", "snapshot", "time", "bytes held")
    return figure(
        TITLE, _notes(held, len(drawn)), drawing.markup(TITLE, said) + legend(colours), header, _rows(held, holders)
    )


def _holders(held: Held) -> list[_Holder]:
    tags = (_Holder("tag", t.tag.name, t.tag.snapshot.time_millis, t.tag.snapshot.id, t.bytes) for t in held.tags)
    branches = (_Holder("branch", b.name, b.last_change_millis, None, b.bytes) for b in held.branches)
    return [*tags, *branches]


def _draw_row(drawing: Drawing, n: int, left: float, label: str, amount: str) -> None:
    middle = n * ROW + ROW / 2
    drawing.line([(left, middle), (WIDTH - RIGHT, middle)], "grid")
    drawing.text(left - 8, middle + 4, short(label, LABEL), "end", title=label)
    drawing.text(WIDTH - RIGHT + 8, middle + 4, amount)


def _draw_snapshots(drawing: Drawing, held: Held, x: Scale) -> None:
    for n in sampled(len(held.versions), MOST_TICKS):
        found = held.versions[n].snapshot
        title = f"snapshot {found.id}, {found.commit_kind}: {moment(found.time_millis)}"
        drawing.rectangle(x(found.time_millis) - 1, 4, 2, ROW - 8, "tick", title)


def _said(held: Held) -> str:
    tags, branches = sum(t.bytes for t in held.tags), sum(b.bytes for b in held.branches)
    return (
        f"The latest version uses {size(held.live)} of data files. Only older snapshots hold {size(held.snapshots)}, "
        f"{counted(len(held.tags), 'tag')} {size(tags)}, and {counted(len(held.branches), 'branch', 'branches')} "
        f"{size(branches)}."
    )


def _notes(held: Held, drawn: int) -> list[str]:
    notes = [
        f"{_said(held)} A file counts for the first that uses it: the latest version, snapshots, changelogs, tags "
        "from the newest on, branches."
    ]
    there = len(held.tags) + len(held.branches)
    if there > drawn:
        notes.append(
            f"Drawn are the {number(drawn)} tags and branches that hold the most bytes; {number(there - drawn)} are in "
            "the table only."
        )
    if held.snapshot_count > MOST_TICKS:
        notes.append(f"Drawn are {number(MOST_TICKS)} of {number(held.snapshot_count)} snapshots, evenly spaced.")
    return notes


def _rows(held: Held, holders: Sequence[_Holder]) -> list[Sequence[Cell]]:
    rows: list[Sequence[Cell]] = []
    if held.versions:
        first, last = held.versions[0].snapshot, held.versions[-1].snapshot
        span = f"{moment(first.time_millis)} to {moment(last.time_millis)}"
        rows.append(("snapshots", f"{first.id} to {last.id}", None, span, held.snapshots))
    rows += [(h.kind, h.name, h.snapshot, moment(h.millis), h.bytes) for h in holders]
    return rows
