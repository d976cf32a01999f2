"""The snapshots of one branch, oldest first: ids, times, and what each does to the files (I1, I7, I8, I18, I31)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from paimon_core.fsck.check_context import Survey
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Spot
from paimon_core.fsck.live_files import LiveFiles
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifest import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import Snapshot


@dataclass(frozen=True)
class Step:
    """One snapshot: where, what it did, the files after it, and the snapshot before it if that was whole."""

    spot: Spot
    snapshot: Snapshot
    delta: list[ManifestEntry]
    changelog: list[ManifestEntry] | None
    """The entries of its changelog files; None when they cannot be read."""
    files: LiveFiles
    before: Snapshot | None


def spot_of(context: TableContext, snapshot_id: int) -> Spot:
    """The place of a snapshot, in words with its branch where that is not main."""
    where = "" if context.branch == "main" else f" of branch {context.branch}"
    path = context.paths.snapshot(snapshot_id)
    return Spot(context.branch, snapshot_id, path, f"snapshot {snapshot_id}{where}")


def snapshots_of(survey: Survey) -> Iterator[Snapshot]:
    """The snapshots of the branch that can be read, oldest first; gaps and bad files are told (I1)."""
    context, notes = survey.context, survey.notes
    ids = context.snapshots.ids()
    for before, snapshot_id in zip([None, *ids], ids, strict=False):
        spot = spot_of(context, snapshot_id)
        notes.check("I1")
        if before is not None and snapshot_id != before + 1:
            missing = f"{before + 1} to {snapshot_id - 1}" if snapshot_id > before + 2 else str(before + 1)
            notes.find("I1", spot, f"snapshot {missing} is missing between {before} and {snapshot_id}")
        with notes.guarding("I6", spot, spot.path):
            yield context.snapshots.read(snapshot_id)


def steps_of(survey: Survey) -> Iterator[Step]:
    """The branch's snapshots as steps; the files of a step change with the next one, so use them before that."""
    files: LiveFiles | None = None
    before: Snapshot | None = None
    for snapshot in snapshots_of(survey):
        spot = spot_of(survey.context, snapshot.id)
        follows = before is not None and before.id + 1 == snapshot.id
        if before is not None:
            _check_times(survey, before, snapshot, spot)
        step = _step(survey, snapshot, before if follows else None, files if follows else None, spot)
        files = None if step is None else step.files
        before = snapshot
        if step is not None:
            yield step


def _step(
    survey: Survey, snapshot: Snapshot, before: Snapshot | None, files: LiveFiles | None, spot: Spot
) -> Step | None:
    base = survey.manifests_of(snapshot.base_manifest_list, snapshot.base_manifest_list_size, spot)
    delta = survey.manifests_of(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size, spot)
    changelog = None
    if before is not None or not _changelog_has_expired(survey, snapshot, spot):
        changelog = entries_below(survey, snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size, spot)
    changes = [] if delta is None else [survey.entries(m, spot) for m in delta]
    if base is None or delta is None or any(c is None for c in changes):
        return None
    known = files is not None
    if files is None or not files.follow(survey, base, spot):
        files, known = LiveFiles(), False
        if not files.load(survey, base, spot):
            return None
    entries = [e for found in changes for e in found or ()]
    files.apply(survey, entries, spot)
    files.manifests += delta
    _check_counts(survey, snapshot, files.rows, entries, changelog, spot)
    return Step(spot, snapshot, entries, changelog, files, before if known else None)


def _changelog_has_expired(survey: Survey, first: Snapshot, spot: Spot) -> bool:
    """A branch's first snapshot may have come back from a tag, or with one: its changelog went with its first life."""
    name, paths = first.changelog_manifest_list, survey.context.paths
    if name is None or not survey.plain(name, spot) or survey.context.storage.exists(paths.manifest(name)):
        return False
    message = f"{spot.holder} came from a tag: its changelog {name} has expired, and its changes cannot be read"
    survey.notes.find("I6", spot, message, level=Level.WARNING, path=paths.manifest(name))
    return True


def entries_below(survey: Survey, name: str | None, size: int | None, spot: Spot) -> list[ManifestEntry] | None:
    """All entries below a manifest list, None when some cannot be read."""
    manifests = survey.manifests_of(name, size, spot)
    found = None if manifests is None else [survey.entries(m, spot) for m in manifests]
    return None if found is None or any(f is None for f in found) else [e for f in found for e in f or ()]


def _check_counts(
    survey: Survey,
    snapshot: Snapshot,
    rows: int,
    delta: list[ManifestEntry],
    changelog: list[ManifestEntry] | None,
    spot: Spot,
) -> None:
    change = sum(e.file.row_count if e.kind is FileKind.ADD else -e.file.row_count for e in delta)
    told = None if changelog is None else sum(e.file.row_count for e in changelog)
    for what, recorded, counted in (
        ("totalRecordCount", snapshot.total_record_count, rows),
        ("deltaRecordCount", snapshot.delta_record_count, change),
        ("changelogRecordCount", snapshot.changelog_record_count or 0, told),
    ):
        survey.notes.check("I18")
        if counted is not None and recorded != counted:
            survey.notes.find("I18", spot, f"{spot.holder} records {what} {recorded}, its files hold {counted}")


def _check_times(survey: Survey, before: Snapshot, snapshot: Snapshot, spot: Spot) -> None:
    for what, earlier, later in (
        ("timeMillis", before.time_millis, snapshot.time_millis),
        ("watermark", before.watermark, snapshot.watermark),
    ):
        survey.notes.check("I31")
        if earlier is not None and later is not None and later < earlier:
            survey.notes.find(
                "I31",
                spot,
                f"{spot.holder} has {what} {later}, less than the {earlier} of snapshot {before.id}",
                level=Level.WARNING,
            )
