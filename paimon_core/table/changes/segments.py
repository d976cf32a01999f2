"""Segments: the way in which the changes of each part of a range of snapshots are found (format 10.4, 15.5).

The changes of a snapshot are its changelog, its delta, or the difference between the versions before and after it. Two
rules choose between these three ways. A version is *settled* when the changelog contains all of its rows. A changelog
is used only between settled versions: other changelogs may lack rows of level 0 that a read returns. If snapshots have
expired, or a snapshot does not state the rows that it replaced, the changes are the difference of the nearest versions
that can be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, pairwise

from paimon_core.lsm.levels import num_levels
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.options import TableOptions
from paimon_core.plan.plan_scan import hides_level_0
from paimon_core.schema import TableSchema
from paimon_core.table.changes.history import History
from paimon_core.table.changes.versions import Version, known

_DECIDING = ("changelog-producer", "deletion-vectors.enabled", "deletion-vectors.merge-on-read")
"""Options that decide which rows the changelog of a snapshot contains."""


class Way(StrEnum):
    """How the changes of some snapshots are found."""

    CHANGELOG = "changelog"
    DELTA = "delta"
    DIFF = "diff"


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive snapshots whose changes are found in one way."""

    way: Way
    start: int
    """The id of the version before the segment, whose own changes are not in the segment."""
    end: int
    reason: str
    snapshots: tuple[Snapshot, ...] = ()
    """The snapshots whose files are read, in order; () for a difference, which compares ``before`` and ``after``."""
    before: Snapshot | None = None
    after: Snapshot | None = None


@dataclass(frozen=True)
class _Step:
    """The way in which the changes of one snapshot are found, and the reason; ``way`` is None when no row changes."""

    way: Way | None
    reason: str = ""


