"""The sequence numbers that a writer gives to the rows of each bucket (format 7.4)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

from paimon_core.errors import CommitConflict, InvalidRequest, PaimonError
from paimon_core.metadata.commit_message import Position, position_of
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import unless_dropped
from paimon_core.storage.paths import POSTPONE_BUCKET

LANE_ROWS = 1 << 32
"""The number of sequence numbers reserved for each lane, which is one of several writers for the same commit."""


class SequenceNumbers:
    """Finds the first free sequence number of each bucket; reads the largest existing numbers of a partition once."""

    def __init__(self, context: TableContext, lane: int, *, ignore_existing: bool) -> None:
        """``lane`` and ``ignore_existing`` have the same meaning as in ``TableWriter``."""
        self.context = context
        """The table, with the schema of the rows that are written next."""
        self._ignore_existing = ignore_existing
        self._lane_start = lane * LANE_ROWS
        self._existing: dict[tuple[bytes, int], int] = {}
        self._positions: dict[bytes, Position] = {}
        self._bucket_counts: dict[bytes, int] = {}
        self._next: dict[tuple[bytes, int], int] = {}

    def first(self, partition: bytes, bucket: int) -> int:
        """Return the bucket's first free sequence number in the writer's lane; 0 for lane 0 without fixed buckets.

        Raises InvalidRequest when the partition was written with another number of buckets than option ``bucket``
        states, CommitConflict (with fact ``buckets``) when a concurrent commit gave the partition another number of
        buckets than this write has chosen.
        """
        key, context = (partition, bucket), self.context
        if not self._follow_existing:
            return max(self._lane_start, self._next.get(key, 0)) if self._ignore_existing else self._lane_start
        self.read({partition})
        if 0 < self._bucket_counts.get(partition, 0) != context.options["bucket"]:
            raise self._other_count(partition)
        return max(self._existing.get(key, -1) + 1 + self._lane_start, self._next.get(key, 0))

    def _other_count(self, partition: bytes) -> PaimonError:
        """Return the error for a partition with another number of buckets than the rows are written for."""
        context, count = self.context, self._bucket_counts[partition]
        name = context.partition_path(partition)
        if context.schema.options.get("bucket") == str(POSTPONE_BUCKET):  # this write has chosen the number of buckets
            return CommitConflict(
                f"table {context.name}: partition {name!r} got {count} buckets by a concurrent commit, but the rows "
                f"are written for {context.options['bucket']}: write them again",
                table=context.name,
                buckets=count,
            )
        return InvalidRequest(
            f"table {context.name} has bucket = {context.options['bucket']}, but its partition {name!r} was written "
            f"with {count} buckets: rescale or overwrite that partition first",
            table=context.name,
        )

    def read(self, partitions: Collection[bytes]) -> None:
        """Read the largest sequence number of each bucket, for partitions that were not read yet."""
        unknown = frozenset(partitions) - self._positions.keys()
        if not unknown or not self._follow_existing:
            return
        for entry in self._latest_entries(unknown):
            self._bucket_counts[entry.partition] = entry.total_buckets
            key = (entry.partition, entry.bucket)
            self._existing[key] = max(self._existing.get(key, -1), entry.file.max_sequence_number)

    def _latest_entries(self, unknown: frozenset[bytes]) -> list[ManifestEntry]:
        read = partial(self._entries, unknown)
        return unless_dropped(self.context, lambda: read_latest(self.context.snapshots, read))

    def position(self, partition: bytes) -> Position | None:
        """Return the snapshot from which the numbers of a partition were read; None when the numbers were not read."""
        return self._positions.get(partition)

    def record(self, partition: bytes, bucket: int, files: Iterable[DataFile]) -> None:
        """Record that rows of later flushes must have higher numbers than ``files``, which may not be committed yet."""
        self._next[partition, bucket] = max([f.max_sequence_number + 1 for f in files], default=0)

    def clear(self) -> None:
        """Forget the numbers that were read; for the next rows, the numbers are read again from the latest snapshot."""
        self._existing.clear()
        self._bucket_counts.clear()
        self._positions.clear()

    @property
    def _follow_existing(self) -> bool:
        """Whether the sequence numbers of new rows must exceed the numbers of existing rows."""
        return self.context.has_buckets and not self._ignore_existing and not self.context.is_postponed

    def _entries(self, partitions: Collection[bytes], latest: Snapshot | None) -> list[ManifestEntry]:
        """Return the live files of some partitions, and record the snapshot from which they were read."""
        entries = [] if latest is None else self.context.manifests.entries_of(latest, partitions)
        self._positions.update(dict.fromkeys(partitions, position_of(latest)))
        return entries
