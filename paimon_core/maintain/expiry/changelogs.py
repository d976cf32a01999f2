"""Changelogs with a life of their own: they outlive their snapshots, and expire by rules of their own (format 16.2).

The order is that of the expiry of snapshots: all is worked out, then the changelog files go, lowest id first, then the
hint, then what only they used. Whoever reads the changes of one that went hears that it has expired.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace

from paimon_core.maintain.empty_directories import remove_emptied
from paimon_core.maintain.expiry.retention import (
    Bound,
    Chosen,
    Retention,
    bounds,
    choose_changelogs,
    refuse_unread_options,
)
from paimon_core.maintain.expiry.still_due import only_planned, plan_outdated_when_missing, recheck_chosen
from paimon_core.maintain.planning.existing_files import existing_files
from paimon_core.maintain.planning.plan import Plan, PlannedFile, Protected
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.references.protected_files import Seen, keep_branches, keep_tags, seen_now, used_since
from paimon_core.maintain.references.removable_files import RemovableFiles, Removal
from paimon_core.maintain.retry_when_vanished import retry_when_vanished
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot

OPERATION = "expire-changelogs"


@dataclass(frozen=True)
class ChangelogReport:
    """What an expiry of changelogs did."""

    table: str
    expired: tuple[int, ...] = ()
    """Ids, ascending."""
    removed: Removal = field(default_factory=Removal)
    protected: tuple[Protected, ...] = ()


@dataclass(frozen=True)
class _Work:
    expired: tuple[Snapshot, ...]
    first_kept: Snapshot
    data: tuple[PlannedFile, ...]
    metadata: tuple[PlannedFile, ...]
    protected: tuple[Protected, ...]


def changelog_retention(context: TableContext, snapshots: Retention, now_millis: int) -> Retention | None:
    """How long changelogs stay where an option lets them outlive the snapshots; None where they go with them.

    What an option does not say is as for the snapshots.
    """
    options = context.options
    age = options["changelog.time-retained"]
    changelogs = replace(
        snapshots,
        retain_min=options["changelog.num-retained.min"] or snapshots.retain_min,
        retain_max=options["changelog.num-retained.max"] or snapshots.retain_max,
        older_than_millis=snapshots.older_than_millis if age is None else now_millis - age,
    )
    outlives = (
        changelogs.retain_min > snapshots.retain_min
        or changelogs.retain_max > snapshots.retain_max
        or changelogs.older_than_millis < snapshots.older_than_millis
    )
    return changelogs if outlives else None


def expire_changelogs(context: TableContext, retention: Retention) -> ChangelogReport:
    """Expire the oldest changelogs that outlived their snapshots; the newest of them always stays.

    Numbers count from the latest snapshot. None goes from the consumers' next snapshots on. Raises InvalidRequest,
    CorruptTable naming what cannot be read, UnsupportedFeature for an option that is not obeyed.
    """
    seen = seen_now(context)
    chosen, work = _worked_out(context, retention)
    return _carry_out(context, work, seen) if work else ChangelogReport(context.name, protected=chosen.protected)


def plan_changelog_expiry(context: TableContext, retention: Retention) -> Plan:
    """What ``expire_changelogs`` would do, to look at first; raises as it does."""
    state = TableState.of(context)
    chosen, work = _worked_out(context, retention)
    plan = Plan(OPERATION, context.name, context.branch, state, protected=chosen.protected)
    if work is None:
        return plan
    return replace(
        plan,
        subjects=tuple(f"changelog {s.id}" for s in work.expired),
        files=existing_files(context.storage, (*work.data, *work.metadata)),
        protected=work.protected,
        arguments={
            "changelogs": [s.id for s in work.expired],
            "first_kept": work.first_kept.id,
        },
    )


def apply_changelog_expiry(context: TableContext, plan: Plan) -> ChangelogReport:
    """Do what the plan says, and nothing that is not found due again: plans travel, and are not trusted.

    Raises PlanOutdated when the table moved, InvalidRequest for a plan of something else, CorruptTable.
    """
    seen = seen_now(context)
    plan.check(context, OPERATION)
    if plan.is_empty:
        return ChangelogReport(context.name, protected=plan.protected)
    with plan_outdated_when_missing(context):
        work = _work(context, recheck_chosen(context, plan, "changelogs", context.changelogs))
    data, metadata = only_planned(plan, work.data), only_planned(plan, work.metadata)
    work = replace(work, data=data, metadata=metadata, protected=plan.protected)
    return _carry_out(context, work, seen)


def _worked_out(context: TableContext, retention: Retention) -> tuple[Chosen, _Work | None]:
    retention.check()
    refuse_unread_options(context)

    def look() -> tuple[Chosen, _Work | None]:
        chosen = _chosen(context, retention)
        return chosen, _work(context, chosen) if chosen.expired else None

    return retry_when_vanished(look)


def _chosen(context: TableContext, retention: Retention) -> Chosen:
    snapshots, ids = context.snapshots.ids(), context.changelogs.ids()
    if not snapshots or not ids:
        return Chosen()
    held = bounds(context, retention, [ids[0], snapshots[-1]], consumers=True)
    # A run that was cut short may leave a snapshot beside its changelog, which still is the snapshot's.
    held.append(Bound(snapshots[0], f"snapshot {snapshots[0]}"))
    return choose_changelogs(context, retention, ids, held, snapshots[-1])


def _work(context: TableContext, chosen: Chosen) -> _Work:
    first_kept = chosen.first_kept
    assert first_kept is not None
    removable = RemovableFiles(context)
    for changelog in chosen.expired:
        removable.add_changelog(changelog)
        # Without a producer, what was appended and the lists that tell of it stayed for the changelog. With one, or
        # after an earlier run, they are gone, or what they name is: only what is left here is taken.
        removable.add_deleted(changelog)
        removable.add_lists(changelog)
    removable.keep(_states(context))
    by_tags, _ = keep_tags(removable)
    by_branches = keep_branches(removable)
    removable.keep_lists(first_kept)
    data, metadata = removable.files()
    return _Work(chosen.expired, first_kept, tuple(data), tuple(metadata), (*chosen.protected, *by_tags, *by_branches))


def _states(context: TableContext) -> list[Snapshot]:
    """The first and the latest snapshot, which hold what those between them do of files that are older."""
    ids = context.snapshots.ids()
    return [context.snapshots.read(i) for i in dict.fromkeys((ids[0], ids[-1]))] if ids else []


def _carry_out(context: TableContext, work: _Work, seen: Seen) -> ChangelogReport:
    ids = tuple(s.id for s in work.expired)
    context.changelogs.delete(ids)
    with contextlib.suppress(OSError):  # only a hint
        context.changelogs.write_earliest_hint(work.first_kept.id)
    used = used_since(context, seen, (*work.data, *work.metadata))
    data = [f for f in work.data if f.path not in used]
    metadata = (f for f in work.metadata if f.path not in used)
    removed = Removal.of(existing_files(context.storage, data), existing_files(context.storage, metadata))
    context.storage.delete(removed.paths)
    if context.options["snapshot.clean-empty-directories"]:
        remove_emptied(context, [f.path for f in data])
    return ChangelogReport(context.name, ids, removed, work.protected)
