"""Content version: which snapshot last changed what a reader of a table sees."""

from __future__ import annotations

from paimon_core.table.table import Table


def content_version(table: Table) -> str:
    """Return id and time of the newest snapshot that changed what a reader sees.

    Compactions count only for a first-row table, whose rows become visible when they are compacted.
    """
    unseen = ("ANALYZE",) if table.options["merge-engine"] == "first-row" else ("COMPACT", "ANALYZE")
    snapshots = table.inspect.snapshots()
    columns = [snapshots[name].to_pylist() for name in ("snapshot_id", "commit_kind", "commit_time")]
    rows = list(zip(*columns, strict=True))
    changed = [row for row in rows if row[1] not in unseen] or rows[:1]
    number, _, at = changed[-1]
    return f"{number} at {at:%Y-%m-%dT%H:%M:%S.%f}"
