"""svg: pictures as text. Positions and lengths are pixels; colours are classes of ``style``, so that themes apply."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from paimon_core.health.page.markup import box
from paimon_core.health.page.texts import escaped

CHARACTER = 6.7
"""The width that is reserved for a character of 11 px."""


@dataclass
class Drawing:
    """The marks of one picture in the order in which they are drawn; texts are plain and are escaped here."""

    width: float
    height: float
    marks: list[str] = field(default_factory=list)

    def rectangle(self, x: float, y: float, width: float, height: float, css: str, title: str = "") -> None:
        """Draw a rectangle of at least one pixel; ``title`` is shown when the mouse is over it."""
        shape = f'x="{_n(x)}" y="{_n(y)}" width="{_n(max(1, width))}" height="{_n(max(1, height))}" class="{css}"'
        self.marks.append(f"<rect {shape}{_titled('rect', title)}")

    def circle(self, x: float, y: float, radius: float, css: str, title: str = "") -> None:
        """Draw a circle."""
        self.marks.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" class="{css}"{_titled("circle", title)}')

    def line(self, points: Iterable[tuple[float, float]], css: str) -> None:
        """Draw lines from point to point."""
        self.marks.append(f'<polyline points="{" ".join(f"{_n(x)},{_n(y)}" for x, y in points)}" class="{css}"/>')

    def text(self, x: float, y: float, text: str, anchor: str = "start", title: str = "") -> None:
        """Write text on a line; ``anchor`` is the part of the text at x: start, middle or end."""
        whole = f"<title>{escaped(title)}</title>" if title else ""
        self.marks.append(f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">{whole}{escaped(text)}</text>')

    def markup(self, title: str, description: str) -> str:
        """Return the picture in a box that scrolls on its own; screen readers read its title and description."""
        size = f'width="{_n(self.width)}" height="{_n(self.height)}" viewBox="0 0 {_n(self.width)} {_n(self.height)}"'
        said = f"<title>{escaped(title)}</title><desc>{escaped(description)}</desc>"
        return box(title, f'<svg role="img" aria-label="{escaped(title)}" {size}>{said}{"".join(self.marks)}</svg>')


@dataclass(frozen=True)
class Scale:
    """Maps numbers from ``low`` to ``high`` to pixels from ``start`` to ``end``; to the middle if low equals high."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the pixel of a number."""
        if self.high <= self.low:
            return (self.start + self.end) / 2
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def ticks(most: float, count: int = 4) -> list[int]:
    """Return about ``count`` round whole numbers from 0 to the first that is not below ``most``."""
    if most <= 0:
        return [0, 1]
    raw = max(1.0, most / count)
    unit = 10 ** math.floor(math.log10(raw))
    step = int(next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw))
    return list(range(0, math.ceil(most / step) * step + 1, step))


def sampled(count: int, most: int) -> Sequence[int]:
    """Return at most ``most`` positions of ``count``, evenly spaced, with the first and the last."""
    if count <= most:
        return range(count)
    return [round(n * (count - 1) / (most - 1)) for n in range(most)]


def _titled(tag: str, title: str) -> str:
    return f"><title>{escaped(title)}</title></{tag}>" if title else "/>"


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
