"""BucketAssigner: assigns the keys of a writer to dynamic buckets, and writes the hash index files (format 11.1).

The assigner reads the hash indexes of a partition when the first rows of the partition arrive. The commit messages name
the index files that the assigner read. The commit conflicts if a concurrent commit has changed these indexes. So no key
is in two buckets. Messages of a later flush build on the messages of earlier flushes: all messages must be committed in
the order of the flushes, together or one by one.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paimon_core.codec.binary_row.bucket_hash import Hashes, hash_images
from paimon_core.errors import CorruptTable, InvalidRequest
from paimon_core.metadata.commit_message import Assignment
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.manifests.index_manifest import HASH, IndexFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table_indexes.hash_file import read_hashes, write_hashes
from paimon_core.table_indexes.partition_buckets import BucketLimits, PartitionBuckets
from paimon_core.table_indexes.vector_file import delete_index_files

_ARITY_BYTES = 4
"""The number of bytes in a serialized BinaryRow that precede the row."""


@dataclass(frozen=True, slots=True)
class IndexUpdate:
    """The new hash index file of one bucket, and the file that it replaces."""

    new: IndexFile
    old: IndexFile | None


@dataclass(eq=False)
class _Partition:
    buckets: PartitionBuckets
    files: dict[int, IndexFile]
    """The index file of each bucket, including index files that earlier flushes wrote."""
    changed: set[int] = field(default_factory=set)
    """The buckets that have gained keys since the last flush."""

    @property
    def base(self) -> tuple[str, ...]:
        return tuple(sorted(f.file_name for f in self.files.values()))


class BucketAssigner:
    """Assigns keys of one table to dynamic buckets; uses 8 bytes for each key of the partitions of the rows."""

    def __init__(
        self,
        context: TableContext,
        *,
        ignore_existing: bool = False,
        known: Mapping[bytes, Mapping[int, IndexFile]] | None = None,
        assignments: Mapping[bytes, Assignment] | None = None,
    ) -> None:
        """Create an assigner; with ``ignore_existing``, for an overwrite, all keys are new.

        ``known``: the hash indexes of each partition, if another assigner has already assigned all keys of the data; a
        key that is not in these indexes is an error. In this case, ``assignments`` has the assignment of each partition
        for the messages.
        """
        self._context = context
        self._limits = BucketLimits.of(context.options)
        self._ignore_existing = ignore_existing
        self._known = known
        self._assignments = assignments or {}
        self._name = uuid.uuid4().hex
        self._partitions: dict[bytes, _Partition] = {}

    def assign(
        self, codes: npt.NDArray[np.int64], partitions: Sequence[bytes], hashes: Hashes
    ) -> npt.NDArray[np.int32]:
        """Return the bucket of each row, int32[n]; row i has the partition ``partitions[codes[i]]``.

        Raises CorruptTable for indexes that do not fit the table, InvalidRequest when too many buckets are needed.
        """
        self._load(partitions)
        if len(partitions) == 1:
            return self._assign(partitions[0], hashes)
        out = np.empty(len(hashes), np.int32)
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(partitions)))
        for partition, rows in zip(partitions, np.split(order, ends[:-1]), strict=True):
            out[rows] = self._assign(partition, hashes[rows])
        return out

    def _assign(self, partition: bytes, hashes: Hashes) -> npt.NDArray[np.int32]:
        state = self._partitions[partition]
        if self._known is not None:
            buckets = state.buckets.lookup(hashes)
            if (buckets < 0).any():
                raise InvalidRequest(
                    f"table {self._context.name}: the data has a key that was missing when its keys were assigned "
                    "to buckets: the data must be the same each time it is read"
                )
            return buckets
        before = dict(state.buckets.counts)
        buckets = state.buckets.assign(hashes)
        state.changed |= {b for b, keys in state.buckets.counts.items() if before.get(b) != keys}
        return buckets

    def assignment(self, partition: bytes) -> Assignment:
        """Return the assignment of a partition for the messages of the next flush: the index files that were read."""
        return self._assignments.get(partition) or Assignment(self._name, self._partitions[partition].base)

    def index_files(self, partition: bytes) -> Mapping[int, IndexFile]:
        """Return the hash index file of each bucket of a partition, including files that ``write_indexes`` wrote."""
        return dict(self._partitions[partition].files)

    def write_indexes(self) -> dict[tuple[bytes, int], IndexUpdate]:
        """Write the complete hash index of each bucket that gained keys since the last call; return the new files.

        Later assignments build on these files. When the call fails, for example with StorageError, the new files are
        deleted.
        """
        updates: dict[tuple[bytes, int], IndexUpdate] = {}
        try:
            for partition, state in self._partitions.items():
                for bucket, hashes in state.buckets.hashes_of(state.changed):
                    new = write_hashes(self._context, hashes)
                    updates[partition, bucket] = IndexUpdate(new, state.files.get(bucket))
        except BaseException:
            delete_index_files(self._context, [u.new for u in updates.values()])
            raise
        for (partition, bucket), update in updates.items():
            self._partitions[partition].files[bucket] = update.new
        for state in self._partitions.values():
            state.changed.clear()
        return updates

    def reset(self) -> None:
        """Forget all assignments; the next rows are assigned from the indexes of the latest snapshot."""
        self._partitions.clear()

    def _load(self, partitions: Collection[bytes]) -> None:
        """Read the hash indexes of partitions that were not read yet."""
        unknown = frozenset(partitions) - self._partitions.keys()
        if not unknown:
            return
        if self._known is not None:
            self._partitions |= {p: self._state(p, dict(self._known.get(p, {}))) for p in unknown}
            return
        if self._ignore_existing:
            self._partitions |= {p: self._state(p, {}) for p in unknown}
            return

        def read(latest: Snapshot | None) -> dict[bytes, _Partition]:
            found: dict[bytes, dict[int, IndexFile]] = {p: {} for p in unknown}
            if latest is not None:
                self._find(latest, found)
            return {p: self._state(p, files) for p, files in found.items()}

        self._partitions |= read_latest(self._context.snapshots, read)

    def _find(self, latest: Snapshot, found: dict[bytes, dict[int, IndexFile]]) -> None:
        """Find the hash index files of some partitions, one for each bucket that has rows."""
        context = self._context
        for entry in context.manifests.read_indexes(latest.index_manifest):
            if entry.file.index_type != HASH or entry.partition not in found:
                continue
            known = found[entry.partition].setdefault(entry.bucket, entry.file)
            if known is not entry.file:
                raise CorruptTable(
                    f"snapshot {latest.id} of table {context.name}: bucket {entry.bucket} of partition "
                    f"{context.partition_path(entry.partition)!r} has two hash indexes, {known.file_name} and "
                    f"{entry.file.file_name}",
                    file=entry.file.file_name,
                )
        for live in context.manifests.entries_of(latest, list(found)):
            if live.bucket >= 0 and live.bucket not in found[live.partition]:
                raise CorruptTable(
                    f"snapshot {latest.id} of table {context.name}: bucket {live.bucket} of partition "
                    f"{context.partition_path(live.partition)!r} has rows and no hash index",
                    bucket=live.bucket,
                )

    def _state(self, partition: bytes, files: dict[int, IndexFile]) -> _Partition:
        image = np.frombuffer(partition[_ARITY_BYTES:], np.uint8)
        (start,) = hash_images(image, np.array([0, len(image)]))
        known = {bucket: read_hashes(self._context, file) for bucket, file in files.items()}
        try:
            return _Partition(PartitionBuckets.of(self._limits, int(start), known), files)
        except CorruptTable as error:
            place = self._context.partition_path(partition)
            raise CorruptTable(f"table {self._context.name}, partition {place!r}: {error}") from error
