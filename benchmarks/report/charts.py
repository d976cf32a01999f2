"""Charts: pictures in SVG with logarithmic axes, for light and dark screens."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from paimon_core.health.page.style import DARK, LIGHT
from paimon_core.health.page.svg import CHARACTER, Drawing, Scale
from paimon_core.health.page.texts import escaped

# Distinguishable with colour-blind eyes (Okabe and Ito), on light and on dark ground; shapes tell the marks apart too.
COLOURS = ("#0072b2", "#d55e00", "#cc79a7", "#e69f00", "#009e73", "#56b4e9", "#8a6d3b", "#8a8a8a")
ROW, TOP = 26, 64
_BEST = 5.5


def _style() -> str:
    series = "".join(f".s{n}{{fill:{c};stroke:{c}}}polyline.s{n}{{fill:none}}" for n, c in enumerate(COLOURS))
    both = [
        f"svg{{background:{c['back']}}}text{{fill:{c['text']}}}.grid{{stroke:{c['border']};fill:none}}"
        for c in (LIGHT, DARK)
    ]
    return (
        "text{font:12px system-ui,sans-serif}.title{font-weight:600;font-size:14px}"
        f"polyline{{stroke-width:2;fill:none}}polyline.late{{stroke-dasharray:6 4}}{series}"
        f"{both[0]}@media (prefers-color-scheme:dark){{{both[1]}}}"
    )


def _whole(drawing: Drawing, title: str, subtitle: str) -> str:
    size = f'viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}" width="{drawing.width:.0f}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} height="{drawing.height:.0f}">'
        f"<title>{escaped(title)}</title><desc>{escaped(subtitle)}</desc><style>{_style()}</style>"
        f'<text x="10" y="20" class="title">{escaped(title)}</text><text x="10" y="38">{escaped(subtitle)}</text>'
    )
    return f"{head}{''.join(drawing.marks)}</svg>\n"


def _powers(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def dots(title: str, subtitle: str, rows: Mapping[str, Mapping[str, float]], unit: str) -> str:
    """Return a row for each name with a mark for each series, on a logarithmic axis from left to right.

    ``rows`` has positive numbers by row and series; all series are in the order of their first appearance.
    """
    series = list(dict.fromkeys(name for row in rows.values() for name in row))
    numbers = [number for row in rows.values() for number in row.values()]
    if not numbers:
        return _whole(Drawing(760, TOP), title, "nothing was measured")
    axis = _powers(min(numbers), max(numbers))
    left = CHARACTER * max(map(len, rows)) + 20
    drawing = Drawing(left + 560, TOP + ROW * len(rows) + 40)
    scale = Scale(math.log10(axis[0]), math.log10(axis[-1]), left, left + 530)
    bottom = TOP + ROW * len(rows)
    _legend(drawing, series)
    for power in axis:
        x = scale(math.log10(power))
        drawing.line([(x, TOP), (x, bottom)], "grid")
        drawing.text(x, bottom + 16, f"{power:g} {unit}", "middle")
    for number, (name, row) in enumerate(rows.items()):
        y = TOP + ROW * number + ROW / 2
        drawing.line([(left, y), (left + 530, y)], "grid")
        drawing.text(left - 8, y + 4, name, "end")
        for member in reversed(series):
            if member in row:
                _mark(
                    drawing,
                    series.index(member),
                    scale(math.log10(row[member])),
                    y,
                    f"{member}: {row[member]:.4g} {unit}",
                )
    return _whole(drawing, title, subtitle)


def lines(
    title: str, subtitle: str, found: Mapping[str, Sequence[tuple[float, float]]], x_title: str, unit: str
) -> str:
    """Return lines through points, both axes logarithmic; ``found`` has positive points by series."""
    xs = [x for points in found.values() for x, _ in points]
    ys = [y for points in found.values() for _, y in points if y > 0]
    if not ys:
        return _whole(Drawing(760, TOP), title, "nothing was measured")
    across, upward = _powers(min(xs), max(xs)), _powers(min(ys), max(ys))
    left, right = 80.0, 520.0
    bottom = 360.0
    label = max(len(name) for name in found)
    drawing = Drawing(right + 50 + CHARACTER * label, bottom + 50)
    x_of = Scale(math.log10(min(xs)), math.log10(max(max(xs), min(xs) * 1.01)), left, right)
    y_of = Scale(math.log10(upward[0]), math.log10(upward[-1]), bottom, TOP)
    for power in upward:
        drawing.line([(left, y_of(math.log10(power))), (right, y_of(math.log10(power)))], "grid")
        drawing.text(left - 6, y_of(math.log10(power)) + 4, f"{power:g} {unit}", "end")
    for power in across:
        if min(xs) <= power <= max(xs):
            drawing.line([(x_of(math.log10(power)), TOP), (x_of(math.log10(power)), bottom)], "grid")
            drawing.text(x_of(math.log10(power)), bottom + 16, f"{power:,.0f}", "middle")
    drawing.text((left + right) / 2, bottom + 36, x_title, "middle")
    ends: list[tuple[float, int, str]] = []
    for number, (name, points) in enumerate(found.items()):
        places = [(x_of(math.log10(x)), y_of(math.log10(max(y, upward[0])))) for x, y in points]
        drawing.line(places, f"s{number % len(COLOURS)}" + (" late" if number >= len(COLOURS) else ""))
        for (x, y), point in zip(places, points, strict=True):
            _mark(drawing, number, x, y, f"{name}: {point[1]:.4g} {unit} at {point[0]:,.0f}")
        ends.append((places[-1][1], number, name))
    below = 0.0
    for place, number, name in sorted(ends):
        below = max(place + 4, below + 14)
        _mark(drawing, number, right + 18, below - 4, name)
        drawing.text(right + 30, below, name)
    return _whole(drawing, title, subtitle)


def _legend(drawing: Drawing, series: Sequence[str]) -> None:
    x = 16.0
    for number, name in enumerate(series):
        _mark(drawing, number, x, 52, name)
        drawing.text(x + 9, 56, name)
        x += 24 + CHARACTER * len(name)
    drawing.width = max(drawing.width, x)


def _mark(drawing: Drawing, number: int, x: float, y: float, title: str) -> None:
    """A disc for the first series, a square, a diamond, a bar and so on for the others."""
    css, kind = f"s{number % len(COLOURS)}", number % 4
    if number == 0:
        drawing.circle(x, y, _BEST + 1, css, title)
    elif kind == 1:
        drawing.rectangle(x - 4, y - 4, 8, 8, css, title)
    elif kind == 2:
        drawing.rectangle(x - 1.5, y - 7, 3, 14, css, title)
    elif kind == 3:
        drawing.rectangle(x - 7, y - 1.5, 14, 3, css, title)
    else:
        drawing.circle(x, y, 4, css, title)
