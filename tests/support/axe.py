"""axe-core, which checks pages in a browser for accessibility; it is not part of the project.

Its script is found by ``AXE_CORE`` (the path of axe.min.js), or where .ci/run installs it; tests that need it are
skipped with a reason where it is missing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

INSTALL = "npm install --prefix ~/.cache/paimon-object-servers axe-core"
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
"""The rules that are checked: WCAG 2.2 up to AA, and what axe recommends besides."""
_RUN = """tags => axe.run(document, {runOnly: tags}).then(found =>
    found.violations.flatMap(rule => rule.nodes.map(node => {
    const reason = node.any.concat(node.all, node.none)[0] || {message: ""}
    return `${rule.id}: ${node.target.join(" ")}: ${reason.message}`
})))"""


def axe_script() -> str:
    """The text of the script; skips the test where it is not installed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = Path(os.environ.get("AXE_CORE") or cache / "paimon-object-servers/node_modules/axe-core/axe.min.js")
    if not path.is_file():
        pytest.skip(f"no axe-core at {path} ({INSTALL}; or set AXE_CORE)")
    return path.read_text()


def violations(page: Any, script: str) -> list[str]:
    """The rules that a page of a browser breaks: the name of each, its element, and what is wrong."""
    page.evaluate(script)
    return list(page.evaluate(_RUN, list(TAGS)))
