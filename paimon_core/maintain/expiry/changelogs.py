"""Changelog expiry: deletes lasting changelogs, which outlive their snapshots, by their own options (format 16.2).

The order is the same as in snapshot expiry: compute the files to delete, delete the changelog files (lowest id first),
write the hint EARLIEST, delete the files that only these changelogs used. A reader of a deleted changelog gets the
error that the changelog has expired.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from paimon_core.maintain.expiry.expiry_run import ExpiryRun
from paimon_core.maintain.expiry.retention import (
    Bound,
    ExpirySelection,
    Retention,
    bounds,
    choose_changelogs,
    refuse_unread_options,
)
from paimon_core.maintain.expiry.still_due import plan_outdated_when_missing, recheck_selection
from paimon_core.maintain.planning.existing_files import existing_files
from paimon_core.maintain.planning.plan import Plan, Protected
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.references.protected_files import Seen, keep_branches, keep_tags, seen_now
from paimon_core.maintain.references.removable_files import RemovableFiles, Removal
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.read_again import read_again
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table

OPERATION = "expire-changelogs"


@dataclass(frozen=True)
class ChangelogReport:
    """The result of an expiry of changelogs, or of its plan."""

    table: str
    expired: tuple[int, ...] = ()
    """The ids of the expired changelogs, ascending."""
    removed: Removal = field(default_factory=Removal)
    protected: tuple[Protected, ...] = ()


def changelog_retention(context: TableContext, snapshots: Retention, now_millis: int) -> Retention | None:
    """Return the retention of changelogs if an option lets them outlive the snapshots, else None.

    If no option sets a number or age for changelogs, the value of ``snapshots`` is used.
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
    """Expire the oldest lasting changelogs; the newest lasting changelog is always kept.

    The numbers to retain are counted from the latest snapshot backwards. Changelogs that a consumer has not read yet
    are kept. Raises InvalidRequest for a wrong retention, CorruptTable that names the file that cannot be read,
    UnsupportedFeature for an option value that is not supported.
    """
    seen = seen_now(context)
    chosen, expiry = _compute(context, retention)
    return _carry_out(context, expiry, seen) if expiry else ChangelogReport(context.name, protected=chosen.protected)


def preview_changelog_expiry(
    context: TableContext, retention: Retention, expiring: Collection[int], removed: Collection[str]
) -> ChangelogReport:
    """Return the result that ``expire_changelogs`` would have after an expiry of the snapshots ``expiring``.

    The files ``removed`` are the files that the expiry of snapshots removes. The expired snapshots are treated as
    lasting changelogs. Changes nothing; raises the same errors as ``expire_changelogs``.
    """
    lasting = {i: context.snapshots.read(i) for i in expiring}
    chosen, expiry = _compute(context, retention, lasting)
    if expiry is None:
        return ChangelogReport(context.name, protected=chosen.protected)
    gone = frozenset(removed)
    expiry = replace(
        expiry,
        data=tuple(f for f in expiry.data if f.path not in gone),
        metadata=tuple(f for f in expiry.metadata if f.path not in gone),
    )
    return ChangelogReport(context.name, expiry.ids, expiry.removal(context), expiry.protected)


def plan_changelog_expiry(context: TableContext, retention: Retention) -> Plan:
    """Return a plan of the deletions of ``expire_changelogs``; raises the same errors."""
    state = TableState.of(context)
    chosen, expiry = _compute(context, retention)
    plan = Plan(OPERATION, context.name, context.branch, state, protected=chosen.protected)
    if expiry is None:
        return plan
    return replace(
        plan,
        subjects=tuple(f"changelog {s.id}" for s in expiry.expired),
        files=existing_files(context.storage, (*expiry.data, *expiry.metadata)),
        protected=expiry.protected,
        arguments={
            "changelogs": [s.id for s in expiry.expired],
            "first_kept": expiry.first_kept.id,
        },
    )


