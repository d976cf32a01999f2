"""Missing files: take the entries of data files that are gone out of the table, so that the rest can be read again.

Rows are lost by it for good, so it is the last resort: a file that waits in quarantine is brought back instead, and one
whose absence may be a passing fault of the store is worth another look. The entries are deleted by a commit of their
own, an OVERWRITE as Java makes it (format 16.7); older snapshots still name the files, and reading those still fails.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from paimon_core.commit.committer import commit
from paimon_core.errors import PlanOutdated
from paimon_core.maintain.orphans.quarantine import quarantines
from paimon_core.maintain.planning.plan import Plan, PlannedFile, Protected
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.metadata.commit_message import deletions
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_core.metadata.manifest import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot

OPERATION = "remove-missing-files"


@dataclass(frozen=True)
class MissingReport:
    """What became of a plan."""

    table: str
    snapshot: Snapshot | None = None
    """The commit; None when there was nothing left to do."""
    removed: tuple[str, ...] = ()
    """Paths of the files that the table does not name any more."""
    rows: int = 0
    """Rows that these files held."""


def plan_missing_removal(context: TableContext) -> Plan:
    """Find the live files of the latest snapshot that are not in their place; nothing is changed.

    A file at an external path, or one that waits in quarantine, is protected. Raises CorruptTable for manifests that do
    not read.
    """
    state = TableState.of(context)
    waiting = {f.path: q.id for q in quarantines(context) for f in q.files}
    files: list[PlannedFile] = []
    protected: list[Protected] = []
    rows = 0
    entries = latest_entries(context)
    protected += [
        Protected(f"file {e.file.file_name}", f"its external path {e.file.external_path}, which is not looked at")
        for e in entries
        if e.file.external_path is not None
    ]
    for path, entry in _missing(context, entries):
        relative = context.paths.relative(path)
        if relative in waiting:
            protected.append(Protected(f"file {relative}", f"quarantine {waiting[relative]}: undo it"))
            continue
        files.append(PlannedFile(path, entry.file.file_size))
        rows += entry.file.row_count
    return Plan(
        operation=OPERATION,
        table=context.name,
        branch=context.branch,
        state=state,
        subjects=(f"{rows} rows of {len(files)} files that are gone",) if files else (),
        files=tuple(files),
        protected=tuple(protected),
        arguments={"rows": rows},
    )


def apply_missing_removal(context: TableContext, plan: Plan, *, user: str | None = None) -> MissingReport:
    """Commit the deletion of the planned entries that are live and gone still.

    Raises PlanOutdated, CommitConflict when another commit took one of them first, UnsupportedFeature for a table that
    is not written here.
    """
    plan.check(context, OPERATION, expiry_harms=False)
    planned = {f.path for f in plan.files}
    if context.snapshots.latest() is None or not planned:
        return MissingReport(context.name)
    entries = latest_entries(context)
    gone = _missing(context, entries, planned)
    if back := sorted(planned - {path for path, _ in gone}):
        raise PlanOutdated(
            f"table {context.name}: {back[0]} is there again, or is not used any more. Nothing was done; plan again",
            table=context.name,
            path=back[0],
        )
    committed = commit(deletions(entry for _, entry in gone), context=context, user=user or f"repair-{uuid.uuid4()}")
    return MissingReport(
        context.name,
        committed[-1] if committed else None,
        tuple(path for path, _ in gone),
        sum(e.file.row_count for _, e in gone),
    )


def _missing(
    context: TableContext, entries: Iterable[ManifestEntry], among: Collection[str] | None = None
) -> list[tuple[str, ManifestEntry]]:
    """The entries whose file is not there, by path: seen by listing each bucket, confirmed file by file."""
    by_bucket: dict[tuple[bytes, int], list[ManifestEntry]] = defaultdict(list)
    for entry in entries:
        if entry.file.external_path is None:
            by_bucket[entry.partition, entry.bucket].append(entry)
    gone = []
    for (partition, bucket), inside in by_bucket.items():
        directory = context.partition_path(partition)
        paths = {context.paths.data_file(directory, bucket, e.file.file_name): e for e in inside}
        wanted = paths.keys() if among is None else paths.keys() & set(among)
        if not wanted:
            continue
        there = {e.path for e in context.storage.list(context.paths.bucket(directory, bucket))}
        gone += [(p, paths[p]) for p in sorted(wanted - there) if not context.storage.exists(p)]
    return gone
