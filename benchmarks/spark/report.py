"""Report: the measurements as text for a terminal, as a table in Markdown and as a picture in SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.spark.case import Case, Measured
from benchmarks.spark.results import Results
from paimon_core.health.page.style import LIGHT
from paimon_core.health.page.svg import CHARACTER, Drawing, Scale

WIDTH = 58
"""The characters of the names of cases."""
_HEAD = ("JVM", "workers", "driver", "total", "clock", "ratio")
_STYLE = (
    f"svg{{background:{LIGHT['back']}}}text{{fill:{LIGHT['muted']};font:11px monospace}}"
    f".grid{{stroke:{LIGHT['border']};fill:none}}.goal{{stroke:{LIGHT['text']};fill:none}}"
    f".reached{{fill:{LIGHT['merged']}}}.missed{{fill:{LIGHT['flushed']}}}"
)
_MOST_SHARE = 3.0
"""Longer bars end here; their number is written beside them."""


def text(results: Results, partitions: str, cases: Sequence[Case]) -> str:
    """Return the lines of the cases that were measured with a number of shuffle partitions."""
    lines = [f"{f'shuffle partitions {partitions}':{WIDTH}}" + "".join(f"{name:>9}" for name in _HEAD) + "  mark"]
    for case, spent in _measured(results, partitions, cases):
        cells = "".join(f"{cell:>9}" for cell in _cells(results, partitions, case, spent))
        lines.append(f"{case.name:{WIDTH}}{cells}  {_mark(results, partitions, case)}".rstrip())
        if spent.memory is not None:
            lines.append(f"  most memory: {_memory(spent)}")
    return "\n".join(lines)


def write(results: Results, cases: Sequence[Case], folder: Path) -> None:
    """Write ``spark.json``, ``spark.md`` and ``spark.svg`` to a folder."""
    results.save(folder)
    (folder / "spark.md").write_text(markdown(results, cases))
    (folder / "spark.svg").write_text(picture(results, cases))


def markdown(results: Results, cases: Sequence[Case]) -> str:
    """Return the table of all measurements, with a part for each number of shuffle partitions."""
    parts = [
        f"# Spark, TPC-H scale {results.scale:g}\n\nProcessor seconds of the JVM, of the Python workers and of the "
        "driver, the best of several runs, and seconds on the clock of the same run. The ratio is to the peer; cases "
        "of a cluster compare the clock."
    ]
    for partitions in results.found:
        rows = ["| case | " + " | ".join(_HEAD) + " | peer | mark |", "|---|" + "---:|" * len(_HEAD) + "---|---|"]
        notes = []
        for case, spent in _measured(results, partitions, cases):
            cells = [
                case.name, *_cells(results, partitions, case, spent), case.peer or "", _mark(results, partitions, case)
            ]  # fmt: skip
            rows.append("| " + " | ".join(cells) + " |")
            if spent.memory is not None:
                notes.append(f"- Most memory of {case.name}: {_memory(spent)}.")
        parts.append(f"## {partitions} shuffle partitions\n\n" + "\n".join(rows))
        if notes:
            parts.append("\n".join(notes))
    return "\n\n".join(parts) + "\n"


def picture(results: Results, cases: Sequence[Case]) -> str:
    """Return a bar for each case with a mark: its seconds divided by the seconds that the mark allows."""
    bars = [
        (case, partitions, share)
        for case in cases
        for partitions in results.found
        if (share := results.share(partitions, case)) is not None
    ]
    labels = [f"{case.name} ({partitions})" for case, partitions, _ in bars]
    left = CHARACTER * max(map(len, labels), default=0) + 16
    drawing = Drawing(left + 420, 18 * len(bars) + 44)
    scale = Scale(0, _MOST_SHARE, left, left + 360)
    bottom = 18 * len(bars) + 24
    for at in range(int(_MOST_SHARE) + 1):
        drawing.line([(scale(at), 20), (scale(at), bottom)], "goal" if at == 1 else "grid")
        drawing.text(scale(at), bottom + 14, "mark" if at == 1 else f"{at}", "middle")
    for number, ((_, _, share), label) in enumerate(zip(bars, labels, strict=True)):
        y = 24 + 18 * number
        drawing.text(left - 8, y + 10, label, "end")
        width = scale(min(share, _MOST_SHARE)) - left
        drawing.rectangle(left, y, width, 12, "reached" if share <= 1 else "missed", f"{label}: {share:.2f}")
        drawing.text(left + width + 4, y + 10, f"{share:.2f}")
    size = f'width="{drawing.width:.0f}" height="{drawing.height}" viewBox="0 0 {drawing.width:.0f} {drawing.height}"'
    title = f"Spark, TPC-H scale {results.scale:g}: seconds divided by the mark (number of shuffle partitions)"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}><title>{title}</title><style>{_STYLE}</style>'
    return f"{head}{''.join(drawing.marks)}</svg>\n"


def _measured(results: Results, partitions: str, cases: Sequence[Case]) -> list[tuple[Case, Measured]]:
    found = ((case, results.of(partitions, case.name)) for case in cases)
    return [(case, spent) for case, spent in found if spent is not None]


def _cells(results: Results, partitions: str, case: Case, spent: Measured) -> list[str]:
    ratio = results.ratio(partitions, case)
    numbers = [*spent.seconds, spent.seconds.total, spent.wall]
    return [f"{value:.2f}" for value in numbers] + ["" if ratio is None else f"{ratio:.2f}"]


def _mark(results: Results, partitions: str, case: Case) -> str:
    if case.mark is None:
        return ""
    share = results.share(partitions, case)
    judged = "" if share is None else ", reached" if share <= 1 else f", missed by {share - 1:.0%}"
    return f"{case.mark.text}{judged}"


def _memory(spent: Measured) -> str:
    named = zip(("JVM", "largest worker", "driver"), spent.memory or (), strict=True)
    return ", ".join(f"{name} {value / 1e6:,.0f} MB" for name, value in named)
