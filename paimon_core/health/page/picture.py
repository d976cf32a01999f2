"""picture: the picture of the worst bucket as an SVG document of its own, for pages that show images."""

from __future__ import annotations

import re

from paimon_core.health.facts import Facts
from paimon_core.health.page.lsm_tree import files_figure
from paimon_core.health.page.style import LIGHT

_SVG = re.compile(r"<svg .*?</svg>", re.DOTALL)
_STYLE = (
    f"svg{{background:{LIGHT['back']}}}text{{fill:{LIGHT['muted']};font:11px monospace}}"
    f".grid{{stroke:{LIGHT['border']};fill:none}}.level0{{fill:{LIGHT['flushed']}}}.level{{fill:{LIGHT['merged']}}}"
)


def files_picture(facts: Facts) -> str:
    """Return the picture of ``files_figure`` as SVG text with its own colours; "" for a table without files.

    Raises SnapshotNotFound when the version expires during the call, CorruptTable for metadata that cannot be read.
    """
    found = _SVG.search(files_figure(facts))
    if found is None:
        return ""
    tag, _, rest = found[0].partition(">")
    return f'{tag} xmlns="http://www.w3.org/2000/svg"><style>{_STYLE}</style>{rest}'
