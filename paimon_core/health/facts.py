"""Facts: everything that the rules of health read, from the metadata of one version of a table and its history."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from paimon_core.health.cost import Cost, needed_cost, point_query_cost, scan_cost
from paimon_core.health.held import Held, held_by
from paimon_core.health.known_lists import KnownLists, reading_lists_once
from paimon_core.health.layout import Layout, layout_of
from paimon_core.health.thresholds import Thresholds
from paimon_core.health.waiting import Waiting, waiting_of
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import ManifestFile
from paimon_core.metadata.manifests.index_manifest import DELETION_VECTORS
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.consumer_store import Consumer
from paimon_core.plan.recorded_filters import RecordedFilters, recorded_filters
from paimon_core.storage.paths import MAIN

MILLIS_A_DAY = 86_400_000


@dataclass(frozen=True)
class Facts:
    """What is known about one version of a table."""

    context: TableContext
    snapshot: Snapshot | None
    thresholds: Thresholds
    layout: Layout
    waiting: Waiting
    manifests: list[ManifestFile]
    held: Held
    consumers: tuple[Consumer, ...]
    deleted_rows: int
    """Rows of kind -U and -D in files, and rows that deletion vectors mark, as far as their numbers are recorded."""
    now_millis: int
    filters: RecordedFilters | None = None
    """The filters that scans of this machine recorded; None if nothing was recorded."""

    @property
    def scan(self) -> Cost:
        """The cost of a full scan."""
        return scan_cost(self.layout, self.manifests)

    @property
    def needed(self) -> Cost:
        """The cost of a full scan after a full compaction, with at most ``manifest.merge-min-count`` manifests."""
        return needed_cost(self.layout, min(len(self.manifests), self.context.options["manifest.merge-min-count"]))

    @property
    def entries(self) -> int:
        """The number of entries in all manifests, including the entries of deleted files."""
        return sum(m.num_added_files + m.num_deleted_files for m in self.manifests)

    def days_since(self, millis: int) -> float:
        """Return the days since a time in epoch milliseconds."""
        return max(0.0, (self.now_millis - millis) / MILLIS_A_DAY)

    @property
    def table(self) -> str:
        """The name of the table without its branch."""
        return self.context.name.partition("$")[0]

    def command(self, text: str, *arguments: str) -> str:
        """Return a command of ``paimon-core`` for this table and branch, as typed in a shell.

        ``text`` is the name of the command. Each argument becomes one word, in quotes if a shell needs them.
        """
        return self.command_on(self.context.branch, text, *arguments)

    def command_on(self, branch: str, text: str, *arguments: str) -> str:
        """Return a command for a branch of this table; see ``command``."""
        on_branch = () if branch == MAIN else ("--branch", branch)
        return " ".join(("paimon-core", text, *map(_quoted, (self.table, *arguments, *on_branch))))

    @property
    def read_amplification(self) -> float:
        """The cost of a full scan, divided by its cost after a full compaction; 1 or more."""
        return max(1.0, self.scan.weight / self.needed.weight)

    @property
    def score(self) -> int:
        """200 / (read amplification + space amplification), so it follows from costs, not from numbers of findings.

        Of the bytes that are not live, only those beyond ``Thresholds.held_bytes`` count, so that the history of a
        small table does not lower its score.
        """
        extra = max(0, self.held.total - self.held.live - self.thresholds.held_bytes)
        return round(200 / (self.read_amplification + 1 + extra / max(1, self.held.live)))

    def measures(self) -> Mapping[str, float]:
        """Return the measures that docs/health.md lists, by name."""
        layout, held, point = self.layout, self.held, point_query_cost(self.layout)
        snapshot = self.snapshot
        return {
            "live_bytes": layout.total_bytes,
            "files": layout.total_files,
            "rows_in_files": int(layout.rows.sum()),
            "partitions": len(layout.partitions),
            "buckets": len(layout),
            "largest_bucket_bytes": int(layout.bytes.max(initial=0)),
            "most_sorted_runs": int(layout.runs.max(initial=0)) if self.context.is_keyed else 0,
            "level_0_files": int(layout.level_0_files.sum()) if self.context.is_keyed else 0,
            "avoidable_files": layout.avoidable_files,
            "deleted_rows": self.deleted_rows,
            "waiting_rows": self.waiting.rows,
            "waiting_bytes": self.waiting.bytes,
            "manifests": len(self.manifests),
            "manifest_bytes": sum(m.file_size for m in self.manifests),
            "manifest_entries": self.entries,
            "snapshots": held.snapshot_count,
            "snapshot_bytes": held.snapshots,
            "changelogs": held.changelog_count,
            "changelog_bytes": held.changelogs,
            "tags": len(held.tags),
            "tag_bytes": sum(t.bytes for t in held.tags),
            "branches": len(held.branches),
            "branch_bytes": sum(b.bytes for b in held.branches),
            "consumers": len(self.consumers),
            "scan_bytes": self.scan.bytes,
            "scan_requests": self.scan.requests,
            "point_query_bytes": point.bytes,
            "point_query_requests": point.requests,
            "read_amplification": round(self.read_amplification, 3),
            "space_amplification": round(held.total / max(1, held.live), 3) if held.total else 1.0,
            "write_amplification": round((held.written + held.rewritten) / held.written, 3) if held.written else 1.0,
            "written_bytes_a_day": round(held.written / max(1.0, self.days_since(held.first_snapshot_millis)))
            if held.first_snapshot_millis is not None
            else 0,
            "seconds_since_commit": 0.0
            if snapshot is None
            else round(max(0, self.now_millis - snapshot.time_millis) / 1000, 3),
        }

    def fix_command(self, finding: str, *thresholds: str) -> str:
        """Return the command that runs the mend of a finding, with its ``thresholds`` that do not have their
        default.
        """
        values = ((name, getattr(self.thresholds, name)) for name in thresholds)
        changed = [f"{name}={value}" for name, value in values if value != getattr(Thresholds(), name)]
        return self.command("doctor", "--fix", finding, *(word for one in changed for word in ("--threshold", one)))


def _quoted(word: str) -> str:
    """Return a word as typed in a shell: if possible in double quotes, because schema changes have single quotes."""
    if re.fullmatch(r"[\w.,:=/@%+-]+", word):
        return word
    return shlex.quote(word) if re.search(r'["$`\\!]', word) else f'"{word}"'


def facts_of(context: TableContext, snapshot: Snapshot | None, thresholds: Thresholds) -> Facts:
    """Read the facts of one version; each manifest list is read once.

    Raises SnapshotNotFound, and CorruptTable for metadata that cannot be read.
    """
    lists = KnownLists()
    reading = reading_lists_once(context, lists)
    layout = layout_of(reading, snapshot)
    manifests: list[ManifestFile] = []
    if snapshot is not None:
        with reading.manifests.reading(snapshot):
            manifests = reading.manifests.manifests_of(snapshot)
    return Facts(
        context=context,
        snapshot=snapshot,
        thresholds=thresholds,
        layout=layout,
        waiting=waiting_of(reading, snapshot),
        manifests=manifests,
        held=held_by(reading, snapshot, lists),
        consumers=tuple(context.consumers.list()),
        deleted_rows=layout.deleted_rows + _in_vectors(reading, snapshot),
        now_millis=clock.now_millis(),
        filters=recorded_filters(context.paths.root),
    )


def _in_vectors(context: TableContext, snapshot: Snapshot | None) -> int:
    """Return the number of rows that deletion vectors mark, as far as the index manifest records their numbers."""
    if snapshot is None or snapshot.index_manifest is None:
        return 0
    with context.manifests.reading(snapshot):
        indexes = context.manifests.read_indexes(snapshot.index_manifest)
    found = (
        v.cardinality for one in indexes if one.file.index_type == DELETION_VECTORS for v in one.file.vectors or ()
    )
    return sum(count for count in found if count is not None)
