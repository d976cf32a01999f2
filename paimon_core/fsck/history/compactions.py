"""Compaction checks: a compaction keeps the rows of each bucket (I11), and the last snapshot can be read (I10)."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.errors import PaimonError, UnsupportedFeature
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.files.row_fingerprints import state_of, vectors_at
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.history.snapshot_chain import Step
from paimon_core.fsck.live_files import CheckedFiles
from paimon_core.lsm.lookup import holds_states
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.options import COMBINING_ENGINES
from paimon_core.plan.plan_scan import hides_level_0
from paimon_core.storage.paths import POSTPONE_BUCKET

_HIDDEN = "readers of a table with first-row or deletion vectors see rows only after they are compacted"


def check_compaction(run: CheckRun, step: Step) -> None:
    """If the snapshot is a compaction, compare the rows before and after it in each bucket that it changed."""
    context, collector = run.context, run.collector
    if step.snapshot.commit_kind is not CommitKind.COMPACT or step.before is None:
        return
    if reason := _incomparable(run, step):
        collector.skip("I11", reason)
        return
    delta = step.changes()
    spread = {e.partition for e in delta if e.bucket == POSTPONE_BUCKET}
    if spread:
        collector.skip("I11", "compactions that move rows out of the postpone bucket change what readers see")
    for place in {(e.partition, e.bucket) for e in delta if e.partition not in spread}:
        after = {e.identity: e for e in step.files.live.entries(place)}
        changes = [e for e in delta if (e.partition, e.bucket) == place]
        before = {**after, **{e.identity: e for e in changes if e.kind is FileKind.DELETE}}
        for entry in changes:
            if entry.kind is FileKind.ADD:
                before.pop(entry.identity, None)
        try:
            then = _context_of(context, changes)
            if hides_level_0(then.schema, then.options):
                collector.skip("I11", _HIDDEN)
                continue
            fields = then.schema.fields
            sides = ((before, step.before), (after, step.snapshot))
            states = [state_of(then, [(place, e.values())], fields, vectors_at(then, at)) for e, at in sides]
        except UnsupportedFeature as error:
            collector.skip("I11", str(error))
            continue
        except PaimonError as error:
            if not {e.file.file_name for e in (*before.values(), *after.values())} & run.broken:
                collector.find("I10", step.location, f"{step.location.holder}: {error}", path=error.facts.get("path"))
            continue
        collector.check("I10", 2)
        collector.check("I11")
        if states[0] != states[1]:
            where = context.bucket_path(*place)
            combines = context.is_keyed and context.options["merge-engine"] in COMBINING_ENGINES
            collector.find(
                "I11",
                step.location,
                f"{step.location.holder} is a compaction and changes rows of {where}: "
                f"{states[0].rows} rows before, {states[1].rows} after"
                + (", or other values" if states[0].rows == states[1].rows else ""),
                # Engines that combine values may give another result when the steps are different (format 9.4).
                level=Level.INFO if combines else Level.ERROR,
            )


def _context_of(context: TableContext, changes: Sequence[ManifestEntry]) -> TableContext:
    """Return the table with the schema with which the compaction wrote its files.

    With a later schema, rows written before the compaction would be cast once, and rows that the compaction wrote would
    be cast twice, which may give other values. Raises CorruptTable when the schema cannot be read.
    """
    written = max((e.file.schema_id for e in changes if e.kind is FileKind.ADD), default=context.schema.id)
    return context.with_schema(context.schemas.read(written))


def _incomparable(run: CheckRun, step: Step) -> str | None:
    """Return why rows before and after a compaction cannot be compared; None when a comparison is possible."""
    context = run.context
    if hides_level_0(context.schema, context.options):
        return _HIDDEN
    if context.options["record-level.expire-time"] is not None:
        return "compactions drop expired records of this table"
    if context.is_keyed and context.options["merge-engine"] in COMBINING_ENGINES and holds_states(context.options):
        return "lookups of this merge engine change rows without a changelog so far (format 10.6)"
    return None


def check_readable(run: CheckRun, files: CheckedFiles, snapshot: Snapshot, location: Location) -> None:
    """Read and merge all rows of a snapshot, as readers do; report a failure (I10)."""
    try:
        vectors = vectors_at(run.context, snapshot)
        state_of(run.context, files.live.buckets(), (), vectors)
        run.collector.check("I10")
    except UnsupportedFeature as error:
        run.collector.skip("I10", str(error))
    except PaimonError as error:
        if not run.broken:
            run.collector.find(
                "I10", location, f"{location.holder} cannot be read: {error}", path=error.facts.get("path")
            )
