"""expire: drop old snapshots and the files that only they use (format 16.1).

Order, and what it protects. First everything is worked out: what cannot be read then stops the run with nothing
deleted. Then, where changelogs live longer, each snapshot's changelog is written; then the snapshot files go, lowest
id first, then the hint EARLIEST moves, then data files, manifests and lists go. So

- a reader finds a snapshot with all of its files or, when a file is missing, no snapshot any more: it can say
  "expired" instead of returning part of the rows;
- a crash at any point leaves contiguous snapshots and at worst orphan files that nothing refers to, never a snapshot
  without its files; the next run goes on from there;
- tags and branches are listed again once the snapshots are gone: one made meanwhile is either seen then, and its files
  stay, or its maker sees that the snapshot is gone and takes it back.

What other branches hold is kept like what tags hold. A rollback that runs at the same time takes precedence
(``give_way``): the expiry stops, and deletes no files.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from paimon_core.errors import PlanOutdated
from paimon_core.maintain.empty_directories import remove_emptied
from paimon_core.maintain.executor import WorkExecutor, delete_files
from paimon_core.maintain.expiry.retention import (
    Bound,
    Chosen,
    Retention,
    bounds,
    choose_snapshots,
    refuse_unread_options,
)
from paimon_core.maintain.expiry.still_due import only_planned, plan_outdated_when_missing, recheck_chosen
from paimon_core.maintain.planning.existing_files import existing_files
from paimon_core.maintain.planning.plan import Plan, PlannedFile, Protected
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.references.protected_files import (
    Seen,
    keep_branches,
    keep_own_changelogs,
    keep_tags,
    seen_now,
    used_since,
)
from paimon_core.maintain.references.removable_files import RemovableFiles, Removal
from paimon_core.maintain.retry_when_vanished import retry_when_vanished
from paimon_core.maintain.rollback.rollback_guard import delete_below
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import FileSource
from paimon_core.metadata.manifest import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.snapshot_store import EARLIEST

OPERATION = "expire-snapshots"


@dataclass(frozen=True)
class ExpireReport:
    """What an expiry did, or with ``dry_run`` would do."""

    table: str
    expired: tuple[int, ...] = ()
    """Snapshot ids, ascending."""
    earliest: int | None = None
    """The first snapshot that is left."""
    removed: Removal = field(default_factory=Removal)
    """The files that were there to be deleted; what an earlier run had deleted is not counted."""
    kept_by_tags: int = 0
    """Data files that would have gone but for a tag."""
    dry_run: bool = False
    protected: tuple[Protected, ...] = ()
    """What was old enough to go and stays, and who holds it."""
    changelogs: tuple[int, ...] = ()
    """Changelogs that expired with this run (format 16.2)."""


@dataclass(frozen=True)
class _Work:
    """What a run will do."""

    expired: tuple[Snapshot, ...]
    first_kept: Snapshot
    data: tuple[PlannedFile, ...]
    metadata: tuple[PlannedFile, ...]
    kept_by_tags: int
    protected: tuple[Protected, ...]
    decoupled: bool
    """Changelogs are kept beyond the snapshots."""

    def report(self, context: TableContext, *, dry_run: bool = False) -> ExpireReport:
        ids = tuple(s.id for s in self.expired)
        removal = Removal.of(existing_files(context.storage, self.data), existing_files(context.storage, self.metadata))
        return ExpireReport(context.name, ids, self.first_kept.id, removal, self.kept_by_tags, dry_run, self.protected)


def expire(
    context: TableContext,
    retention: Retention,
    *,
    protected: Iterable[int] = (),
    decoupled: bool = False,
    dry_run: bool = False,
) -> ExpireReport:
    """Expire the oldest snapshots, as far as the retention lets them go.

    A snapshot is old enough when the one after it was committed before ``retention.older_than_millis``: it was not the
    latest at that time any more. None goes from the lowest of ``protected`` and of the consumers' next snapshots on.
    ``decoupled``: what tells their changes stays, for ``expire_changelogs``. Raises CorruptTable naming what cannot be
    read, InvalidRequest, UnsupportedFeature for an option that is not obeyed.
    """
    seen = seen_now(context)
    chosen, work = _worked_out(context, retention, tuple(protected), decoupled)
    if work is None:
        earliest = chosen.first_kept.id if chosen.first_kept else None
        if earliest is not None and not dry_run and not context.storage.exists(context.paths.hint(EARLIEST)):
            context.snapshots.write_earliest_hint(earliest)
        return ExpireReport(context.name, earliest=earliest, dry_run=dry_run, protected=chosen.protected)
    if dry_run:
        return work.report(context, dry_run=True)
    return _carry_out(context, work, seen)


def plan_snapshot_expiry(
    context: TableContext, retention: Retention, *, protected: Iterable[int] = (), decoupled: bool = False
) -> Plan:
    """What ``expire`` would do, to look at first; raises as it does."""
    state = TableState.of(context)
    chosen, work = _worked_out(context, retention, tuple(protected), decoupled)
    plan = Plan(OPERATION, context.name, context.branch, state, protected=chosen.protected)
    if work is None:
        return plan
    return replace(
        plan,
        subjects=tuple(f"snapshot {s.id}" for s in work.expired),
        files=(*(data := existing_files(context.storage, work.data)), *existing_files(context.storage, work.metadata)),
        protected=work.protected,
        arguments={
            "snapshots": [s.id for s in work.expired],
            "first_kept": work.first_kept.id,
            "first_kept_delta": work.first_kept.delta_manifest_list,
            "decoupled": decoupled,
            "data_files": len(data),
            "kept_by_tags": work.kept_by_tags,
        },
    )


def apply_snapshot_expiry(context: TableContext, plan: Plan, *, executor: WorkExecutor | None = None) -> ExpireReport:
    """Do what the plan says, and nothing that is not found due again: plans travel, and are not trusted.

    Raises PlanOutdated when the table moved, InvalidRequest for a plan of something else, CorruptTable.
    """
    seen = seen_now(context)
    plan.check(context, OPERATION)
    if plan.is_empty:
        return ExpireReport(context.name, protected=plan.protected)
    delta, decoupled = plan.argument("first_kept_delta", str), plan.argument("decoupled", bool)
    with plan_outdated_when_missing(context):
        work = _work(context, recheck_chosen(context, plan, "snapshots", context.snapshots), decoupled)
    data, metadata = only_planned(plan, work.data), only_planned(plan, work.metadata)
    work = replace(work, data=data, metadata=metadata, protected=plan.protected)
    report = _carry_out(context, work, seen, executor) if work.first_kept.delta_manifest_list == delta else None
    if report is None or not report.expired:
        raise PlanOutdated(
            f"table {context.name}: snapshot {work.first_kept.id} was taken back; plan again", table=context.name
        )
    return report


def _worked_out(
    context: TableContext, retention: Retention, protected: tuple[int, ...], decoupled: bool
) -> tuple[Chosen, _Work | None]:
    """What to do, and again when snapshots vanish while it is worked out: another run was faster."""
    retention.check()
    refuse_unread_options(context)

    def look() -> tuple[Chosen, _Work | None]:
        chosen = _chosen(context, retention, protected, decoupled)
        return chosen, _work(context, chosen, decoupled) if chosen.expired else None

    return retry_when_vanished(look)


def _chosen(context: TableContext, retention: Retention, protected: tuple[int, ...], decoupled: bool) -> Chosen:
    ids = context.snapshots.ids()
    if not ids:
        return Chosen()
    # Readers of changes alone do without snapshots where changelogs outlive them (option consumer.changelog-only).
    consumers = not (decoupled and context.options["consumer.changelog-only"])
    held = bounds(context, retention, ids, consumers=consumers)
    held += [Bound(i, f"the caller (snapshot {i})") for i in protected if i >= ids[0]]
    return choose_snapshots(context, retention, ids, held, ids[-1])


def _work(context: TableContext, chosen: Chosen, decoupled: bool) -> _Work:
    first_kept = chosen.first_kept
    assert first_kept is not None
    removable = RemovableFiles(context)
    told_by_delta = decoupled and context.options["changelog-producer"] == "none"
    for snapshot in chosen.expired:
        removable.add_deleted(snapshot, only=_merged if told_by_delta else _any)
        removable.add_metadata(snapshot, lists=not told_by_delta)
        if not decoupled:
            removable.add_changelog(snapshot)
    removable.add_deleted(first_kept, only=_merged if told_by_delta else _any)
    latest = context.snapshots.latest()
    # What a later snapshot took up again, as going back to an old state as a new one does, is live in the latest.
    removable.keep([first_kept, *([latest] if latest is not None and latest != first_kept else [])])
    by_tags, kept_by_tags = keep_tags(removable)
    by_branches = keep_branches(removable)
    if not told_by_delta:
        keep_own_changelogs(removable)
    data, metadata = removable.files()
    protected = (*chosen.protected, *by_tags, *by_branches)
    return _Work(chosen.expired, first_kept, tuple(data), tuple(metadata), kept_by_tags, protected, decoupled)


def _merged(entry: ManifestEntry) -> bool:
    """Whether a compaction wrote the file: what was appended tells changes, and so may a file that does not say."""
    return entry.file.file_source is FileSource.COMPACT


def _any(entry: ManifestEntry) -> bool:
    return True


def _carry_out(context: TableContext, work: _Work, seen: Seen, executor: WorkExecutor | None = None) -> ExpireReport:
    """Snapshots first, then what only they used; ``seen`` are the tags and branches that the work respects."""
    if not context.snapshots.is_live(work.first_kept):
        return ExpireReport(context.name, protected=work.protected)
    if work.decoupled:
        for snapshot in work.expired:
            context.changelogs.create(snapshot)
        with contextlib.suppress(OSError):  # only a hint
            context.changelogs.write_latest_hint(work.expired[-1].id)
    if not delete_below(context, work.expired, work.first_kept):
        return ExpireReport(context.name, protected=work.protected)
    with contextlib.suppress(OSError):  # only a hint
        context.snapshots.write_earliest_hint(work.first_kept.id)
    used = used_since(context, seen, (*work.data, *work.metadata))
    data = tuple(f for f in work.data if f.path not in used)
    done = replace(
        work,
        data=data,
        metadata=tuple(f for f in work.metadata if f.path not in used),
        kept_by_tags=work.kept_by_tags + len(work.data) - len(data),
    ).report(context)
    delete_files(executor, context, done.removed.paths)
    if context.options["snapshot.clean-empty-directories"]:
        remove_emptied(context, [f.path for f in data])
    return done
