"""Staging: writes the rows of a job whose buckets can be decided only when all rows are known (format 11.1 to 11.3).

Each task streams its rows to files of the postpone bucket, in order of arrival. Then one process decides the buckets:
it assigns the keys of dynamic buckets, or chooses the number of buckets of each partition. Then writers read the staged
files and write each row to its bucket. The staged files are not committed, except in tables whose rows stay in the
postpone bucket until a compaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from paimon_core.codec.binary_row.rows import encode_rows
from paimon_core.metadata.column_stats import EMPTY_ROW
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.storage.paths import POSTPONE_BUCKET
from paimon_core.write.bucket_writer import BucketWriter
from paimon_core.write.bucketing import hashes_by_partition
from paimon_core.write.postpone import PostponeWriter, file_rows, writer_name
from paimon_core.write.table_writer import TableWriter

_SCHEMA = pa.schema(
    [("messages", pa.list_(pa.binary())), ("partitions", pa.list_(pa.binary())), ("hashes", pa.list_(pa.binary()))]
)


def is_staged(context: TableContext) -> bool:
    """Whether the buckets of rows depend on the rows of all tasks, so that the rows must be staged first."""
    return context.has_dynamic_buckets or context.is_postponed


def rows_wait(context: TableContext) -> bool:
    """Whether new rows stay in the postpone bucket until a compaction."""
    return context.is_postponed and not context.options["postpone.batch-write-fixed-bucket"]


@dataclass(frozen=True)
class Staged:
    """The output of one task: messages of the postpone bucket, and for dynamic buckets the hashes of the keys."""

    messages: tuple[CommitMessage, ...] = ()
    hashes: Mapping[bytes, np.ndarray] = field(default_factory=dict)
    """The distinct hashes of the keys in each partition, int32[n], sorted."""

    def to_bytes(self) -> bytes:
        """Return the value as an Arrow stream of one row."""
        columns = [
            [m.to_bytes() for m in self.messages],
            list(self.hashes),
            [h.tobytes() for h in self.hashes.values()],
        ]
        row = pa.record_batch([pa.array([c], f.type) for c, f in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA)
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, _SCHEMA) as writer:
            writer.write_batch(row)
        data: bytes = stream.getvalue().to_pybytes()
        return data

    @staticmethod
    def from_bytes(data: bytes) -> Staged:
        """Return the value that ``to_bytes`` encoded."""
        (row,) = pa.ipc.open_stream(data).read_all().to_pylist()
        return Staged(
            tuple(CommitMessage.from_bytes(m) for m in row["messages"]),
            {p: np.frombuffer(h, np.int32) for p, h in zip(row["partitions"], row["hashes"], strict=True)},
        )


class StagingWriter(TableWriter):
    """Writes the rows of one task to files of the postpone bucket; ``finish`` returns the result as a ``Staged``."""

    def __init__(self, context: TableContext, *, name: str | None = None) -> None:
        """``name``: the name of the writer in file names; tasks whose rows have an order must use the same name."""
        self._target, self._name = context, name or writer_name()
        self._hashes: dict[bytes, list[np.ndarray]] = {}
        waits = {"bucket": POSTPONE_BUCKET, "postpone.batch-write-fixed-bucket": False}
        super().__init__(context.with_values(waits))

    def finish(self) -> Staged:
        """Close all files; afterwards ``abort`` does not delete them."""
        hashes = {p: np.unique(np.concatenate(parts)) for p, parts in self._hashes.items()}
        self._hashes.clear()
        return Staged(tuple(self.flush()), hashes)

    def _buffer(self, rows: pa.Table) -> None:
        """Add conformed rows. With cross-partition upsert one writer gets all rows: a key may change its partition."""
        if not self._target.is_cross_partition:
            if self._target.has_dynamic_buckets:
                for partition, values in hashes_by_partition(rows, self._context):
                    self._hashes.setdefault(partition, []).append(np.unique(values))
            super()._buffer(rows)
            return
        self._make_room(rows.nbytes)
        self._run_on_each([self._writer(_no_partition(self._context), POSTPONE_BUCKET)], lambda w: w.write(rows))
        self.rows_received += len(rows)
        self._make_room(0)

    def _new_writer(self, partition: bytes, bucket: int) -> BucketWriter:
        return PostponeWriter(self._context, partition, self._name)


def waiting_in_order(messages: Sequence[CommitMessage]) -> list[CommitMessage]:
    """Return the messages with creation times of files that ascend in the order of the messages.

    A compaction reads the files in the order of their creation times. The new time of a file may be up to n
    milliseconds late, for n files.
    """
    found, last = [], 0
    for message in messages:
        files = []
        for file in message.new_files:
            last = max(last + 1, file.creation_time_millis or 0)
            files.append(replace(file, creation_time_millis=last))
        found.append(replace(message, new_files=tuple(files)))
    return found


def written_again(context: TableContext, messages: Sequence[CommitMessage], *, overwrites: bool) -> list[CommitMessage]:
    """Write the rows of the messages to new files, in buckets that fit the latest snapshot; return the new messages.

    A caller needs this when the keys or numbers of buckets of level-0 files conflict with a concurrent commit. The old
    files of the messages are kept. The new messages may conflict with a further commit. Raises CorruptTable for a file
    that is missing.
    """
    with TableWriter(context, ignore_existing=overwrites) as writer:
        for message in messages:
            # Changelog files have all rows, data files only the merged row of each key.
            for file in message.changelog_files or message.new_files:
                for rows in file_rows(context, message.partition, file, message.bucket):
                    writer.write_conformed(rows)
        return writer.flush()


def _no_partition(context: TableContext) -> bytes:
    """Return the partition whose values are all null, for files that have rows of any partition."""
    types = [f.type for f in context.schema.partition_fields]
    return encode_rows([pa.nulls(1, t.to_arrow()) for t in types], types)[0] if types else EMPTY_ROW