def apply_changelog_expiry(context: TableContext, plan: Plan) -> ChangelogReport:
    """Apply the plan; only the planned changelogs and files that are still removable are deleted.

    Plans are untrusted input. Raises PlanOutdated when the table has changed, InvalidRequest for a plan of another
    operation or table, CorruptTable for a file that cannot be read.
    """
    seen = seen_now(context)
    plan.check(context, OPERATION)
    if plan.is_empty:
        return ChangelogReport(context.name, protected=plan.protected)
    with plan_outdated_when_missing(context):
        expiry = _removable(context, recheck_selection(context, plan, "changelogs", context.changelogs))
    return _carry_out(context, expiry.as_planned(plan), seen)


def _compute(
    context: TableContext, retention: Retention, expiring: Mapping[int, Snapshot] | None = None
) -> tuple[ExpirySelection, ExpiryRun | None]:
    """Compute which changelogs and files to delete; ``expiring``: snapshots, by id, that are treated as expired and as
    lasting changelogs.
    """
    retention.check()
    refuse_unread_options(context)

    def attempt() -> tuple[ExpirySelection, ExpiryRun | None]:
        chosen = _chosen(context, retention, expiring or {})
        return chosen, _removable(context, chosen, expiring or {}) if chosen.expired else None

    return read_again(attempt)


def _chosen(context: TableContext, retention: Retention, expiring: Mapping[int, Snapshot]) -> ExpirySelection:
    snapshots = [i for i in context.snapshots.ids() if i not in expiring]
    ids = sorted({*context.changelogs.ids(), *expiring})
    if not snapshots or not ids:
        return ExpirySelection()
    limits = bounds(context, retention, [ids[0], snapshots[-1]], consumers=True)
    # An interrupted run may leave both a snapshot and its lasting changelog: the snapshot still uses the changelog.
    limits.append(Bound(snapshots[0], f"snapshot {snapshots[0]}"))

    def read(changelog_id: int) -> Snapshot:
        return expiring.get(changelog_id) or context.changelogs.read(changelog_id)

    return choose_changelogs(read, retention, ids, limits, snapshots[-1])


def _removable(context: TableContext, chosen: ExpirySelection, expiring: Collection[int] = ()) -> ExpiryRun:
    first_kept = chosen.first_kept
    assert first_kept is not None
    removable = RemovableFiles(context)
    for changelog in chosen.expired:
        removable.add_changelog(changelog)
        # Without a changelog producer, the appended files and their lists were kept for the changelog. With a changelog
        # producer, or after an earlier run, these files may have been deleted: only existing files become candidates.
        removable.add_deleted(changelog)
        removable.add_lists(changelog)
    removable.keep(_states(context, expiring))
    by_tags, _ = keep_tags(removable)
    by_branches = keep_branches(removable)
    removable.keep_lists(first_kept)
    data, metadata = removable.files()
    protected = (*chosen.protected, *by_tags, *by_branches)
    return ExpiryRun(chosen.expired, first_kept, tuple(data), tuple(metadata), protected)


def _states(context: TableContext, expiring: Collection[int]) -> list[Snapshot]:
    """Return the first and the latest snapshot, without the snapshots in ``expiring``.

    An older file that any snapshot between the first and the latest uses is also used by the first or the latest.
    """
    ids = [i for i in context.snapshots.ids() if i not in expiring]
    return [context.snapshots.read(i) for i in dict.fromkeys((ids[0], ids[-1]))] if ids else []


def _carry_out(context: TableContext, expiry: ExpiryRun, seen: Seen) -> ChangelogReport:
    check_same_table(context)  # from here on, only ids of changelogs are used
    context.changelogs.delete(expiry.ids)
    with contextlib.suppress(OSError):  # the hint is optional
        context.changelogs.write_earliest_hint(expiry.first_kept.id)
    removed = expiry.without_used(context, seen).delete_files(context)
    return ChangelogReport(context.name, expiry.ids, removed, expiry.protected)
