"""Quarantine: removed files wait under ``quarantine/<plan id>/<their old path>``, to be brought back or purged.

A record of what comes from where is written before the first file moves, and goes after the last one is back or
deleted. So whatever stops in the middle, undo finds every file: at its old place, here, or (a move that was cut) at
both, which is the same file twice. The record is as little trusted as any metadata: its paths must lie in the table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paimon_core.errors import CorruptTable, InvalidRequest, NotFound, PlanOutdated
from paimon_core.maintain.executor import WorkExecutor, delete_files
from paimon_core.maintain.planning.plan import Plan, PlannedFile, Protected
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.references.used_files import references
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.versioned_json import pack, unpacked
from paimon_core.storage.paths import identifier

OPERATION = "purge-quarantine"
RECORD_VERSION = 1


@dataclass(frozen=True)
class Quarantine:
    """What one plan removed."""

    id: str
    """The plan's."""
    created_millis: int
    """When it was applied, epoch milliseconds."""
    files: tuple[PlannedFile, ...]
    """Paths relative to the table's root."""

    @property
    def size_bytes(self) -> int:
        """The bytes of the files when they were removed."""
        return sum(f.size for f in self.files)


@dataclass(frozen=True)
class UndoReport:
    """What an undo did; paths relative to the table's root."""

    restored: tuple[str, ...] = ()
    in_place: tuple[str, ...] = ()
    """They had never left, or were back already."""
    lost: tuple[str, ...] = ()
    """Neither here nor there: purged, or expired meanwhile."""
    differing: tuple[str, ...] = ()
    """Another file lies at the old place: both are left."""


def isolate(
    context: TableContext,
    plan_id: str,
    files: Sequence[PlannedFile],
    now_millis: int,
    executor: WorkExecutor | None = None,
) -> list[str]:
    """Move files (absolute paths) into the quarantine of a plan; those that were still there.

    Raises PlanOutdated when there is one of this plan already, StorageError: what has moved by then can be undone.
    """
    paths = context.paths
    moves = [(paths.relative(f.path), f.size) for f in files]
    record = {"table": context.name, "created_millis": now_millis, "files": moves}
    if not context.storage.create_exclusive(paths.quarantine_record(plan_id), pack(RECORD_VERSION, record)):
        raise PlanOutdated(
            f"table {context.name}: plan {plan_id} was applied before; plan again, or undo it", table=context.name
        )
    if executor is not None:
        ways = [(paths.below(relative), paths.quarantined(plan_id, relative)) for relative, _ in moves]
        return [
            relative for (relative, _), is_there in zip(moves, executor.move(context, ways), strict=True) if is_there
        ]
    moved = []
    for relative, _ in moves:
        with contextlib.suppress(FileNotFoundError):  # an expiry, or another clean-up, was faster
            context.storage.move(paths.below(relative), paths.quarantined(plan_id, relative))
            moved.append(relative)
    return moved


def quarantines(context: TableContext) -> list[Quarantine]:
    """All quarantines, oldest first; raises CorruptTable for a record that does not read."""
    entries = context.storage.list(context.paths.quarantine_directory)
    found = [_read(context, e.name) for e in entries if e.is_directory and not e.is_link]
    return sorted((q for q in found if q is not None), key=lambda q: (q.created_millis, q.id))


def undo(context: TableContext, plan_id: str, only: Iterable[str] | None = None) -> UndoReport:
    """Bring the files of a quarantine back to where they were, bit for bit; ``only`` some of them (relative paths).

    May be repeated after it was cut short. Raises NotFound when there is no such quarantine, InvalidRequest for an id
    that cannot be one, CorruptTable for a record that does not read, StorageError.
    """
    identifier(plan_id, "quarantine")
    quarantine = _read(context, plan_id)
    if quarantine is None:
        known = ", ".join(q.id for q in quarantines(context)) or "none"
        raise NotFound(
            f"table {context.name} has no quarantine {plan_id!r:.80} (there are: {known:.200})", quarantine=plan_id
        )
    wanted = None if only is None else frozenset(only)
    outcome: dict[str, list[str]] = {"restored": [], "in_place": [], "lost": [], "differing": []}
    for file in quarantine.files:
        if wanted is None or file.path in wanted:
            outcome[_restore(context, plan_id, file.path)].append(file.path)
    if wanted is None and not outcome["differing"]:
        _close(context, plan_id)
    return UndoReport(**{key: tuple(paths) for key, paths in outcome.items()})


