"""Orphan removal: moves to quarantine the files that no snapshot, tag or changelog of any branch references.

Three situations could make a live file look like an orphan:

- *A commit between listing and reading.* The directories are listed before the references are read. So the references
  include a listed file that is committed after the listing, and a file created after the listing is not a candidate. If
  the references were read first, the files of every commit between the two steps would look like orphans.
- *A later commit of old files.* Only files older than a day (``older_than``) are candidates, because a running writer
  writes newer files. Applying a plan lists the directories and reads all references again, moves the files, then reads
  the references that were added since, and restores files that are now used. A commit after the second reading finds
  that its files are missing, and fails (format 14.5): do not commit messages that are older than ``older_than``.
- *Incomplete references*: a metadata file cannot be read, or is deleted while it is read. Then ``maintain.references``
  and ``maintain.roots`` raise an error. In a table without any snapshot nothing is referenced. The files of such a
  table are protected unless the caller passes ``without_snapshots``, and always when a hint file states that a branch
  had snapshots.

``undo`` restores files from quarantine unchanged; ``mode="delete"`` deletes the files for good. A removal needs about
450 bytes of memory for each old file of the table; manifests are read one at a time.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.maintain.candidate_files import directories
from paimon_core.maintain.executor import WorkExecutor, delete_files, find_candidates
from paimon_core.maintain.orphans.quarantine import isolate, undo
from paimon_core.maintain.planning.plan import Plan, PlannedFile, Protected
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.references.used_files import Used, references
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.storage.storage import FileInfo

OPERATION = "remove-orphans"
DAY_MILLIS = 86_400_000
MODES = ("quarantine", "delete")
NO_SNAPSHOT = "the table has no snapshot, so the files in use cannot be determined"


@dataclass(frozen=True)
class OrphanReport:
    """The result of a removal of orphans; paths are relative to the table's root."""

    table: str
    removed: tuple[str, ...] = ()
    """The files that were moved to quarantine, or deleted."""
    kept: tuple[str, ...] = ()
    """The planned files that were not removed: they are used now, do not exist, or have changed."""
    size_bytes: int = 0
    """The bytes of the removed files."""
    quarantine: str | None = None
    """The id of the quarantine, for ``undo``; None when no file was moved to a quarantine."""


def plan_orphan_removal(
    context: TableContext,
    *,
    older_than_millis: int = DAY_MILLIS,
    now_millis: int | None = None,
    mode: str = "quarantine",
    without_snapshots: bool = False,
    executor: WorkExecutor | None = None,
) -> Plan:
    """Find the orphans of all branches that were last modified more than ``older_than_millis`` ago; changes nothing.

    The age must be longer than any writer needs between writing a file and committing it. Raises InvalidRequest for an
    argument that is not allowed, CorruptTable when the files in use cannot be determined, PlanOutdated when snapshots
    keep expiring during the call.
    """
    if mode not in MODES:
        raise InvalidRequest(f"mode {mode!r:.60} is not one of {', '.join(MODES)}", mode=mode)
    if type(without_snapshots) is not bool:
        raise InvalidRequest(f"without_snapshots must be True or False, not {without_snapshots!r:.60}")
    if older_than_millis < 1:
        raise InvalidRequest(
            f"older_than must be a time in the past, not {older_than_millis} ms ago: files that are being written are "
            "not referenced yet"
        )
    now = clock.now_millis(now_millis)
    state = TableState.of(context)
    # The listing must come first: then the references include a file that is committed after the listing.
    found = find_candidates(executor, context, directories(context), now - older_than_millis)
    used = references(context, {f.name for f in found.files}, frozenset(), executor)
    orphans = [f for f in found.files if f.name not in used.names]
    protected = found.protected
    if not used.roots and not without_snapshots:
        protected = [*protected, *(Protected(f"file {context.paths.relative(f.path)}", NO_SNAPSHOT) for f in orphans)]
        orphans = []
    return Plan(
        operation=OPERATION,
        table=context.name,
        branch=context.branch,
        state=state,
        files=tuple(PlannedFile(f.path, f.size) for f in orphans),
        protected=tuple(protected),
        arguments={
            "id": f"{now}-{uuid.uuid4().hex[:8]}",
            "before_millis": now - older_than_millis,
            "mode": mode,
        },
    )


def apply_orphan_removal(
    context: TableContext, plan: Plan, *, now_millis: int | None = None, executor: WorkExecutor | None = None
) -> OrphanReport:
    """Remove the planned files that are still orphans; commits and expiries since the plan was created are allowed.

    Raises PlanOutdated when tags or branches changed, the table was rolled back or the plan was applied before, and the
    errors of ``plan_orphan_removal``; after these errors, every file is at its old path. After a StorageError, undo the
    quarantine with the plan's id or create a new plan.
    """
    plan.check(context, OPERATION, expiry_harms=False)
    now = clock.now_millis(now_millis)
    quarantine_id, mode = plan.argument("id", str), plan.argument("mode", str)
    if mode not in MODES:
        raise InvalidRequest(f"mode {mode!r:.40} of the plan is not one of {', '.join(MODES)}", mode=mode)
    found = _planned_candidates(context, plan, executor)  # before the references, as when planning
    used = references(context, {f.name for f in found}, frozenset(), executor)
    orphans = [PlannedFile(f.path, f.size) for f in found if f.name not in used.names]
    moved: list[str] = []
    quarantine: str | None = None
    if orphans and mode == "delete":
        delete_files(executor, context, [f.path for f in orphans])
        moved = [context.paths.relative(f.path) for f in orphans]
    elif orphans:
        quarantine = quarantine_id
        moved = isolate(context, quarantine, orphans, now, executor)
        moved = _bring_back(context, quarantine, moved, used)
    removed = frozenset(moved)
    return OrphanReport(
        table=context.name,
        removed=tuple(moved),
        kept=tuple(r for f in plan.files if (r := context.paths.relative(f.path)) not in removed),
        size_bytes=sum(f.size for f in orphans if context.paths.relative(f.path) in removed),
        quarantine=quarantine,
    )


def _planned_candidates(context: TableContext, plan: Plan, executor: WorkExecutor | None) -> list[FileInfo]:
    """Return the planned files that are candidates now. The plan is untrusted, so its files are checked again."""
    planned = {f.path: f.size for f in plan.files}
    parents = {path.rsplit("/", 1)[0] for path in planned}
    places = (d for d in directories(context) if d.path in parents) if planned else ()
    found = find_candidates(executor, context, places, plan.argument("before_millis", int))
    return [f for f in found.files if planned.get(f.path) == f.size]


def _bring_back(context: TableContext, quarantine: str, moved: Iterable[str], used: Used) -> list[str]:
    """Restore the moved files that a concurrent commit uses; return the paths that remain in quarantine.

    When the files in use cannot be determined, restores all moved files and raises the error.
    """
    files = {relative: relative.rsplit("/", 1)[-1] for relative in moved}
    try:
        newest = references(context, set(files.values()), used.read)
    except PaimonError:
        undo(context, quarantine)
        raise
    back = {relative for relative, name in files.items() if name in newest.names}
    if back:
        undo(context, quarantine, back)
    return [relative for relative in files if relative not in back]