@dataclass(frozen=True)
class Planner:
    """Chooses the segments of one table."""

    context: TableContext
    way: str
    """The way that the caller requested: auto, changelog or delta."""
    by_commit: bool = False
    """Whether differences combine as few snapshots as possible, because rows name their snapshot (``with_commit``)."""

    def segments(self, history: History) -> tuple[Segment, ...]:
        """Return the segments of a range in order.

        Raises SnapshotNotFound when a difference needs a version that cannot be read.
        """
        start, end = history.start, history.end
        if history.is_broken:
            return (self._difference(history, start.id, end.id, "the end was not built on the start"),)
        if start.id == end.id:
            return ()
        first = history.contiguous_from
        steps = {i: self._step(history, i) for i in range(first + 1, end.id + 1)}
        if self.way == "auto" and self._uses_changelog:
            steps = self._settled_only(history, steps, first)
        if first > start.id:
            reason = f"the snapshots up to {first} have expired"
            steps |= {i: _Step(Way.DIFF, reason) for i in range(start.id + 1, first + 1)}
        return self._joined(history, steps)

    @property
    def _uses_changelog(self) -> bool:
        return self.context.is_keyed and self.context.options["changelog-producer"] != "none"

    # -- one snapshot

    def _step(self, history: History, snapshot_id: int) -> _Step:
        snapshot = history.steps[snapshot_id]
        if snapshot.commit_kind is CommitKind.ANALYZE:
            return _Step(None)
        if snapshot.commit_kind is CommitKind.OVERWRITE:
            return _Step(Way.DIFF, "an overwrite does not say what it replaced")
        if not self.context.is_keyed:
            return self._append_step(history, snapshot)
        if self.way == "auto":
            return self._keyed_step(snapshot)
        if self.way == Way.DELTA:
            return _Step(Way.DELTA if snapshot.commit_kind is CommitKind.APPEND else None, "the rows as written")
        return _Step(Way.CHANGELOG, "the changelog as written")

    def _append_step(self, history: History, snapshot: Snapshot) -> _Step:
        if snapshot.commit_kind is CommitKind.COMPACT:
            return _Step(None)
        if self.context.evolves:
            return _Step(Way.DIFF, "with data evolution, new files may change old rows")
        previous = history.steps.get(snapshot.id - 1) or history.versions.get(snapshot.id - 1)
        vectors = previous.index_manifest if previous is not None else None
        if snapshot.index_manifest != vectors:
            return _Step(Way.DIFF, "deletion vectors changed")
        with self.context.manifests.reading(snapshot):
            listed = self.context.manifests.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
        if any(m.num_deleted_files for m in listed):
            return _Step(Way.DIFF, "files were removed")
        return _Step(Way.DELTA, "rows were only added")

    def _keyed_step(self, snapshot: Snapshot) -> _Step:
        schema, options = self.context.schema, self.context.options
        is_compaction = snapshot.commit_kind is CommitKind.COMPACT
        if is_compaction and not (
            self._uses_changelog
            or hides_level_0(schema, options)
            or self.context.is_postponed
            or options["record-level.expire-time"] is not None
        ):
            return _Step(None)
        if not self._uses_changelog:
            return _Step(Way.DIFF, "without a changelog-producer, written rows do not say what they replaced")
        reason = inexact(schema, options)
        if reason:
            return _Step(Way.DIFF, reason)
        if snapshot.schema_id != schema.id:
            own = self.context.with_schema(self.context.schemas.read(snapshot.schema_id)).options
            if any(own[key] != options[key] for key in _DECIDING):
                return _Step(Way.DIFF, "the options for the changelog or deletion vectors were different")
        return _Step(Way.CHANGELOG, "the changelog is complete")

    # -- settled versions

    def _settled_only(self, history: History, steps: Mapping[int, _Step], first: int) -> dict[int, _Step]:
        """Return the steps; every changelog step that is not between two settled versions becomes a difference."""
        if all(step.way is not Way.CHANGELOG for step in steps.values()):
            return dict(steps)
        settled, silent = self._settled(history, first)
        found = dict(steps)
        for i in silent:
            found[i] = _Step(Way.DIFF, "a compaction of new rows has no changelog")
        points = [i for i in sorted(settled) if settled[i]]
        bounds = [first, *points, history.end.id]
        for low, high in pairwise(bounds):
            inside = range(low + 1, high + 1)
            is_settled = settled[low] and settled[high]
            if is_settled and all(found[i].way in (None, Way.CHANGELOG) for i in inside):
                continue
            for i in inside:
                if found[i].way is not Way.DIFF:
                    found[i] = _Step(Way.DIFF, "the changelog of rows in level 0 is written later")
        return found

    def _settled(self, history: History, first: int) -> tuple[dict[int, bool], list[int]]:
        """Return by id whether a version is settled, and the ids of compactions of new rows that have no changelog.

        A version that cannot be read is not settled, except the first and the last version of the range, which count as
        settled when this cannot be determined.
        """
        context, last = self.context, history.end.id
        options = context.options
        hides, producer = hides_level_0(context.schema, options), options["changelog-producer"]
        if producer == ("lookup" if hides else "input"):
            return dict.fromkeys(range(first, last + 1), True), []
        least = num_levels(options) - 1 if producer == "full-compaction" else 1
        live = next((i for i in range(first + 1, last + 1) if i in history.versions), last + 1)
        settled = {first: True, last: True}
        silent: list[int] = []
        waiting: set[object] = set()

        def apply(entries: Sequence[ManifestEntry]) -> None:
            for entry in entries:
                if entry.bucket >= 0 and entry.file.level < least:
                    (waiting.add if entry.kind is FileKind.ADD else waiting.discard)(entry.identity)

        for i in range(live, last + 1):
            snapshot = history.steps[i]
            with context.manifests.reading(snapshot):
                if i == live:
                    apply(self._entries(snapshot.base_manifest_list, snapshot.base_manifest_list_size))
                    settled[i - 1] = not waiting
                count = len(waiting)
                apply(self._entries(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size))
            settled[i] = not waiting
            is_silent = snapshot.commit_kind is CommitKind.COMPACT and not snapshot.changelog_record_count
            if is_silent and len(waiting) < count and not options["changelog-producer.row-deduplicate"]:
                silent.append(i)
        return settled, silent if producer != "input" else []

    def _entries(self, name: str, size: int | None) -> list[ManifestEntry]:
        manifests = self.context.manifests
        listed = manifests.read_list(name, size)
        return list(chain.from_iterable(manifests.read_manifest(m.file_name, m.file_size) for m in listed))

    # -- joining

    def _joined(self, history: History, steps: Mapping[int, _Step]) -> tuple[Segment, ...]:
        found: list[Segment] = []
        at, end = history.start.id + 1, history.end.id
        while at <= end:
            step, high = steps[at], at
            if step.way is Way.DIFF:
                low = at - 1
                while low > history.start.id and not self._is_known(history, low):
                    low -= 1
                    while found and found[-1].end > low:
                        low = found.pop().start
                high = self._end_of_difference(history, steps, at)
                found.append(self._difference(history, low, high, step.reason))
            elif step.way is not None:
                while high < end and steps[high + 1].way in (step.way, None):
                    high += 1
                snapshots = tuple(history.steps[i] for i in range(at, high + 1) if steps[i].way is not None)
                found.append(Segment(step.way, at - 1, high, step.reason, snapshots))
            at = high + 1
        return tuple(found)

    def _end_of_difference(self, history: History, steps: Mapping[int, _Step], first: int) -> int:
        """Return the id of the readable version at which a difference that begins with the step ``first`` ends."""
        end = history.end.id
        for high in range(first, end):
            following = next((steps[i].way for i in range(high + 1, end + 1) if steps[i].way is not None), None)
            if self._is_known(history, high) and (self.by_commit or following is not Way.DIFF):
                return high
        return end

    def _is_known(self, history: History, snapshot_id: int) -> bool:
        if snapshot_id == history.start.id:
            return history.start.is_known
        return history.end.is_known if snapshot_id == history.end.id else snapshot_id in history.versions

    def _difference(self, history: History, low: int, high: int, reason: str) -> Segment:
        start = history.start if low == history.start.id else Version(low, history.versions.get(low), f"snapshot {low}")
        before = known(self.context, start, f"the changes up to snapshot {high} are computed as a difference: {reason}")
        after = known(self.context, history.end).snapshot if high == history.end.id else history.versions[high]
        return Segment(Way.DIFF, low, high, reason, before=before.snapshot, after=after)


def inexact(schema: TableSchema, options: TableOptions) -> str:
    """Return why the changelog of a table may not give the rows of the next version; "" when it gives these rows."""
    producer, engine = options["changelog-producer"], options["merge-engine"]
    if options["record-level.expire-time"] is not None:
        return "compactions drop expired records without a changelog"
    if producer == "input" and (engine != "deduplicate" or options["sequence.field"] or options["ignore-delete"]):
        return "the rows as written are merged by a rule"
    if options["changelog-producer.row-deduplicate-ignore-fields"]:
        return "the changelog ignores changes of some columns"
    if engine == "partial-update" and any(key.endswith(".sequence-group") for key in schema.options):
        return "the changelog may differ from the merge of sequence groups"
    return ""
