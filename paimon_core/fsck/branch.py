"""Branch check: checks one branch of a table, from its schemas to the files of its last snapshot."""

from __future__ import annotations

from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.files.buckets import Buckets
from paimon_core.fsck.files.data_file_rows import check_rows
from paimon_core.fsck.files.data_files import Visit, check_files
from paimon_core.fsck.files.hash_indexes import check_hash_indexes
from paimon_core.fsck.files.row_ids import check_row_ids
from paimon_core.fsck.files.unique_keys import check_unique_keys
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.hints import check_hints, check_unknown_files
from paimon_core.fsck.history.changelog_replay import Replay
from paimon_core.fsck.history.compactions import check_compaction, check_readable
from paimon_core.fsck.history.references import check_changelogs, check_consumers, check_tags
from paimon_core.fsck.history.snapshot_chain import Step, steps_of
from paimon_core.fsck.indexes import check_indexes
from paimon_core.fsck.live_files import CheckedFiles
from paimon_core.fsck.schemas import check_schema_of, check_schemas
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.progress_meter import meter


def check_branch(run: CheckRun) -> None:
    """Check the branch of ``run.context``."""
    context = run.context
    location = Location(context.branch, holder=f"branch {context.branch}")
    check_schemas(run, location)
    check_hints(run, location)
    check_unknown_files(run, location)
    buckets, replay = Buckets(run), Replay(run)
    earliest: int | None = None
    last: Step | None = None
    progress = meter("check", "snapshots")
    if progress.report is not None:
        progress.total = len(context.snapshots.ids())
    for last in progress.counting(steps_of(run)):
        earliest = last.snapshot.id if earliest is None else earliest
        _check_step(run, last, buckets)
        if run.deep:
            with run.collector.guarding("I11", last.location):
                check_compaction(run, last)
            with run.collector.guarding("I20", last.location):
                replay.add(last)
    run.read_files.complete()
    if last is not None:
        with run.collector.guarding("I15", last.location):
            check_hash_indexes(run, last.files, last.snapshot, last.location)
        with run.collector.guarding("I36", last.location):
            check_row_ids(run, last.files, last.snapshot, last.location)
    if run.deep and last is not None:
        with run.collector.guarding("I10", last.location):
            replay.finish()
            check_readable(run, last.files, last.snapshot, last.location)
            check_unique_keys(run, last.files, last.snapshot, last.location)

    def check_tagged(files: CheckedFiles, snapshot: Snapshot, location: Location) -> None:
        check_files(run, files.live, location, _visit(run, location))
        check_indexes(run, files, snapshot, location)

    check_tags(run, check_tagged)
    check_changelogs(run, lambda found, at: check_files(run, found, at, _visit(run, at, changelog=True)))
    check_consumers(run, earliest)


def _visit(run: CheckRun, location: Location, *, changelog: bool = False) -> Visit | None:
    """Return the function that checks the rows of each file in a deep check, None in a quick check."""
    if not run.deep:
        return None

    def visit(entry: ManifestEntry, path: str) -> None:
        check_rows(run, entry, path, location, changelog=changelog)
        run.read_files.advance(1)

    return visit


def _check_step(run: CheckRun, step: Step, buckets: Buckets) -> None:
    location = step.location
    check_schema_of(run, step.snapshot, location)
    live = step.files.live
    added = list(live)
    if step.before is not None:
        added = [part.filter(part.added & (live.find(part.identity) >= 0)) for part in step.delta]
    check_files(run, added, location, _visit(run, location))
    check_files(run, step.changelog or (), location, _visit(run, location, changelog=True))
    buckets.check(live, added, location)
    # Deletion vectors that were checked before are still correct, unless the snapshot deleted the data file of a
    # vector.
    before, now = step.before, step.snapshot
    same = before is not None and (before.index_manifest, before.statistics) == (now.index_manifest, now.statistics)
    if not same or not all(part.added.all() for part in step.delta):
        check_indexes(run, step.files, now, location)
