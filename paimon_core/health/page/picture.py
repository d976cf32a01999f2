"""picture: the pictures of a table as SVG documents of their own, for pages that show images."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from paimon_core.health.facts import Facts
from paimon_core.health.page.heat_map import heat_map_figure
from paimon_core.health.page.history_chart import history_figures
from paimon_core.health.page.lsm_tree import files_figure
from paimon_core.health.page.style import LIGHT
from paimon_core.health.page.svg import CHARACTER, Drawing
from paimon_core.health.page.time_line import time_line_figure

NAMES = ("files", "buckets", "rows", "bytes", "history")
"""The names of the pictures, the most important first."""
MOST_PARTITIONS, MOST_BUCKETS = 20, 32
"""The heat map has less room than on the page, because such pictures are stored with each event of a scheduler."""
_FIGURE = re.compile(r"<figure>.*?</figure>", re.DOTALL)
_SVG = re.compile(
    r"<svg [^>]*width=\"([\d.]+)\" height=\"([\d.]+)\"[^>]*>(<title>(.*?)</title><desc>.*?</desc>)(.*?)</svg>",
    re.DOTALL,
)
_LEGEND = re.compile(r"<li><span class=\"(\w+)\" aria-hidden=\"true\"></span>(.*?)</li>", re.DOTALL)
_MARK_TITLE = re.compile(r"<title>.*?</title>", re.DOTALL)
_TOP, _LEGEND_ROW, _MARGIN = 24.0, 20.0, 8.0
_CLASSES = {
    "level0": "flushed",
    "level": "merged",
    "tick": "merged",
    "tag": "tagged",
    "branch": "branched",
    **{name: name for name in ("empty", "heat1", "heat2", "heat3", "heat4", "heat5")},
}
_STYLE = (
    f"svg{{background:{LIGHT['back']}}}text{{fill:{LIGHT['muted']};font:11px 'DejaVu Sans Mono',Menlo,monospace}}"
    f".caption{{fill:{LIGHT['text']};font-weight:700}}polyline{{fill:none;stroke-width:2}}"
    f"polyline.grid{{stroke:{LIGHT['border']};stroke-width:1}}.line1{{stroke:{LIGHT['merged']}}}"
    f".line2{{stroke:{LIGHT['flushed']};stroke-dasharray:6 3}}.dot{{stroke:none}}.dot.line1{{fill:{LIGHT['merged']}}}"
    f".dot.line2{{fill:{LIGHT['flushed']}}}"
) + "".join(f".{name}{{fill:{LIGHT[colour]}}}" for name, colour in _CLASSES.items())


def pictures(facts: Facts) -> dict[str, str]:
    """Return the pictures of the page as SVG texts with their own colours and legends, by name; only those with marks.

    ``files``: the bucket with the most sorted runs; ``buckets``: bytes by bucket and partition; ``rows`` and ``bytes``
    over time; ``history``: snapshots, tags and branches. Raises SnapshotNotFound when the version expires during the
    call, CorruptTable for metadata that cannot be read.
    """
    of_time = _documents(history_figures(facts))
    found = {
        "files": next(_documents(files_figure(facts)), ""),
        "buckets": next(_documents(heat_map_figure(facts, MOST_PARTITIONS, MOST_BUCKETS)), ""),
        "rows": next(of_time, ""),
        "bytes": next(of_time, ""),
        "history": next(_documents(time_line_figure(facts)), ""),
    }
    return {name: svg for name, svg in found.items() if svg}


def files_picture(facts: Facts) -> str:
    """Return the picture ``files`` of ``pictures``; "" for a table without files. Raises the same errors."""
    return next(_documents(files_figure(facts)), "")


def _documents(figures: str) -> Iterator[str]:
    """Yield an SVG text for each figure. Titles of marks are left out, because an image does not show them."""
    for figure in _FIGURE.findall(figures):
        found = _SVG.search(figure)
        assert found is not None
        width, height = float(found[1]), float(found[2])
        caption = html.unescape(found[4])
        legend, legend_width, rows = _legend(_LEGEND.findall(figure), width)
        width = max(width, (len(caption) + 1) * CHARACTER, legend_width) + 2 * _MARGIN
        height = _TOP + height + rows * _LEGEND_ROW + 2 * _MARGIN
        marks = (
            f'<text x="0" y="12" class="caption">{found[4]}</text>',
            f'<g transform="translate(0 {_TOP:g})">{_MARK_TITLE.sub("", found[5])}</g>',
            f'<g transform="translate(0 {_TOP + float(found[2]):g})">{legend}</g>',
        )
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" height="{height:g}" '
            f'viewBox="{-_MARGIN:g} {-_MARGIN:g} {width:g} {height:g}">{found[3]}<style>{_STYLE}</style>'
            f"{''.join(marks)}</svg>"
        )


def _legend(entries: list[tuple[str, str]], width: float) -> tuple[str, float, int]:
    """Return the marks of a legend that is about as wide as its picture, its width and its number of rows."""
    drawing, x, row, widest = Drawing(0, 0), 0.0, 0, 0.0
    for css, escaped_text in entries:
        text = html.unescape(escaped_text)
        needed = 26 + (len(text) + 2) * CHARACTER
        if x and x + needed > max(width, 470):
            x, row = 0.0, row + 1
        middle = row * _LEGEND_ROW + 10
        if css.startswith("line"):
            drawing.line([(x, middle), (x + 20, middle)], css)
        else:
            drawing.rectangle(x + 4, middle - 6, 12, 12, css)
        drawing.text(x + 26, middle + 4, text)
        x += needed
        widest = max(widest, x)
    return "".join(drawing.marks), widest, row + 1 if entries else 0
