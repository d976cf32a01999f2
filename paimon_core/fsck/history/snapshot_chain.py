"""Snapshot chain: checks the ids, times, file changes and counts of a branch's snapshots (I1, I7, I8, I18, I31)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.checked_entries import CheckedEntries
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.live_files import CheckedFiles
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot


@dataclass(frozen=True)
class Step:
    """One snapshot with its location, changes and files; ``before`` is None if the files before it are not known."""

    location: Location
    snapshot: Snapshot
    delta: list[CheckedEntries]
    """The entries of each manifest of the snapshot's changes."""
    changelog: list[CheckedEntries] | None
    """The entries of the snapshot's changelog files; None when the changelog cannot be read or has expired."""
    files: CheckedFiles
    before: Snapshot | None

    def changes(self) -> list[ManifestEntry]:
        """Return the entries of the snapshot's changes as values, for deep checks."""
        return values_of(self.delta)


def values_of(parts: Sequence[CheckedEntries]) -> list[ManifestEntry]:
    """Return the entries of all parts as values, for deep checks."""
    return [entry for part in parts for entry in part.columns.entries()]


def location_of(context: TableContext, snapshot_id: int) -> Location:
    """Return the location of a snapshot; the text for messages names the branch, unless the branch is main."""
    where = "" if context.branch == "main" else f" of branch {context.branch}"
    path = context.paths.snapshot(snapshot_id)
    return Location(context.branch, snapshot_id, path, f"snapshot {snapshot_id}{where}")


def snapshots_of(run: CheckRun) -> Iterator[Snapshot]:
    """Yield the snapshots of the branch that can be read, oldest first; gaps and bad files are reported (I1)."""
    context, collector = run.context, run.collector
    ids = context.snapshots.ids()
    for before, snapshot_id in zip([None, *ids], ids, strict=False):
        location = location_of(context, snapshot_id)
        collector.check("I1")
        if before is not None and snapshot_id != before + 1:
            missing = f"{before + 1} to {snapshot_id - 1}" if snapshot_id > before + 2 else str(before + 1)
            collector.find("I1", location, f"snapshot {missing} is missing between {before} and {snapshot_id}")
        with collector.guarding("I6", location, location.path):
            yield context.snapshots.read(snapshot_id)


def steps_of(run: CheckRun) -> Iterator[Step]:
    """Yield the snapshots of the branch as steps; ``Step.files`` is valid until the next step only."""
    files: CheckedFiles | None = None
    before: Snapshot | None = None
    for snapshot in snapshots_of(run):
        location = location_of(run.context, snapshot.id)
        follows = before is not None and before.id + 1 == snapshot.id
        if before is not None:
            _check_times(run, before, snapshot, location)
        step = _step(run, snapshot, before if follows else None, files if follows else None, location)
        files = None if step is None else step.files
        before = snapshot
        if step is not None:
            yield step


def _step(
    run: CheckRun, snapshot: Snapshot, before: Snapshot | None, files: CheckedFiles | None, location: Location
) -> Step | None:
    base = run.manifests_of(snapshot.base_manifest_list, snapshot.base_manifest_list_size, location)
    delta = run.manifests_of(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size, location)
    changelog = None
    if before is not None or not _changelog_has_expired(run, snapshot, location):
        changelog = entries_below(
            run, snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size, location
        )
    changes = [] if delta is None else [run.entries(m, location) for m in delta]
    if base is None or delta is None or any(c is None for c in changes):
        return None
    known = files is not None
    if files is None or not files.follow(run, base, location):
        files, known = CheckedFiles(), False
        if not files.load(run, base, location):
            return None
    entries = [found for found in changes if found is not None]
    files.extend(run, delta, entries, location)
    _check_counts(run, snapshot, files.rows, entries, changelog, location)
    return Step(location, snapshot, entries, changelog, files, before if known else None)


def _changelog_has_expired(run: CheckRun, first: Snapshot, location: Location) -> bool:
    """Whether the changelog of the first snapshot no longer exists, because the snapshot was re-created from a tag."""
    name, paths = first.changelog_manifest_list, run.context.paths
    if name is None or not run.plain(name, location) or run.context.storage.exists(paths.manifest(name)):
        return False
    message = f"{location.holder} was re-created from a tag: its changelog {name} has expired and cannot be read"
    run.collector.find("I6", location, message, level=Level.WARNING, path=paths.manifest(name))
    return True


def entries_below(run: CheckRun, name: str | None, size: int | None, location: Location) -> list[CheckedEntries] | None:
    """Return the entries of each manifest of a manifest list; None when a manifest cannot be read."""
    manifests = run.manifests_of(name, size, location)
    found = None if manifests is None else [run.entries(m, location) for m in manifests]
    return None if found is None or any(f is None for f in found) else [f for f in found if f is not None]


def _check_counts(
    run: CheckRun,
    snapshot: Snapshot,
    rows: int,
    delta: Sequence[CheckedEntries],
    changelog: Sequence[CheckedEntries] | None,
    location: Location,
) -> None:
    change = sum(
        sum(part.row_counts(np.flatnonzero(part.added))) - sum(part.row_counts(np.flatnonzero(~part.added)))
        for part in delta
    )
    changelog_rows = None if changelog is None else sum(sum(part.row_counts()) for part in changelog)
    for what, recorded, counted in (
        ("totalRecordCount", snapshot.total_record_count, rows),
        ("deltaRecordCount", snapshot.delta_record_count, change),
        ("changelogRecordCount", snapshot.changelog_record_count or 0, changelog_rows),
    ):
        run.collector.check("I18")
        if counted is not None and recorded != counted:
            run.collector.find(
                "I18", location, f"{location.holder} records {what} {recorded}, its files contain {counted}"
            )


def _check_times(run: CheckRun, before: Snapshot, snapshot: Snapshot, location: Location) -> None:
    for what, earlier, later in (
        ("timeMillis", before.time_millis, snapshot.time_millis),
        ("watermark", before.watermark, snapshot.watermark),
    ):
        run.collector.check("I31")
        if earlier is not None and later is not None and later < earlier:
            run.collector.find(
                "I31",
                location,
                f"{location.holder} has {what} {later}, less than the {earlier} of snapshot {before.id}",
                level=Level.WARNING,
            )
