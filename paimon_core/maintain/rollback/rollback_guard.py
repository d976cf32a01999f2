"""Rollback guard: an expiry stops when a rollback runs at the same time (format 15.3, 16.1).

An expiry deletes snapshots from the lowest id up, to the first snapshot that it keeps; a rollback deletes snapshots
from the highest id down, to its target. Without coordination, an expiry and a rollback could together delete all
snapshots. So after each deleted snapshot the expiry checks whether the first snapshot to keep still exists, and stops
when a rollback has deleted it. A guard tag shows that the rollback is still running: then the rollback re-creates its
target if an expiry deleted the target. When the rollback has ended and no snapshot is left, the expiry has just deleted
the target, and re-creates it. So the table has a snapshot in either case.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table

GUARD = "paimon-core-rollback-"
"""The prefix of the tags by which a running rollback protects its target."""


def delete_below(context: TableContext, expired: Sequence[Snapshot], first_kept: Snapshot) -> bool:
    """Delete the snapshot files of ``expired``, lowest first; return whether ``first_kept`` was live all the time.

    If the result is False, the caller must keep the files of the expired snapshots: some of them may be live again.
    Raises TableNotFound when there is no snapshot left because the table was dropped or re-created.
    """
    snapshots = context.snapshots
    for snapshot in expired:
        snapshots.delete([snapshot.id])
        if not snapshots.is_live(first_kept):  # rolled back, or the id is the id of a snapshot of another table
            is_running = any(name.startswith(GUARD) for name in context.tags.names())
            if not is_running and not snapshots.ids():
                recreate(context, snapshot)
            return False
    return snapshots.is_live(first_kept)


def recreate(context: TableContext, snapshot: Snapshot) -> bool:
    """Create the file of a deleted snapshot again, and name it in the hint LATEST; return False when its id is used.

    A dropped table has no snapshots either, and a table of the same name may have been created meanwhile: its files are
    not changed, and TableNotFound is raised.
    """
    snapshots = context.snapshots
    check_same_table(context)
    if not snapshots.create(snapshot):
        return False
    check_same_table(context, otherwise=lambda: snapshots.is_live(snapshot) and snapshots.delete([snapshot.id]))
    with contextlib.suppress(OSError):  # the snapshot exists, and readers do not trust the hint
        snapshots.write_latest_hint(snapshot.id)
    return True
