"""Missing files: removes the entries of data files that do not exist, so that the remaining rows of the table can be
read.

The rows of the files are lost for good. So first restore files from quarantine, and make sure that the storage does not
fail only temporarily. The entries are deleted by one OVERWRITE commit, as in Java (format 16.7); the property
``paimon-core.lost`` of its snapshot records the lost files and rows. Older snapshots still reference the files, and
reading those snapshots still fails.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from paimon_core.commit.author import Author
from paimon_core.commit.changes import changes_of
from paimon_core.commit.committer import commit_changes
from paimon_core.errors import PlanOutdated
from paimon_core.maintain.orphans.quarantine import quarantines
from paimon_core.maintain.planning.plan import Plan, PlannedFile, Protected
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.repair.loss import LOSS, loss_of
from paimon_core.metadata.commit_message import deletions
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table_indexes.bucket_vectors import dropping_vectors

OPERATION = "remove-missing-files"


@dataclass(frozen=True)
class MissingReport:
    """The result of a removal of missing files."""

    table: str
    snapshot: Snapshot | None = None
    """The snapshot of the commit; None when there was nothing to do."""
    removed: tuple[str, ...] = ()
    """Paths of the files that the latest snapshot no longer references."""
    rows: int = 0
    """The number of rows that these files contained."""
    added_by_snapshots: tuple[int, ...] = ()
    """The snapshots that had added these rows, unless they are unknown."""
    files_of_unknown_snapshots: int = 0
    """The number of missing files whose rows came from unknown snapshots."""


def plan_missing_removal(context: TableContext) -> Plan:
    """Find the live files of the latest snapshot that do not exist; changes nothing.

    Files at external paths outside of the allowed roots and files in quarantine are protected. Raises CorruptTable for
    a manifest that cannot be read.
    """
    state = TableState.of(context)
    waiting = {f.path: q.id for q in quarantines(context) for f in q.files}
    files: list[PlannedFile] = []
    protected: list[Protected] = []
    rows = 0
    entries = latest_entries(context)
    protected += [
        Protected(
            f"file {e.file.file_name}", f"its external path {e.file.external_path}, which is not in allowed_roots"
        )
        for e in entries
        if _is_elsewhere(context, e)
    ]
    for path, entry in _missing(context, entries):
        relative = path if entry.file.external_path is not None else context.paths.relative(path)
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
        subjects=(f"{rows} rows of {len(files)} files that are missing",) if files else (),
        files=tuple(files),
        protected=tuple(protected),
        arguments={"rows": rows},
    )


def apply_missing_removal(context: TableContext, plan: Plan, *, user: str | None = None) -> MissingReport:
    """Commit the deletion of the manifest entries of the planned files.

    Raises PlanOutdated when one of the files exists or is no longer live, CommitConflict when a concurrent commit
    deleted one of the entries first, UnsupportedFeature for a table that cannot be written.
    """
    plan.check(context, OPERATION, expiry_harms=False)
    planned = {f.path for f in plan.files}
    if context.snapshots.latest() is None or not planned:
        return MissingReport(context.name)
    entries = latest_entries(context)
    missing = _missing(context, entries, planned)
    if changed := sorted(planned - {path for path, _ in missing}):
        raise PlanOutdated(
            f"table {context.name}: {changed[0]} exists again, or is no longer used. The plan was not applied. Create "
            "a new plan",
            table=context.name,
            path=changed[0],
        )
    messages = dropping_vectors(context, deletions(entry for _, entry in missing))
    loss = loss_of(context, missing)
    by = user or f"repair-{uuid.uuid4()}"
    author = Author(by, properties={LOSS: loss.to_text()})
    committed = commit_changes(changes_of(messages), context, author)
    return MissingReport(
        context.name,
        committed[-1] if committed else None,
        tuple(path for path, _ in missing),
        loss.rows,
        tuple(sorted(loss.added_by)),
        loss.unknown,
    )


def missing_of(context: TableContext, entries: Sequence[ManifestEntry]) -> list[tuple[str, ManifestEntry]]:
    """Return path and entry of the live files that neither exist nor are in a quarantine."""
    waiting = {f.path for q in quarantines(context) for f in q.files}
    return [
        (path, entry)
        for path, entry in _missing(context, entries)
        if entry.file.external_path is not None or context.paths.relative(path) not in waiting
    ]


def of_another_size(context: TableContext, entries: Iterable[ManifestEntry]) -> list[tuple[str, int, ManifestEntry]]:
    """Return path, size and entry of the existing live files whose size is not the recorded size."""
    paths = {context.file_path(e.partition, e.bucket, e.file): e for e in entries if not _is_elsewhere(context, e)}
    directories = {path.rpartition("/")[0] for path in paths}
    sizes = {f.path: f.size for directory in directories for f in context.storage.list(directory)}
    wrong = [(path, size, e) for path, e in paths.items() if (size := sizes.get(path)) is not None]
    return [(path, size, e) for path, size, e in wrong if size != e.file.file_size]


def _missing(
    context: TableContext, entries: Iterable[ManifestEntry], among: Collection[str] | None = None
) -> list[tuple[str, ManifestEntry]]:
    """Return path and entry of each file that does not exist.

    A file that is missing in the listing of its directory is checked once more by its path.
    """
    by_directory: dict[str, dict[str, ManifestEntry]] = defaultdict(dict)
    for entry in entries:
        if not _is_elsewhere(context, entry):
            path = context.file_path(entry.partition, entry.bucket, entry.file)
            by_directory[path.rpartition("/")[0]][path] = entry
    missing = []
    for directory, paths in by_directory.items():
        wanted = paths.keys() if among is None else paths.keys() & set(among)
        if not wanted:
            continue
        listed = {e.path for e in context.storage.list(directory)}
        missing += [(p, paths[p]) for p in sorted(wanted - listed) if not context.storage.exists(p)]
    return missing


def _is_elsewhere(context: TableContext, entry: ManifestEntry) -> bool:
    """Whether a file is neither in the table nor below an allowed root."""
    external = entry.file.external_path
    return external is not None and context.paths.external.find(external) is None
