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
_RUN = """tags => axe.run(document, {runOnly: tags, resultTypes: ["violations"]}).then(found =>
    found.violations.flatMap(rule => rule.nodes.map(node => {
    const reason = node.any.concat(node.all, node.none)[0] || {message: ""}
    return `${rule.id}: ${node.target.join(" ")}: ${reason.message}`
})))"""


def axe_script() -> str:
    """The text of the script; skips the test where it is not installed."""
    script = axe_script_if_installed()
    if script is None:
        pytest.skip(f"no axe-core at {_path()} ({INSTALL}; or set AXE_CORE)")
    return script


def axe_script_if_installed() -> str | None:
    """The text of the script; None where it is not installed."""
    path = _path()
    return path.read_text() if path.is_file() else None


def _path() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("AXE_CORE") or cache / "paimon-object-servers/node_modules/axe-core/axe.min.js")


def violations(page: Any, script: str) -> list[str]:
    """The rules that a page of a browser breaks: the name of each, its element, and what is wrong."""
    page.evaluate(script)
    return list(page.evaluate(_RUN, list(TAGS)))
