"""Range sort: several Spark tasks share the sort of one large group of files (``paimon_core.compact.range_sort``).

The rows pass through the JVM as Arrow bytes: a row of the shuffle is a chunk of rows of one range. So every type of
column is kept, and the JVM converts no values.

A repeated task gives the same chunks: the driver chooses the bounds of the ranges once, and the files do not change. So
lost shuffle files or a second copy of a task change neither the rows nor their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pyarrow as pa
from pyspark.sql import SparkSession

from paimon_core.compact.parts import CompactionPart
from paimon_core.compact.range_sort import bounds_of, joined, ranged, sampled, shares_of, without_files, written
from paimon_core.compact.task import AppendUnit, CompactionTask
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.spark.packing import MOST_BYTES
from paimon_core.spark.reference import TableReference
from paimon_core.spark.task_errors import errors_of_tasks
from paimon_core.spark.tasks import collect_tasks, cores, run_tasks

_RANGE, _SHARE, _CHUNK, _ROWS, _MESSAGE = "range", "share", "chunk", "rows", "message"
_NUMBER_BYTES = 4


def sort_in_ranges(spark: SparkSession, context: TableContext, part: CompactionPart) -> CommitMessage:
    """Sort the rows of a part with ``ranges`` in Spark tasks, and return the message of the part.

    Files of tasks that ended before another task failed become orphans. Raises CommitConflict when another commit has
    removed input files and an expiry has deleted them, StorageError when a task was lost in each of its attempts or has
    no room on its local disk, and the errors of reads.
    """
    reference, task, ranges = TableReference.of(context), part.task, part.ranges
    assert isinstance(task.unit, AppendUnit)
    rows = sum(file.row_count for file in task.unit.files)
    shares = shares_of(task, min(MOST_BYTES, max(1, part.input_bytes // cores(spark))))
    payloads, sizes = [share.to_bytes() for share in shares], [share.input_bytes for share in shares]
    with errors_of_tasks(context.name):
        samples = collect_tasks(
            spark,
            payloads,
            lambda payload: sampled(reference.open(), CompactionTask.from_bytes(payload), ranges=ranges, rows=rows),
            sizes,
        )
        bounds, empty = bounds_of(samples, ranges), without_files(task)

        def divide(payload: bytes) -> Iterator[pa.RecordBatch]:
            number = int.from_bytes(payload[:_NUMBER_BYTES], "big")
            share = CompactionTask.from_bytes(payload[_NUMBER_BYTES:])
            for chunk, (at, rows) in enumerate(ranged(reference.open(), share, bounds)):
                values = [pa.array([value], pa.int32()) for value in (at, number, chunk)]
                yield pa.record_batch([*values, pa.array([rows], pa.binary())], [_RANGE, _SHARE, _CHUNK, _ROWS])

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            found = (batch for batch in batches if len(batch))
            first = next(found, None)
            if first is None:  # the range is empty
                return
            chunks = (value.as_buffer() for batch in chain([first], found) for value in batch.column(_ROWS))
            message = written(reference.open(), empty, chunks).to_bytes()
            columns = [first.column(_RANGE).slice(0, 1), pa.array([message], pa.binary())]
            yield pa.record_batch(columns, [_RANGE, _MESSAGE])

        numbered = [number.to_bytes(_NUMBER_BYTES, "big") + payload for number, payload in enumerate(payloads)]
        schema = f"{_RANGE} int, {_SHARE} int, {_CHUNK} int, {_ROWS} binary"
        chunks = run_tasks(spark, numbered, divide, schema, sizes).repartitionById(ranges, _RANGE)
        ordered = chunks.sortWithinPartitions(_SHARE, _CHUNK)
        answers = ordered.mapInArrow(write, f"{_RANGE} int, {_MESSAGE} binary").collect()
    messages = [CommitMessage.from_bytes(bytes(a[_MESSAGE])) for a in sorted(answers, key=lambda a: a[_RANGE])]
    return joined(context, task, messages)
