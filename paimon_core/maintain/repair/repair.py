"""Repair: makes a damaged branch readable and writable again, if enough of its metadata can be read (docs/repair.md).

Files that cannot be read are moved to a quarantine and never deleted: ``orphans undo`` can move the files back. The
steps:

1. Move the unreadable snapshots above the newest readable snapshot, newest first, so that the readable snapshot is the
   latest one. When a readable tag is newer, its snapshot becomes the latest.
2. When a snapshot below the latest one is unreadable or missing, move all snapshots from this one down: the ids of
   snapshots must have no gap.
3. Move unreadable tags, lasting changelogs and consumers, and unreadable schemas that are newer than the used schemas.
4. Correct the hints, and remove the entries of missing data files by a commit.

A commit needs a readable base, so no writer commits after an unreadable newest snapshot. Stores create a snapshot file
in one atomic step, so an unreadable snapshot file is not a commit in progress. Before anything is moved, the damage is
searched again; when it differs from the planned damage, for example because of a commit or another repair, nothing is
done. A commit between this search and the moves is kept: a file that was replaced after the search is moved back. A
writer whose base snapshot was moved finds that the base is no longer in the snapshot chain, and retries.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paimon_core.errors import CorruptTable, PlanOutdated
from paimon_core.maintain.orphans.quarantine import isolate, undo
from paimon_core.maintain.planning.plan import Plan, PlannedFile
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.repair.damage import Damage, find_damage
from paimon_core.maintain.repair.hints import repair_hints
from paimon_core.maintain.repair.missing_files import (
    MissingReport,
    apply_missing_removal,
    missing_of,
    of_another_size,
    plan_missing_removal,
)
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.snapshot_store import EARLIEST, LATEST
from paimon_core.storage.paths import identifier

OPERATION = "repair"


@dataclass(frozen=True)
class RepairReport:
    """The result of a repair; paths are relative to the root of the table."""

    table: str
    quarantine: str | None = None
    """The quarantine of the moved files: ``orphans undo`` moves the files back."""
    moved: tuple[str, ...] = ()
    latest: int | None = None
    """The id of the latest snapshot after the repair."""
    hints: tuple[str, ...] = ()
    missing: MissingReport | None = None
    """The manifest entries that were removed because their data files are missing; None when no entry was removed."""
    advice: tuple[str, ...] = field(default=())
    """Sentences that tell the user what is left to do."""


def plan_repair(context: TableContext) -> Plan:
    """Search the branch for damage and plan its repair; changes nothing.

    The subjects of the plan state which files are moved and which data is lost with these files;
    ``arguments["advice"]`` states the damage that a repair does not correct and the rows to write again. Raises
    CorruptTable when no snapshot and no tag can be read, StorageError when the store fails, UnsupportedFeature for a
    newer format and for a catalog that owns the history.
    """
    context.snapshots.refuse_if_catalog_owns_history("repair it")
    damage = find_damage(context)
    missing = missing_of(context, damage.entries)
    rows = sum(entry.file.row_count for _, entry in missing)
    subjects = [b.what for b in damage.broken]
    if damage.tag is not None:
        subjects.append(f"everything after tag {damage.tag.name}, whose snapshot becomes the latest")
    if missing:
        subjects.append(f"the entries of {len(missing)} missing data files with {rows} rows")
    subjects += [f"wrong hint {path}" for path in _wrong_hints(context, damage)]
    return Plan(
        operation=OPERATION,
        table=context.name,
        branch=context.branch,
        state=TableState(()),
        subjects=tuple(subjects),
        files=tuple(PlannedFile(b.path, b.size) for b in damage.broken),
        arguments={
            "id": uuid.uuid4().hex,
            "missing": [path for path, _ in missing],
            "advice": [*damage.advice, *_of_another_size(context, damage), *_then(damage, rows)],
        },
    )


def apply_repair(context: TableContext, plan: Plan) -> RepairReport:
    """Repair as planned; raises PlanOutdated when the damage differs from the planned damage, and the errors of each
    step.

    A repair that was interrupted is completed by a new plan.
    """
    plan.check_target(context, OPERATION)
    context.snapshots.refuse_if_catalog_owns_history("repair it")
    quarantine = identifier(plan.argument("id", str), "quarantine")
    read = {file.path: _content(context, file.path) for file in plan.files}
    damage = find_damage(context)
    broken = [PlannedFile(b.path, b.size) for b in damage.broken]
    if tuple(broken) != plan.files:
        raise PlanOutdated(
            f"table {context.name}: the damage has changed since the plan was made. The plan was not applied. "
            "Create a new plan",
            table=context.name,
        )
    moved: list[str] = []
    if broken:
        moved = isolate(context, quarantine, broken, clock.now_millis())
        _check_moved(context, quarantine, moved, read)
    if damage.tag is not None:
        _restore(context, damage.tag.snapshot)
    hints, left = _repaired_hints(context)
    used = quarantine if broken else None
    missing = _without_missing(context, plan, used) if plan.argument("missing", list, str) else None
    ids = context.snapshots.ids()
    return RepairReport(
        table=context.name,
        quarantine=used,
        moved=tuple(moved),
        latest=ids[-1] if ids else None,
        hints=hints,
        missing=missing,
        advice=(*plan.argument("advice", list, str), *left),
    )


def _restore(context: TableContext, snapshot: Snapshot) -> None:
    """Make the snapshot of a tag the latest one; raises PlanOutdated when a concurrent commit has taken its id."""
    latest = context.snapshots.latest_id()
    if latest is None or latest + 1 != snapshot.id:
        rollback(context, snapshot)
    elif not context.snapshots.publish(snapshot):
        raise PlanOutdated(
            f"table {context.name}: another writer committed snapshot {snapshot.id} during the repair, so the tag of "
            "this id was not restored. Create a new plan",
            table=context.name,
        )


def _check_moved(
    context: TableContext, quarantine: str, moved: Sequence[str], read: Mapping[str, bytes | None]
) -> None:
    """Check that the moved files are the damaged files; otherwise move all files back and raise PlanOutdated.

    A file differs when another repair moved the damaged file first, and then a commit created a file with its name.
    """
    paths = context.paths
    if all(_content(context, paths.quarantined(quarantine, p)) == read[paths.below(p)] for p in moved):
        return
    undo(context, quarantine)
    raise PlanOutdated(
        f"table {context.name} was repaired by another process at the same time: nothing was changed. Create a new "
        "plan",
        table=context.name,
    )


def _content(context: TableContext, path: str) -> bytes | None:
    try:
        return context.storage.read(path)
    except FileNotFoundError:
        return None


def _without_missing(context: TableContext, plan: Plan, quarantine: str | None) -> MissingReport:
    """Remove the entries of missing files; raises PlanOutdated when other files are missing than in the plan."""
    missing = plan_missing_removal(context)
    if {f.path for f in missing.files} != set(plan.argument("missing", list, str)):
        moved = "" if quarantine is None else f"; the unreadable files are in the quarantine {quarantine}"
        raise PlanOutdated(
            f"table {context.name}: other data files are missing than in the plan, so no entry was removed{moved}. "
            "Create a new plan",
            table=context.name,
        )
    return apply_missing_removal(context, missing)


def _wrong_hints(context: TableContext, damage: Damage) -> list[str]:
    """Return the paths of the snapshot hints that will be wrong after the planned files are moved."""
    going = {b.path for b in damage.broken}
    ids = [i for i in context.snapshots.ids() if context.paths.snapshot(i) not in going]
    wrong = []
    for name, right in ((LATEST, ids[-1:]), (EARLIEST, ids[:1])):
        try:
            text = context.storage.read(context.paths.hint(name))
        except FileNotFoundError:
            continue
        if text != b"".join(b"%d" % i for i in right):
            wrong.append(context.paths.relative(context.paths.hint(name)))
    return wrong


def _repaired_hints(context: TableContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Correct the hints; return the paths of the corrected hints, and sentences about the remaining steps."""
    try:
        report = repair_hints(context)
    except CorruptTable as error:  # another branch cannot be opened
        return (), (f"the hints were not corrected: {error}",)
    return tuple(context.paths.relative(hint.path) for hint in report.repaired), ()


def _of_another_size(context: TableContext, damage: Damage) -> list[str]:
    return [
        f"{path} has {size} bytes, but {entry.file.file_size} are recorded: restore it, or delete it and repair again, "
        f"which loses its {entry.file.row_count} rows"
        for path, size, entry in of_another_size(context, damage.entries)
    ]


def _then(damage: Damage, rows: int) -> list[str]:
    """Return sentences that tell the user what to do after the repair."""
    out = []
    if damage.newest:
        base = f"tag {damage.tag.name}" if damage.tag is not None else ""
        base = base or (f"snapshot {damage.target.id}" if damage.target is not None else "")
        out.append(f"write again what was committed after {base}, which is the latest version that can be read")
    if rows:
        out.append("write again the rows of the missing files, or put the files back in place before the repair")
        out.append("older snapshots still need the missing files: fsck reports them until the snapshots expire")
    if damage.broken:
        out.append("to bring the moved files back: orphans undo, with the id of the quarantine")
    return out
