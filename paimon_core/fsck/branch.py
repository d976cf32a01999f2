"""One branch of a table, from its schemas to the files of its last snapshot."""

from __future__ import annotations

from paimon_core.fsck.buckets import Buckets
from paimon_core.fsck.changelog_replay import Replay
from paimon_core.fsck.check_context import Survey
from paimon_core.fsck.compactions import check_compaction, check_readable
from paimon_core.fsck.data_file_rows import check_rows
from paimon_core.fsck.data_files import Visit, check_files
from paimon_core.fsck.finding_collector import Spot
from paimon_core.fsck.hints import check_hints, check_strangers
from paimon_core.fsck.indexes import check_indexes
from paimon_core.fsck.live_files import LiveFiles
from paimon_core.fsck.references import check_changelogs, check_consumers, check_tags
from paimon_core.fsck.schemas import check_schema_of, check_schemas
from paimon_core.fsck.snapshot_chain import Step, steps_of
from paimon_core.metadata.manifest import FileKind
from paimon_core.metadata.snapshot import Snapshot


def check_branch(survey: Survey) -> None:
    """Check the branch of the survey's context."""
    context = survey.context
    spot = Spot(context.branch, holder=f"branch {context.branch}")
    check_schemas(survey, spot)
    check_hints(survey, spot)
    check_strangers(survey, spot)
    buckets, replay = Buckets(survey), Replay(survey)
    earliest: int | None = None
    last: Step | None = None
    for last in steps_of(survey):
        earliest = last.snapshot.id if earliest is None else earliest
        _check_step(survey, last, buckets)
        if survey.deep:
            with survey.notes.guarding("I11", last.spot):
                check_compaction(survey, last)
            with survey.notes.guarding("I20", last.spot):
                replay.add(last)
    if survey.deep and last is not None:
        with survey.notes.guarding("I10", last.spot):
            replay.finish()
            check_readable(survey, last.files, last.spot)

    def held(files: LiveFiles, snapshot: Snapshot, spot: Spot) -> None:
        check_files(survey, files.entries.values(), spot, _visit(survey, spot))
        check_indexes(survey, files, snapshot, spot)

    check_tags(survey, held)
    check_changelogs(survey, lambda found, at: check_files(survey, found, at, _visit(survey, at, changelog=True)))
    check_consumers(survey, earliest)


def _visit(survey: Survey, spot: Spot, *, changelog: bool = False) -> Visit | None:
    """What a deep check does with each file that it meets."""
    if not survey.deep:
        return None
    return lambda entry, path: check_rows(survey, entry, path, spot, changelog=changelog)


def _check_step(survey: Survey, step: Step, buckets: Buckets) -> None:
    spot = step.spot
    check_schema_of(survey, step.snapshot, spot)
    here = step.files.entries
    added = list(here.values()) if step.before is None else [e for e in step.delta if e.identity in here]
    added = [e for e in added if e.kind is FileKind.ADD]
    check_files(survey, added, spot, _visit(survey, spot))
    check_files(survey, step.changelog or (), spot, _visit(survey, spot, changelog=True))
    buckets.check(step.files, added, spot)
    # The same vectors fit the same files; only a file that went could leave one behind.
    before, now = step.before, step.snapshot
    same = before is not None and (before.index_manifest, before.statistics) == (now.index_manifest, now.statistics)
    if not same or any(e.kind is FileKind.DELETE for e in step.delta):
        check_indexes(survey, step.files, now, spot)
