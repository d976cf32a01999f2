"""Files of the table that nothing reaches: left by a crash, or not committed yet (I29, for information)."""

from __future__ import annotations

import re

from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Location

MOST_NAMED = 20
_OWN = re.compile(r"(snapshot|tag|consumer|changelog|schema|branch|quarantine)/.*|(.*/)?_SUCCESS")
"""What other invariants speak of, what waits for its deletion on purpose, and marks for other tools."""


def list_unreferenced_files(run: CheckRun, location: Location) -> None:
    """Walk the table; nothing is told when some metadata could not be read, as what that reaches is not known."""
    collector, root = run.collector, run.context.paths.root
    if collector.incomplete:
        collector.skip("I29", "some metadata could not be read, so what nothing reaches is not known")
        return
    count = size = 0
    with collector.guarding("I29", location):
        for info in run.context.storage.walk(root):
            collector.check("I29")
            below = info.path.removeprefix(root).lstrip("/")
            if info.path in run.reached or info.name in run.data or _OWN.fullmatch(below):
                continue
            count, size = count + 1, size + info.size
            if count <= MOST_NAMED:
                collector.find(
                    "I29", location, f"nothing reaches {below} ({info.size:,} bytes)", level=Level.INFO, path=info.path
                )
    if count > MOST_NAMED:
        collector.find("I29", location, f"nothing reaches {count:,} files ({size:,} bytes) in all", level=Level.INFO)
