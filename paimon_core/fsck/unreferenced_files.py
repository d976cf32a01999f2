"""Files of the table that nothing reaches: left by a crash, or not committed yet (I29, for information)."""

from __future__ import annotations

import re

from paimon_core.fsck.check_context import Survey
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Spot

MOST_NAMED = 20
_OWN = re.compile(r"(snapshot|tag|consumer|changelog|schema|branch|quarantine)/.*|(.*/)?_SUCCESS")
"""What other invariants speak of, what waits for its deletion on purpose, and marks for other tools."""


def list_garbage(survey: Survey, spot: Spot) -> None:
    """Walk the table; nothing is told when some metadata could not be read, as what that reaches is not known."""
    notes, root = survey.notes, survey.context.paths.root
    if notes.incomplete:
        notes.skip("I29", "some metadata could not be read, so what nothing reaches is not known")
        return
    count = size = 0
    with notes.guarding("I29", spot):
        for info in survey.context.storage.walk(root):
            notes.check("I29")
            below = info.path.removeprefix(root).lstrip("/")
            if info.path in survey.reached or info.name in survey.data or _OWN.fullmatch(below):
                continue
            count, size = count + 1, size + info.size
            if count <= MOST_NAMED:
                notes.find(
                    "I29", spot, f"nothing reaches {below} ({info.size:,} bytes)", level=Level.INFO, path=info.path
                )
    if count > MOST_NAMED:
        notes.find("I29", spot, f"nothing reaches {count:,} files ({size:,} bytes) in all", level=Level.INFO)