def plan_purge(context: TableContext, older_than_millis: int, now_millis: int) -> Plan:
    """Plan to delete the quarantines that are older than an age in milliseconds for good.

    One that holds a file which the table uses after all is protected: undo it. Raises InvalidRequest, and as
    ``references``: nothing is deleted while it is not known what is used.
    """
    if older_than_millis < 0:
        raise InvalidRequest(f"older_than must not be negative, not {older_than_millis} ms")
    state = TableState.of(context)
    old = [q for q in quarantines(context) if q.created_millis <= now_millis - older_than_millis]
    names = {_name(f.path) for q in old for f in q.files}
    used = references(context, names)
    going = [q for q in old if not _needed(q, used.names)]
    return Plan(
        operation=OPERATION,
        table=context.name,
        branch=context.branch,
        state=state,
        subjects=tuple(f"quarantine {q.id}" for q in going),
        files=tuple(PlannedFile(context.paths.quarantined(q.id, f.path), f.size) for q in going for f in q.files),
        protected=tuple(
            Protected(f"quarantine {q.id}", f"the table, which uses {_needed(q, used.names)[0]}: undo it")
            for q in old
            if _needed(q, used.names)
        ),
        arguments={"ids": [q.id for q in going]},
    )


def apply_purge(context: TableContext, plan: Plan, *, executor: WorkExecutor | None = None) -> tuple[str, ...]:
    """Delete what the plan lists; the ids that are gone. PlanOutdated also when one of their files is used by now."""
    plan.check(context, OPERATION, expiry_harms=False)
    going = [q for i in plan.argument("ids", list, str) if (q := _read(context, i)) is not None]
    names = {_name(f.path) for q in going for f in q.files}
    used = references(context, names, executor=executor)
    for quarantine in going:
        if needed := _needed(quarantine, used.names):
            raise PlanOutdated(
                f"table {context.name} uses {needed[0]} of quarantine {quarantine.id} now: undo that, nothing was "
                "deleted",
                table=context.name,
            )
    for quarantine in going:
        delete_files(executor, context, [context.paths.quarantined(quarantine.id, f.path) for f in quarantine.files])
        _close(context, quarantine.id)
    return tuple(q.id for q in going)


def _restore(context: TableContext, plan_id: str, relative: str) -> str:
    """Bring one file back; which of the four outcomes it had."""
    home, here = context.paths.below(relative), context.paths.quarantined(plan_id, relative)
    storage = context.storage
    if storage.exists(home):
        if not storage.exists(here):
            return "in_place"
        if _size(context, home) != _size(context, here):
            return "differing"
        storage.delete([here])
        return "restored"
    try:
        storage.move(here, home)
    except FileNotFoundError:
        return "lost"
    return "restored"


def _size(context: TableContext, path: str) -> int:
    with context.storage.open_input(path) as file:
        return int(file.size())


def _close(context: TableContext, plan_id: str) -> None:
    """The record goes last; then the directories, which are empty."""
    context.storage.delete([context.paths.quarantine_record(plan_id)])
    context.storage.delete_directory(context.paths.quarantine(plan_id))


def _needed(quarantine: Quarantine, used: set[str]) -> list[str]:
    return [f.path for f in quarantine.files if _name(f.path) in used]


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _read(context: TableContext, plan_id: str) -> Quarantine | None:
    """A quarantine, None for one that is not there, or not any more but for its empty directories."""
    path = context.paths.quarantine_record(plan_id)
    try:
        data = context.storage.read(path)
    except FileNotFoundError:
        return None
    try:
        with unpacked(data, "record of a quarantine", RECORD_VERSION) as value:
            files = tuple(PlannedFile(str(relative), int(size)) for relative, size in value["files"])
            created = int(value["created_millis"])
    except InvalidRequest as error:
        raise CorruptTable(f"{path}: {error}", path=path) from error
    for file in files:
        context.paths.quarantined(plan_id, file.path)
    return Quarantine(plan_id, created, files)
