"""Content version: the snapshot that last changed the rows that a reader of a table sees."""

from __future__ import annotations

from paimon_core.table.view import TableView


def content_version(table: TableView) -> str:
    """Return a text with the id and time of the newest snapshot that changed the rows that a reader sees.

    Compactions count only for tables whose rows become visible when they are compacted: tables with the merge engine
    first-row, and tables with a postpone bucket. Appends without rows do not count. For a table that is pinned to a
    snapshot, later snapshots do not count.
    """
    shown_later = table.options["merge-engine"] == "first-row" or table.context.is_postponed
    unseen = ("ANALYZE",) if shown_later else ("COMPACT", "ANALYZE")
    snapshots = table.inspect.snapshots()
    names = ("snapshot_id", "commit_kind", "delta_record_count", "commit_time_utc")
    rows = list(zip(*(snapshots[name].to_pylist() for name in names), strict=True))
    if table.pinned is not None:
        rows = [row for row in rows if row[0] <= table.pinned.id]
    changed = [row for row in rows if row[1] not in unseen and (row[1] != "APPEND" or row[2])] or rows[:1]
    number, _, _, at = changed[-1]
    return f"{number} at {at:%Y-%m-%dT%H:%M:%S.%f}"
