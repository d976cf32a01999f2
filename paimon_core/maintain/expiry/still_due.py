"""Checks of an expiry plan: applying the plan deletes only objects that are still removable at that time.

Plans are untrusted input. The checks apply to plans for snapshots and for lasting changelogs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from paimon_core.errors import PlanOutdated, SnapshotNotFound
from paimon_core.maintain.expiry.retention import ExpirySelection
from paimon_core.maintain.planning.plan import Plan, PlannedFile
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.changelog_store import ChangelogStore
from paimon_core.metadata.stores.snapshot_store import SnapshotStore


def recheck_selection(
    context: TableContext, plan: Plan, kind: str, store: SnapshotStore | ChangelogStore
) -> ExpirySelection:
    """Read the snapshots or changelogs that the plan expires again, and return them as a selection.

    ``kind`` is "snapshots" or "changelogs"; the argument of the plan that contains the ids has the same name. Raises
    PlanOutdated unless the plan contains exactly the ids below the first id that it keeps, InvalidRequest for an
    argument of a wrong type, SnapshotNotFound for an id that no longer exists.
    """
    first_kept, ids = plan.argument("first_kept", int), plan.argument(kind, list, int)
    if [i for i in store.ids() if i < first_kept] != ids:
        raise PlanOutdated(
            f"table {context.name}: the plan does not contain exactly the {kind} before {first_kept}. The plan was not "
            "applied. Create a new plan",
            table=context.name,
        )
    kept = store.read(first_kept)
    return ExpirySelection(tuple(map(store.read, ids)), kept, plan.protected)


@contextlib.contextmanager
def plan_outdated_when_missing(context: TableContext) -> Iterator[None]:
    """Raise PlanOutdated when the body raises SnapshotNotFound."""
    try:
        yield
    except SnapshotNotFound as error:
        raise PlanOutdated(f"{error}. The plan was not applied. Create a new plan", table=context.name) from error


def only_planned(plan: Plan, files: Iterable[PlannedFile]) -> tuple[PlannedFile, ...]:
    """Return the files among ``files`` that the plan contains."""
    planned = {f.path for f in plan.files}
    return tuple(f for f in files if f.path in planned)
