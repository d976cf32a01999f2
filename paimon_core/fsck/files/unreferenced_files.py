"""Unreferenced files: files that a crash left, or that are not committed yet (I29, for information)."""

from __future__ import annotations

import re

from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Location

MOST_NAMED = 20
"""Maximum number of files that get one finding each; for more files, one more finding states the total."""
_OWN = re.compile(r"(snapshot|tag|consumer|changelog|schema|branch|quarantine)/.*|(.*/)?_SUCCESS")
"""Paths that are never reported: files that other invariants check, files in quarantine, and marks for other tools."""


def list_unreferenced_files(run: CheckRun, location: Location) -> None:
    """Report unreferenced files; skip this check when metadata that may reference files could not be read."""
    collector, root = run.collector, run.context.paths.root
    if collector.incomplete:
        collector.skip("I29", "some metadata could not be read, so the references to files are not known")
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
                    "I29",
                    location,
                    f"nothing references {below} ({info.size:,} bytes)",
                    level=Level.INFO,
                    path=info.path,
                )
    if count > MOST_NAMED:
        collector.find(
            "I29", location, f"nothing references {count:,} files ({size:,} bytes) in total", level=Level.INFO
        )
