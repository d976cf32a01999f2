"""KeyAssignment: assigns the keys of a Spark job to dynamic buckets, before its rows are sent to their buckets.

Tasks compute the hashes of the keys. The driver assigns buckets to all hashes at once and writes the hash index files.
The tasks that write rows look up the bucket of each key in these files, so a repeated task finds the same buckets.
Spark computes the rows for both steps, so the caller caches the rows. A key that appears only in the second step is an
error. The driver uses 4 bytes for each key of each task, and 8 bytes for each key of the written partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_core.arrow import gather
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import Assignment, CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.index_manifest import IndexFile
from paimon_core.spark.columns import quoted
from paimon_core.spark.reference import TableReference
from paimon_core.spark.tasks import map_batches
from paimon_core.spark.writes.batch_settings import large_batches
from paimon_core.table.table import Table
from paimon_core.write.bucket_assigner import BucketAssigner
from paimon_core.write.bucketing import hashes_by_partition, valid_keys

_COLUMNS = "partition binary, hashes binary"
_NAMES = ["partition", "hashes"]


@dataclass(frozen=True)
class KeyAssignment:
    """The dynamic buckets of all keys of one job; it can be pickled for tasks."""

    indexes: Mapping[bytes, Mapping[int, IndexFile]] = field(default_factory=dict)
    """The hash index files of each partition, by bucket."""
    assignments: Mapping[bytes, Assignment] = field(default_factory=dict)
    messages: tuple[CommitMessage, ...] = ()
    """The messages that add the new hash index files; they are committed together with the messages of the tasks."""

    def assigner(self, context: TableContext) -> BucketAssigner:
        """Return an assigner with the buckets of all keys, for one task."""
        return BucketAssigner(context, known=self.indexes, assignments=self.assignments)

    def discard(self, context: TableContext) -> None:
        """Delete the new hash index files, when they will not be committed."""
        abort(self.messages, context)


def assign_keys(df: DataFrame, table: Table, *, overwrites: bool) -> KeyAssignment:
    """Assign buckets to all keys of ``df``; runs a Spark job that reads the columns of the primary key.

    Rows with a null in a key are left out, because the writer refuses such rows. Raises the errors of
    ``BucketAssigner.assign``.
    """
    context, reference = table.context, TableReference.of(table.context)
    names = [name for name in context.schema.primary_keys if name in df.columns]

    def hashes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        there = reference.open()
        found: dict[bytes, list[np.ndarray]] = {}
        for rows in gather(batches):
            for partition, values in hashes_by_partition(valid_keys(rows, there)[0], there):
                found.setdefault(partition, []).append(np.unique(values))
        for partition, parts in found.items():
            data = np.unique(np.concatenate(parts)).tobytes()
            yield pa.record_batch([pa.array([partition], pa.binary()), pa.array([data], pa.binary())], _NAMES)

    collected: dict[bytes, list[np.ndarray]] = {}
    keys = df.select(*map(quoted, names))
    with large_batches(df, keys):
        rows = map_batches(keys, hashes, _COLUMNS).collect()
    for row in rows:
        collected.setdefault(bytes(row[0]), []).append(np.frombuffer(row[1], np.int32))
    found = {partition: np.unique(np.concatenate(parts)) for partition, parts in collected.items()}
    return assignment_of(context, found, overwrites=overwrites)


def assignment_of(context: TableContext, hashes: Mapping[bytes, np.ndarray], *, overwrites: bool) -> KeyAssignment:
    """Assign buckets to all keys of a job; ``hashes``: the distinct sorted key hashes of each partition, int32[n]."""
    assigner = BucketAssigner(context, ignore_existing=overwrites)
    for partition in sorted(hashes):
        assigner.assign(np.zeros(len(hashes[partition]), np.int64), [partition], hashes[partition])
    assignments = {partition: assigner.assignment(partition) for partition in hashes}
    updates = assigner.write_indexes()
    messages = tuple(
        CommitMessage(
            partition,
            bucket,
            context.options["bucket"],
            new_indexes=(update.new,),
            deleted_indexes=(update.old,) if update.old else (),
            assignment=assignments[partition],
        )
        for (partition, bucket), update in updates.items()
    )
    return KeyAssignment({p: assigner.index_files(p) for p in hashes}, assignments, messages)
