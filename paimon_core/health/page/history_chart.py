"""history_chart: pictures of the rows in files and of the bytes written, over the snapshots that exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from paimon_core.health.facts import Facts
from paimon_core.health.held import Version
from paimon_core.health.page.markup import element, figure, legend
from paimon_core.health.page.svg import CHARACTER, Drawing, Scale, sampled, ticks
from paimon_core.health.page.texts import moment, number, size

MOST_POINTS = 500
MOST_MARKED = 60
"""A line with more points has no marks at its points."""
WIDTH, HEIGHT, TOP, BOTTOM = 470.0, 230.0, 12.0, 190.0
Series = tuple[str, str, Sequence[int]]
"""One line of a chart: the CSS class of its colour, its name, and its value at each drawn snapshot."""


def history_figures(facts: Facts) -> str:
    """Return the pictures of rows and of bytes; "" when no snapshot exists."""
    versions = facts.held.versions
    if not versions:
        return ""
    written = list(accumulate(0 if v.compacts else v.new_bytes for v in versions))
    rewritten = list(accumulate(v.new_bytes if v.compacts else 0 for v in versions))
    rows = [v.snapshot.total_record_count for v in versions]
    chosen = sampled(len(versions), MOST_POINTS)
    some = [versions[n] for n in chosen]
    ids = [(v.snapshot.id, moment(v.snapshot.time_millis), str(v.snapshot.commit_kind)) for v in some]
    header = ("snapshot", "time", "kind")
    notes = [_span(versions)]
    if len(some) < len(versions):
        notes.append(f"Drawn are {number(len(some))} of {number(len(versions))} snapshots, evenly spaced.")
    lines = {"rows": [rows[n] for n in chosen]}
    lines |= {"written": [written[n] for n in chosen], "rewritten": [rewritten[n] for n in chosen]}
    of_rows: Series = ("line1", "rows in files", lines["rows"])
    of_bytes: list[Series] = [
        ("line1", "written", lines["written"]),
        ("line2", "rewritten by compactions", lines["rewritten"]),
    ]
    rows_said = f"From {number(rows[0])} to {number(rows[-1])} rows in files, before merging."
    is_first = versions[0].snapshot.id == 1
    bytes_said = (
        f"{size(written[-1])} written and {size(rewritten[-1])} rewritten by compactions, added up from snapshot "
        f"{versions[0].snapshot.id} on{'' if is_first else '; what earlier snapshots wrote is not known'}."
    )
    both = [
        figure(
            "Rows in files over time",
            [rows_said],
            _chart("Rows in files over time", rows_said, some, [of_rows], number),
            (*header, "rows in files"),
            [(*one, rows[n]) for one, n in zip(ids, chosen, strict=True)],
        ),
        figure(
            "Bytes written over time",
            [bytes_said],
            _chart("Bytes written over time", bytes_said, some, of_bytes, size)
            + legend([("line1", "written"), ("line2", "rewritten by compactions")]),
            (*header, "bytes written", "bytes rewritten"),
            [(*one, written[n], rewritten[n]) for one, n in zip(ids, chosen, strict=True)],
        ),
    ]
    return f'{"".join(element("p", note, "muted") for note in notes)}<div class="pair">{"".join(both)}</div>'


def _chart(
    title: str, said: str, versions: Sequence[Version], lines: Sequence[Series], text: Callable[[float], str]
) -> str:
    times = [v.snapshot.time_millis for v in versions]
    marks = ticks(max(max(values) for _, _, values in lines))
    left = max(len(text(mark)) for mark in marks) * CHARACTER + 10
    drawing = Drawing(WIDTH, HEIGHT)
    x, y = Scale(min(times), max(times), left, WIDTH - 12), Scale(0, marks[-1], BOTTOM, TOP)
    for mark in marks:
        drawing.line([(left, y(mark)), (WIDTH - 12, y(mark))], "grid")
        drawing.text(left - 6, y(mark) + 4, text(mark), "end")
    drawing.text(left, BOTTOM + 18, moment(min(times)))
    if max(times) > min(times):
        drawing.text(WIDTH - 12, BOTTOM + 34, moment(max(times)), "end")
    for css, name, values in lines:
        points = [(x(time), y(value)) for time, value in zip(times, values, strict=True)]
        drawing.line(points, css)
        if len(points) <= MOST_MARKED:
            for (px, py), version, value in zip(points, versions, values, strict=True):
                drawing.circle(px, py, 3, f"dot {css}", f"snapshot {version.snapshot.id}: {text(value)} {name}")
    return drawing.markup(title, said)


def _span(versions: Sequence[Version]) -> str:
    first, last = versions[0].snapshot, versions[-1].snapshot
    if first is last:
        return f"One snapshot exists: {first.id} ({moment(first.time_millis)})."
    return (
        f"{number(len(versions))} snapshots exist: {first.id} ({moment(first.time_millis)}) to {last.id} "
        f"({moment(last.time_millis)})."
    )
