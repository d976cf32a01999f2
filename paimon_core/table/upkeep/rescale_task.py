"""Rescale task: the buckets of one partition to rewrite, as a value that can be sent to another process.

Memory holds one bucket reader and ``write-buffer-size`` bytes; all other rows of a partition are stored on local disk
until they are written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_core.lsm.key_order import key_order
from paimon_core.lsm.levels import num_levels
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.lsm.sections import intervals
from paimon_core.metadata.abort import aborted_on_error
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, bytes_from_plain, bytes_to_plain, from_plain, to_plain
from paimon_core.metadata.manifests.index_manifest import index_from_plain, index_to_plain
from paimon_core.metadata.member_types import checked
from paimon_core.metadata.versioned_json import pack, unpacked
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.section_merge import SectionMerge
from paimon_core.schema import VALUE_KIND
from paimon_core.table_indexes.bucket_vectors import Indexes, vectors_in
from paimon_core.write.table_writer import TableWriter

TASK_VERSION = 1


@dataclass(frozen=True, slots=True)
class OldBucket:
    """The live files of one bucket before the rescale."""

    bucket: int
    files: tuple[DataFile, ...]
    indexes: Indexes


@dataclass(frozen=True, slots=True)
class RescaleTask:
    """One partition and the number of buckets that it gets, planned on the driver and run in any process."""

    partition: bytes
    total_buckets: int
    buckets: tuple[OldBucket, ...]

    @property
    def input_bytes(self) -> int:
        """The total size of the input files in bytes."""
        return sum(file.file_size for bucket in self.buckets for file in bucket.files)

    def to_bytes(self) -> bytes:
        """Return the task as versioned JSON."""
        buckets = [[b.bucket, [*map(to_plain, b.files)], [*map(index_to_plain, b.indexes)]] for b in self.buckets]
        place = {"partition": bytes_to_plain(self.partition), "total_buckets": self.total_buckets}
        return pack(TASK_VERSION, {**place, "buckets": buckets})

    @staticmethod
    def from_bytes(data: bytes) -> RescaleTask:
        """Return the task that ``to_bytes`` encoded.

        Raises InvalidRequest for other bytes, UnsupportedFeature for another version.
        """
        with unpacked(data, "rescale task", TASK_VERSION) as value:
            buckets = tuple(
                checked(OldBucket(bucket, tuple(map(from_plain, files)), tuple(map(index_from_plain, indexes))))
                for bucket, files, indexes in value["buckets"]
            )
            return checked(RescaleTask(bytes_from_plain(value["partition"]), value["total_buckets"], buckets))


RescaleWork = Callable[[TableContext, Sequence[RescaleTask]], list[CommitMessage]]
"""Runs tasks, in this process or in other processes, and returns their commit messages; it raises if one task fails."""


def run_rescales(context: TableContext, tasks: Sequence[RescaleTask]) -> list[CommitMessage]:
    """Run the tasks in this process, one after the other; when one fails, no new file remains."""
    messages: list[CommitMessage] = []
    with aborted_on_error(messages, context):
        for task in tasks:
            messages += run_rescale(context, task)
    return messages


def run_rescale(context: TableContext, task: RescaleTask) -> list[CommitMessage]:
    """Write the rows of a partition to its new buckets; when this fails, no new file remains."""
    # The new files of a bucket have disjoint keys only if a single flush wrote them, so rows that exceed the buffer are
    # always spilled to disk, even if the options exclude this.
    spills = {"write-buffer-spillable": True, "write-buffer-spill.max-disk-size": sys.maxsize}
    with TableWriter(context.with_values({**spills, "bucket": task.total_buckets}), ignore_existing=True) as writer:
        for bucket in task.buckets:
            reader = BucketReader(context, task.partition, bucket.bucket, vectors=vectors_in(bucket.indexes))
            for rows in _rows(reader, bucket.files):
                writer.write_conformed(rows)
        return [_settled(context, message) for message in writer.flush()]


def _rows(reader: BucketReader, files: Sequence[DataFile]) -> Iterator[pa.Table]:
    """Yield the rows of a bucket: in the order of writing, or with a primary key one merged row per key."""
    context = reader.context
    schema = context.schema
    if not context.is_keyed:
        for file in sorted(files, key=lambda f: (f.min_sequence_number, f.file_name)):
            yield from map(pa.Table.from_batches, ([batch] for batch in reader.file(file, schema.fields)))
        return
    keys = [f.name for f in schema.file_key_fields]
    for section in intervals(files, key_order([f.type for f in schema.key_fields])):
        columns = [*schema.names, VALUE_KIND]
        order = MergeOrder.of(context.options)
        yield from reader.section(
            SectionMerge(section.runs, schema.file_fields, keys, order, drop_deletes=True, columns=columns)
        )


def _settled(context: TableContext, message: CommitMessage) -> CommitMessage:
    """Return the message with the new files at the last level: the files of one flush are one sorted run."""
    if not context.is_keyed:
        return message
    last = num_levels(context.options) - 1
    return replace(message, new_files=tuple(f.upgraded(last) for f in message.new_files))
