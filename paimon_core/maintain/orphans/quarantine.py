"""Quarantine: stores removed files in ``quarantine/<plan id>/<old path>`` until they are restored or purged.

A record with the old paths is written before the first file is moved, and deleted after the last file was restored or
deleted. So after an interruption at any point, undo finds every file: at its old path, in quarantine, or at both with
the same content (an interrupted move). The record is untrusted like any metadata: its paths must be in the table.
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
    """The files that one plan moved to quarantine."""

    id: str
    """The id of the plan."""
    created_millis: int
    """When the plan was applied, in epoch milliseconds."""
    files: tuple[PlannedFile, ...]
    """Paths relative to the table's root."""

    @property
    def size_bytes(self) -> int:
        """The bytes of the files when they were removed."""
        return sum(f.size for f in self.files)


@dataclass(frozen=True)
class UndoReport:
    """The result of an undo; paths are relative to the table's root."""

    restored: tuple[str, ...] = ()
    in_place: tuple[str, ...] = ()
    """Files that were never moved, or were restored before."""
    lost: tuple[str, ...] = ()
    """Files that are neither in quarantine nor at the old path: purged, or deleted by an expiry."""
    differing: tuple[str, ...] = ()
    """Files whose old path now has another file: both files are kept."""


def isolate(
    context: TableContext,
    plan_id: str,
    files: Sequence[PlannedFile],
    now_millis: int,
    executor: WorkExecutor | None = None,
) -> list[str]:
    """Move files (absolute paths) into the quarantine of a plan; return the relative paths of the files that existed.

    Raises PlanOutdated when the plan has a quarantine already. After a StorageError, ``undo`` restores the files that
    were moved.
    """
    paths = context.paths
    moves = [(paths.relative(f.path), f.size) for f in files]
    record = {"table": context.name, "created_millis": now_millis, "files": moves}
    if not context.storage.create_exclusive(paths.quarantine_record(plan_id), pack(RECORD_VERSION, record)):
        raise PlanOutdated(
            f"table {context.name}: plan {plan_id} was applied before. Create a new plan, or undo quarantine {plan_id}",
            table=context.name,
        )
    if executor is not None:
        pairs = [(paths.below(relative), paths.quarantined(plan_id, relative)) for relative, _ in moves]
        results = executor.move(context, pairs)
        return [relative for (relative, _), is_moved in zip(moves, results, strict=True) if is_moved]
    moved = []
    for relative, _ in moves:
        with contextlib.suppress(FileNotFoundError):  # a concurrent expiry or clean-up deleted the file
            context.storage.move(paths.below(relative), paths.quarantined(plan_id, relative))
            moved.append(relative)
    return moved


def quarantines(context: TableContext) -> list[Quarantine]:
    """Return all quarantines, oldest first; raises CorruptTable for a record that cannot be parsed."""
    entries = context.storage.list(context.paths.quarantine_directory)
    found = [_read(context, e.name) for e in entries if e.is_directory and not e.is_link]
    return sorted((q for q in found if q is not None), key=lambda q: (q.created_millis, q.id))


def undo(context: TableContext, plan_id: str, only: Iterable[str] | None = None) -> UndoReport:
    """Move the files of a quarantine back to their old paths; ``only`` names the files to move (None: all files).

    Paths are relative. The call can be repeated after an interruption. Raises NotFound when the quarantine does not
    exist, InvalidRequest for an id that is not allowed, CorruptTable for a record that cannot be parsed, StorageError
    when the store fails.
    """
    identifier(plan_id, "quarantine")
    quarantine = _read(context, plan_id)
    if quarantine is None:
        known = ", ".join(q.id for q in quarantines(context)) or "none"
        raise NotFound(
            f"table {context.name} has no quarantine {plan_id!r:.80} (existing ones: {known:.200})", quarantine=plan_id
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
    """Plan the permanent deletion of the quarantines that are older than an age in milliseconds.

    A quarantine with a file that the table uses is protected; restore it with ``undo``. Raises InvalidRequest for a
    negative age, and the errors of ``references`` when the files in use cannot be determined.
    """
    if older_than_millis < 0:
        raise InvalidRequest(f"older_than must not be negative, not {older_than_millis} ms")
    state = TableState.of(context)
    old = [q for q in quarantines(context) if q.created_millis <= now_millis - older_than_millis]
    names = {_name(f.path) for q in old for f in q.files}
    used = references(context, names)
    unused = [q for q in old if not _used_paths(q, used.names)]
    return Plan(
        operation=OPERATION,
        table=context.name,
        branch=context.branch,
        state=state,
        subjects=tuple(f"quarantine {q.id}" for q in unused),
        files=tuple(PlannedFile(context.paths.quarantined(q.id, f.path), f.size) for q in unused for f in q.files),
        protected=tuple(
            Protected(f"quarantine {q.id}", f"the table, which uses {_used_paths(q, used.names)[0]}: undo it")
            for q in old
            if _used_paths(q, used.names)
        ),
        arguments={"ids": [q.id for q in unused]},
    )


def apply_purge(context: TableContext, plan: Plan, *, executor: WorkExecutor | None = None) -> tuple[str, ...]:
    """Delete the planned quarantines and return their ids.

    Raises PlanOutdated when the table has changed or uses one of the files; nothing is deleted then.
    """
    plan.check(context, OPERATION, expiry_harms=False)
    planned = [q for i in plan.argument("ids", list, str) if (q := _read(context, i)) is not None]
    names = {_name(f.path) for q in planned for f in q.files}
    used = references(context, names, executor=executor)
    for quarantine in planned:
        if used_paths := _used_paths(quarantine, used.names):
            raise PlanOutdated(
                f"table {context.name} now uses {used_paths[0]} of quarantine {quarantine.id}: undo this quarantine. "
                "Nothing was deleted",
                table=context.name,
            )
    for quarantine in planned:
        delete_files(executor, context, [context.paths.quarantined(quarantine.id, f.path) for f in quarantine.files])
        _close(context, quarantine.id)
    return tuple(q.id for q in planned)


def _restore(context: TableContext, plan_id: str, relative: str) -> str:
    """Move one file back; return the field of ``UndoReport`` that its path belongs to."""
    old_path, quarantined = context.paths.below(relative), context.paths.quarantined(plan_id, relative)
    storage = context.storage
    if storage.exists(old_path):
        if not storage.exists(quarantined):
            return "in_place"
        if _size(context, old_path) != _size(context, quarantined):
            return "differing"
        storage.delete([quarantined])
        return "restored"
    try:
        storage.move(quarantined, old_path)
    except FileNotFoundError:
        return "lost"
    return "restored"


def _size(context: TableContext, path: str) -> int:
    with context.storage.open_input(path) as file:
        return int(file.size())


def _close(context: TableContext, plan_id: str) -> None:
    """Delete the record of a quarantine without files, then the empty directories."""
    context.storage.delete([context.paths.quarantine_record(plan_id)])
    context.storage.delete_directory(context.paths.quarantine(plan_id))


def _used_paths(quarantine: Quarantine, used: set[str]) -> list[str]:
    return [f.path for f in quarantine.files if _name(f.path) in used]


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _read(context: TableContext, plan_id: str) -> Quarantine | None:
    """Return a quarantine; None without a record: the quarantine does not exist, or only empty directories are left."""
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
