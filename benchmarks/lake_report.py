"""Reports of the simulated lake: a table in Markdown and a line chart in SVG, which need nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 60, 190, 46, 44
# Distinguishable with colour-blind eyes on light and dark ground (Okabe and Ito); the dashes tell lines apart in print.
COLOURS = ("#0072b2", "#56b4e9", "#e69f00", "#d55e00", "#cc79a7", "#8a8a8a")
DASHES = ("", "7 3", "2 2", "9 3 2 3", "4 4", "1 4")


def table(rows: Sequence[Mapping[str, object]], columns: Mapping[str, str]) -> str:
    """Return a Markdown table with the members that ``columns`` maps to their headings."""
    lines = ["| " + " | ".join(columns.values()) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_text(row[name]) for name in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def line_chart(title: str, lines: Mapping[str, Sequence[float]], x_title: str, y_title: str, bound: float) -> str:
    """Return an SVG picture of lines over 1, 2, 3 ... with a logarithmic y axis, and a horizontal line at ``bound``."""
    top = 10 ** math.ceil(math.log10(max(max(values) for values in lines.values())))
    count = max(len(values) for values in lines.values())

    def x(index: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * index / max(1, count - 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - math.log10(max(1.0, value)) / math.log10(top))

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="sans-serif" '
        f'font-size="12"><title>{escape(title)}</title><rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _label(LEFT, 20, title, size=14),
        _label(LEFT, 38, y_title),
        _label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_title, anchor="middle"),
    ]
    ticks = [step * 10**power for power in range(round(math.log10(top))) for step in (1, 2, 5)] + [top]
    for value in ticks:
        out.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        out.append(_label(LEFT - 6, y(value) + 4, f"{value:g}", anchor="end"))
    every = range(0, count, max(1, count // 8))
    out += [_label(x(index), HEIGHT - BOTTOM + 18, str(index + 1), anchor="middle") for index in every]
    out.append(f'<path d="M{LEFT} {y(bound):.1f}H{WIDTH - RIGHT}" stroke="#222" stroke-dasharray="1 3"/>')
    ends = [(y(bound), f"bound {bound:g}", "#222")]
    for number, (name, values) in enumerate(lines.items()):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        points = " ".join(f"{x(i):.1f},{y(value):.1f}" for i, value in enumerate(values))
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        ends.append((y(values[-1]), name, colour))
    below = 0.0
    for place, name, colour in sorted(ends):
        below = max(place + 4, below + 15)
        out.append(_label(WIDTH - RIGHT + 8, below, name, colour=colour))
    return "\n".join([*out, "</svg>"]) + "\n"


def _label(x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#222", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{escape(text)}</text>'
    )
