"""Give way: an expiry that meets a rollback, which takes away what the expiry keeps (format 15.3, 16.1).

An expiry deletes from below and keeps the first snapshot above; a rollback deletes from above and keeps its target.
Were both blind, the two could delete all that there is. So the expiry looks, after each snapshot that it
deletes, whether the one that it keeps still stands. When it does not, a rollback is at work or has been: the expiry
stops. While the rollback is at work, as the tag says that it has laid on its target, it puts the target back itself
should that be gone. When it has ended and no snapshot is left, then the expiry has just deleted the target, and puts it
back. Whoever is later, the table has a snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot

GUARD = "paimon-core-rollback-"
"""What the tags are called by which a rollback at work holds its target."""


def delete_below(context: TableContext, expired: Sequence[Snapshot], first_kept: Snapshot) -> bool:
    """Delete the snapshot files of ``expired``, lowest first; whether ``first_kept`` stood all the time.

    If not, what was to go with the snapshots must stay: some of them may be live again.
    """
    snapshots = context.snapshots
    for snapshot in expired:
        snapshots.delete([snapshot.id])
        if not snapshots.exists(first_kept.id):
            at_work = any(name.startswith(GUARD) for name in context.tags.names())
            if not at_work and not snapshots.ids():
                snapshots.publish(snapshot)
            return False
    return snapshots.is_live(first_kept)
