"""Orphans: files that writers left and no snapshot, tag or changelog of any branch knows; into quarantine with them.

When does looking lead to a wrong answer? Three things could make a live file look like an orphan.

- *A commit comes between the two looks.* So the directories are listed first and the references read after that: a file
  of the listing that was committed before the references were read is found used. A file that appears after the listing
  is no candidate at all. The other order takes the files of every commit in between.
- *A commit comes after both looks*, of files that were already lying there. A writer at work has young files, and only
  files older than a day (``older_than``) are candidates. Applying believes nothing of the plan: it looks at the
  directories and all references again, moves, then looks at what came since and brings back what is used by now. A
  commit still later finds its files missing and fails (format 14.5): messages older than ``older_than`` are garbage.
- *The references have a hole*, because something does not read, or vanishes while it is read. Then there is no answer:
  ``maintain.references`` and ``maintain.roots`` raise. A table without any snapshot has no references at all: its files
  are not taken for orphans unless the caller says so, and never when a hint tells that a branch had snapshots.

Files go to quarantine, from where ``undo`` brings them back bit for bit; ``mode="delete"`` deletes them for good. Every
old file of the table takes about 450 bytes of memory while it runs; entries of manifests stream by.
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
NO_SNAPSHOT = "the table has no snapshot, so nothing tells what is used"


@dataclass(frozen=True)
class OrphanReport:
    """What became of a plan; paths relative to the table's root."""

    table: str
    removed: tuple[str, ...] = ()
    """Moved to quarantine, or deleted."""
    kept: tuple[str, ...] = ()
    """Of the plan, but used by now, or gone, or not the same file any more."""
    size_bytes: int = 0
    """Of what was removed."""
    quarantine: str | None = None
    """To undo it; None when nothing was moved there."""


def plan_orphan_removal(
    context: TableContext,
    *,
    older_than_millis: int = DAY_MILLIS,
    now_millis: int | None = None,
    mode: str = "quarantine",
    without_snapshots: bool = False,
    executor: WorkExecutor | None = None,
) -> Plan:
    """Find the orphans last changed more than ``older_than_millis`` ago, in all branches; nothing is changed.

    The age must exceed the longest time between the writing of a file and its commit. Raises InvalidRequest,
    CorruptTable when it cannot be known what is used, PlanOutdated when snapshots keep vanishing meanwhile.
    """
    if mode not in MODES:
        raise InvalidRequest(f"mode {mode!r:.60} is not one of {', '.join(MODES)}", mode=mode)
    if type(without_snapshots) is not bool:
        raise InvalidRequest(f"without_snapshots must be True or False, not {without_snapshots!r:.60}")
    if older_than_millis < 1:
        raise InvalidRequest(
            f"older_than must lie in the past, not {older_than_millis} ms ago: files that are being written are not "
            "referenced yet"
        )
    now = clock.now_millis(now_millis)
    state = TableState.of(context)
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
    """Remove what the plan lists and is still an orphan; commits and expiries since the plan do no harm.

    Raises PlanOutdated when tags or branches changed, the table was rolled back, or the plan was applied before, else
    as ``plan_orphan_removal`` (nothing was moved then). After a StorageError in the middle, undo the quarantine of the
    plan's id or plan again.
    """
    plan.check(context, OPERATION, expiry_harms=False)
    now = clock.now_millis(now_millis)
    quarantine_id, mode = plan.argument("id", str), plan.argument("mode", str)
    if mode not in MODES:
        raise InvalidRequest(f"mode {mode!r:.40} of the plan is not one of {', '.join(MODES)}", mode=mode)
    found = _still_there(context, plan, executor)
    used = references(context, {f.name for f in found}, frozenset(), executor)
    going = [PlannedFile(f.path, f.size) for f in found if f.name not in used.names]
    moved: list[str] = []
    quarantine: str | None = None
    if going and mode == "delete":
        delete_files(executor, context, [f.path for f in going])
        moved = [context.paths.relative(f.path) for f in going]
    elif going:
        quarantine = quarantine_id
        moved = isolate(context, quarantine, going, now, executor)
        moved = _bring_back(context, quarantine, moved, used)
    removed = frozenset(moved)
    return OrphanReport(
        table=context.name,
        removed=tuple(moved),
        kept=tuple(r for f in plan.files if (r := context.paths.relative(f.path)) not in removed),
        size_bytes=sum(f.size for f in going if context.paths.relative(f.path) in removed),
        quarantine=quarantine,
    )


def _still_there(context: TableContext, plan: Plan, executor: WorkExecutor | None) -> list[FileInfo]:
    """The files of the plan that are candidates now too: the plan itself is not believed."""
    planned = {f.path: f.size for f in plan.files}
    parents = {path.rsplit("/", 1)[0] for path in planned}
    places = (d for d in directories(context) if d.path in parents) if planned else ()
    found = find_candidates(executor, context, places, plan.argument("before_millis", int))
    return [f for f in found.files if planned.get(f.path) == f.size]


def _bring_back(context: TableContext, quarantine: str, moved: Iterable[str], used: Used) -> list[str]:
    """Look a last time, and return what a commit used in the moment of the move; what stays in quarantine.

    When that cannot be told, all of it comes back.
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
