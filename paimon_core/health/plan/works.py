"""Works: all maintenance that would make a version of a table cheaper to read or to store."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from paimon_core.compact.task import CompactionTask
from paimon_core.errors import InvalidRequest
from paimon_core.health.layout import layout_of
from paimon_core.health.plan.bucket_state import BucketState
from paimon_core.health.plan.candidates import (
    ACTIONS,
    CLUSTER,
    COMPACT,
    COMPACT_MANIFESTS,
    EXPIRE,
    RESCALE,
    Candidate,
)
from paimon_core.health.plan.compactions import compaction_works
from paimon_core.health.plan.measured import Measured
from paimon_core.health.plan.other_works import expiry_works, manifest_works, rescale_works, waiting_works
from paimon_core.health.waiting import waiting_of
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Work:
    """A candidate with what is needed to do it."""

    candidate: Candidate
    task: CompactionTask | None = None
    """The files to compact, for work on one bucket."""
    before: BucketState | None = None
    runs_after: int = 0
    written_factor: float = 1.0
    """The correction from earlier runs that ``Candidate.bytes_written`` contains."""
    partition: bytes | None = None
    """The partition to rescale, or whose rows wait in the postpone bucket."""


def check_actions(actions: Collection[str]) -> None:
    """Raise InvalidRequest for a name that is no action."""
    if unknown := sorted(set(actions) - set(ACTIONS)):
        raise InvalidRequest(f"there is no maintenance {unknown[0]!r:.60}; there are {', '.join(ACTIONS)}")


def works_of(
    context: TableContext, snapshot: Snapshot | None, measured: Measured, actions: Collection[str]
) -> list[Work]:
    """Return the works of ``actions`` that would save something; no data file is read.

    A partition that is rescaled is not compacted as well. Raises SnapshotNotFound when the snapshot expires,
    CorruptTable for metadata that cannot be read, UnsupportedFeature for a table that this library cannot write, and
    InvalidRequest for an unknown action.
    """
    check_actions(actions)
    context.options.check_writable(context.name)
    if snapshot is None:
        return []
    layout = layout_of(context, snapshot)
    works: list[Work] = []
    if RESCALE in actions:
        works += [Work(one, partition=where) for one, where in rescale_works(context, layout, measured)]
    rescaled = {work.partition for work in works}
    if COMPACT in actions:
        works += [Work(one, partition=where) for one, where in waiting_works(context, snapshot, measured)]
    if {COMPACT, CLUSTER} & set(actions):
        works += [
            Work(found.candidate, found.task, found.before, found.runs_after, found.written_factor)
            for found in compaction_works(context, snapshot, layout, measured)
            if found.candidate.action in actions and found.task.partition not in rescaled
        ]
    if COMPACT_MANIFESTS in actions:
        with context.manifests.reading(snapshot):
            manifests = context.manifests.manifests_of(snapshot)
        live_files = layout.total_files + waiting_of(context, snapshot).files
        works += map(Work, manifest_works(context, manifests, live_files, measured))
    if EXPIRE in actions:
        works += map(Work, expiry_works(context, snapshot, measured))
    return works
