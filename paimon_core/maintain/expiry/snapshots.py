"""Snapshot expiry: deletes old snapshots and the files that only they use (format 16.1).

The order of the steps:

1. Compute which snapshots and files to delete. A file that cannot be read stops the run before anything is deleted.
2. If changelogs outlive snapshots, create the changelog file of each expired snapshot.
3. Delete the snapshot files, lowest id first, and write the hint EARLIEST.
4. Delete the data files, manifests and manifest lists.

The guarantees that follow from this order:

- A reader finds a snapshot with all of its files. When a file is missing, the snapshot file is missing too, so the
  reader can raise "expired" instead of returning a part of the rows.
- A crash at any point leaves contiguous snapshots and at worst orphan files, never a snapshot without its files. The
  next run continues the interrupted run.
- Tags and branches are listed again after the snapshot files were deleted. If this second listing
  finds a tag that was created during the expiry, the files of the tag are kept. If a tag is created later, the process
  that creates the tag finds that the snapshot has expired and deletes the tag.

Files that other branches use are protected like files that tags use. When a rollback runs at the same time, the expiry
stops and deletes no data files (``rollback_guard``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from paimon_core.display import Displayed, Summary
from paimon_core.errors import PlanOutdated
from paimon_core.maintain.executor import WorkExecutor
from paimon_core.maintain.expiry.expiry_run import ExpiryRun
from paimon_core.maintain.expiry.retention import (
    Bound,
    ExpirySelection,
    Retention,
    bounds,
    choose_snapshots,
    refuse_unread_options,
)
from paimon_core.maintain.expiry.still_due import plan_outdated_when_missing, recheck_selection
from paimon_core.maintain.planning.existing_files import existing_files
from paimon_core.maintain.planning.plan import Plan, Protected
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.references.protected_files import (
    Seen,
    keep_branches,
    keep_own_changelogs,
    keep_tags,
    seen_now,
)
from paimon_core.maintain.references.removable_files import RemovableFiles, Removal
from paimon_core.maintain.rollback.rollback_guard import delete_below
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import FileSource
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.read_again import read_again
from paimon_core.metadata.stores.snapshot_store import EARLIEST
from paimon_core.metadata.table_identity import check_same_table

OPERATION = "expire-snapshots"


@dataclass(frozen=True, repr=False)
class ExpireReport(Displayed):
    """The result of an expiry, or with ``dry_run`` of its plan."""

    table: str
    expired: tuple[int, ...] = ()
    """The ids of the expired snapshots, ascending."""
    earliest: int | None = None
    """The id of the first remaining snapshot."""
    removed: Removal = field(default_factory=Removal)
    """The deleted files that existed; files that an earlier run had deleted are not counted."""
    kept_by_tags: int = 0
    """The number of data files that were kept because a tag uses them."""
    dry_run: bool = False
    protected: tuple[Protected, ...] = ()
    """The snapshots that are old enough to expire and were kept, with the tag, branch, consumer or limit that protects
    them.
    """
    changelogs: tuple[int, ...] = ()
    """The ids of the lasting changelogs that expired in this run (format 16.2)."""

    def _summary(self) -> Summary:
        facts = (
            ("expired", len(self.expired)),
            ("earliest", None if self.earliest is None else str(self.earliest)),
            ("files", self.removed.data_files + self.removed.metadata_files),
            ("bytes", self.removed.size_bytes),
            ("protected", len(self.protected) or None),
            ("dry_run", self.dry_run or None),
        )
        return Summary(self.table, facts, header=("kept", "because of"), rows=[(p.what, p.by) for p in self.protected])


def expire(
    context: TableContext,
    retention: Retention,
    *,
    protected: Iterable[int] = (),
    decoupled: bool = False,
    dry_run: bool = False,
) -> ExpireReport:
    """Expire the oldest snapshots that the retention allows to expire.

    A snapshot is old enough when its successor was committed before ``retention.older_than_millis``: the snapshot was
    no longer the latest at that time. Two limits apply: the lowest id in ``protected``, and the first snapshot that a
    consumer needs. The snapshot at the lower limit and all later snapshots are kept. With ``decoupled``, changelogs
    outlive snapshots: the files with the changes are kept until ``expire_changelogs``. Raises CorruptTable that names
    the file that cannot be read, InvalidRequest for a wrong retention, UnsupportedFeature for an option value that is
    not supported.
    """
    seen = seen_now(context)
    chosen, expiry = _compute(context, retention, tuple(protected), decoupled)
    if expiry is None:
        earliest = chosen.first_kept.id if chosen.first_kept else None
        if earliest is not None and not dry_run and not context.storage.exists(context.paths.hint(EARLIEST)):
            check_same_table(context)
            context.snapshots.write_earliest_hint(earliest)
        return ExpireReport(context.name, earliest=earliest, dry_run=dry_run, protected=chosen.protected)
    if dry_run:
        return _report(context, expiry, expiry.removal(context), dry_run=True)
    return _carry_out(context, expiry, seen, decoupled=decoupled)


def plan_snapshot_expiry(
    context: TableContext, retention: Retention, *, protected: Iterable[int] = (), decoupled: bool = False
) -> Plan:
    """Return a plan of the deletions of ``expire``; raises the same errors."""
    state = TableState.of(context)
    chosen, expiry = _compute(context, retention, tuple(protected), decoupled)
    plan = Plan(OPERATION, context.name, context.branch, state, protected=chosen.protected)
    if expiry is None:
        return plan
    data = existing_files(context.storage, expiry.data)
    return replace(
        plan,
        subjects=tuple(f"snapshot {s.id}" for s in expiry.expired),
        files=(*data, *existing_files(context.storage, expiry.metadata)),
        protected=expiry.protected,
        arguments={
            "snapshots": [s.id for s in expiry.expired],
            "first_kept": expiry.first_kept.id,
            "first_kept_delta": expiry.first_kept.delta_manifest_list,
            "decoupled": decoupled,
            "data_files": len(data),
            "kept_by_tags": expiry.kept_by_tags,
        },
    )


def apply_snapshot_expiry(context: TableContext, plan: Plan, *, executor: WorkExecutor | None = None) -> ExpireReport:
    """Apply the plan; only the planned snapshots and files that are still removable are deleted.

    Plans are untrusted input. Raises PlanOutdated when the table has changed, InvalidRequest for a plan of another
    operation or table, CorruptTable for a file that cannot be read.
    """
    seen = seen_now(context)
    plan.check(context, OPERATION)
    if plan.is_empty:
        return ExpireReport(context.name, protected=plan.protected)
    delta, decoupled = plan.argument("first_kept_delta", str), plan.argument("decoupled", bool)
    with plan_outdated_when_missing(context):
        expiry = _removable(context, recheck_selection(context, plan, "snapshots", context.snapshots), decoupled)
    expiry = expiry.as_planned(plan)
    report = None
    if expiry.first_kept.delta_manifest_list == delta:
        report = _carry_out(context, expiry, seen, decoupled=decoupled, executor=executor)
    if report is None or not report.expired:
        raise PlanOutdated(
            f"table {context.name}: snapshot {expiry.first_kept.id}, the first to keep, was rolled back or replaced. "
            "Create a new plan",
            table=context.name,
        )
    return report


def _compute(
    context: TableContext, retention: Retention, protected: tuple[int, ...], decoupled: bool
) -> tuple[ExpirySelection, ExpiryRun | None]:
    """Compute which snapshots and files to delete; retries when a concurrent expiry deletes snapshots during the
    call.
    """
    retention.check()
    refuse_unread_options(context)

    def attempt() -> tuple[ExpirySelection, ExpiryRun | None]:
        chosen = _chosen(context, retention, protected, decoupled)
        return chosen, _removable(context, chosen, decoupled) if chosen.expired else None

    return read_again(attempt)


def _chosen(
    context: TableContext, retention: Retention, protected: tuple[int, ...], decoupled: bool
) -> ExpirySelection:
    ids = context.snapshots.ids()
    if not ids:
        return ExpirySelection()
    # With consumer.changelog-only, consumers read lasting changelogs and do not need the snapshots.
    consumers = not (decoupled and context.options["consumer.changelog-only"])
    limits = bounds(context, retention, ids, consumers=consumers)
    limits += [Bound(i, f"the caller (snapshot {i})") for i in protected if i >= ids[0]]
    return choose_snapshots(context, retention, ids, limits, ids[-1])


def _removable(context: TableContext, chosen: ExpirySelection, decoupled: bool) -> ExpiryRun:
    first_kept = chosen.first_kept
    assert first_kept is not None
    removable = RemovableFiles(context)
    changes_in_delta = decoupled and context.options["changelog-producer"] == "none"
    for snapshot in chosen.expired:
        removable.add_deleted(snapshot, only=_is_compacted if changes_in_delta else _any)
        removable.add_metadata(snapshot, lists=not changes_in_delta)
        if not decoupled:
            removable.add_changelog(snapshot)
    removable.add_deleted(first_kept, only=_is_compacted if changes_in_delta else _any)
    latest = context.snapshots.latest()
    # A later snapshot may add a deleted file again, for example to restore an old state: then the latest snapshot uses
    # the file.
    removable.keep([first_kept, *([latest] if latest is not None and latest != first_kept else [])])
    by_tags, kept_by_tags = keep_tags(removable)
    by_branches = keep_branches(removable)
    if not changes_in_delta:
        keep_own_changelogs(removable)
    data, metadata = removable.files()
    protected = (*chosen.protected, *by_tags, *by_branches)
    return ExpiryRun(chosen.expired, first_kept, tuple(data), tuple(metadata), protected, kept_by_tags)


def _is_compacted(entry: ManifestEntry) -> bool:
    """Whether a compaction wrote the file. Appended files, and files of unknown source, may be a snapshot's changes."""
    return entry.file.file_source is FileSource.COMPACT


