"""Due again: an expiry is applied only as far as it is found due once more; plans travel, and are not trusted.

Serves snapshots and the changelogs that outlive them alike.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from paimon_core.errors import PlanOutdated, SnapshotNotFound
from paimon_core.maintain.expiry.retention import Chosen
from paimon_core.maintain.planning.plan import Plan, PlannedFile
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.changelog_store import ChangelogStore
from paimon_core.metadata.stores.snapshot_store import SnapshotStore


def recheck_chosen(context: TableContext, plan: Plan, kind: str, store: SnapshotStore | ChangelogStore) -> Chosen:
    """What the plan expires, read anew; ``kind`` is "snapshots" or "changelogs", and the argument that names them.

    Raises PlanOutdated unless they are all those before the first that the plan keeps, InvalidRequest for a mistyped
    argument, SnapshotNotFound.
    """
    first_kept, ids = plan.argument("first_kept", int), plan.argument(kind, list, int)
    if [i for i in store.ids() if i < first_kept] != ids:
        raise PlanOutdated(
            f"table {context.name}: the plan's {kind} are not all those before {first_kept}; nothing was done, plan "
            "again",
            table=context.name,
        )
    kept = store.read(first_kept)
    return Chosen(tuple(map(store.read, ids)), kept, plan.protected)


@contextlib.contextmanager
def plan_outdated_when_missing(context: TableContext) -> Iterator[None]:
    """Raises PlanOutdated where the body finds a snapshot gone."""
    try:
        yield
    except SnapshotNotFound as error:
        raise PlanOutdated(f"{error}; nothing was done, plan again", table=context.name) from error


def only_planned(plan: Plan, files: Iterable[PlannedFile]) -> tuple[PlannedFile, ...]:
    """Those of the files found now that the plan names too."""
    planned = {f.path for f in plan.files}
    return tuple(f for f in files if f.path in planned)