def _any(entry: ManifestEntry) -> bool:
    return True


def _carry_out(
    context: TableContext, expiry: ExpiryRun, seen: Seen, *, decoupled: bool, executor: WorkExecutor | None = None
) -> ExpireReport:
    """Delete the snapshots, then the files that only these snapshots used.

    ``seen`` are the tags and branches that ``expiry`` already takes into account.
    """
    if not context.snapshots.is_live(expiry.first_kept):
        return ExpireReport(context.name, protected=expiry.protected)
    check_same_table(context)  # from here on, only ids of snapshots are used
    if decoupled:
        created = [snapshot for snapshot in expiry.expired if context.changelogs.create(snapshot)]
        check_same_table(context, otherwise=lambda: context.changelogs.withdraw(created))
        with contextlib.suppress(OSError):  # the hint is optional
            context.changelogs.write_latest_hint(expiry.expired[-1].id)
    if not delete_below(context, expiry.expired, expiry.first_kept):
        return ExpireReport(context.name, protected=expiry.protected)
    with contextlib.suppress(OSError):  # the hint is optional
        context.snapshots.write_earliest_hint(expiry.first_kept.id)
    expiry = expiry.without_used(context, seen)
    return _report(context, expiry, expiry.delete_files(context, executor))


def _report(context: TableContext, expiry: ExpiryRun, removal: Removal, *, dry_run: bool = False) -> ExpireReport:
    return ExpireReport(
        context.name, expiry.ids, expiry.first_kept.id, removal, expiry.kept_by_tags, dry_run, expiry.protected
    )
