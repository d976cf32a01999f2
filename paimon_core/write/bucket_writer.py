"""BucketWriter: write the rows of one (partition, bucket) to data files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Semaphore
from typing import Protocol, cast

import numpy as np
import pyarrow as pa

from paimon_core.datafile.writing.rolling_writer import RollingWriter
from paimon_core.datafile.writing.table_files import rolling_writer
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.lsm.write_buffer import Drained, WriteBuffer, drain_together
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.options import COMBINING_ENGINES
from paimon_core.parallel_work import thread_count
from paimon_core.schema import VALUE_KIND
from paimon_core.write.spill import SpillSpace

_SMALL_BYTES = 1 << 16
"""The maximum number of buffered bytes of a small bucket; small buckets are sorted and merged together."""
_STREAMED_BYTES = 16 << 20
"""The minimum number of buffered bytes that are written to an open file, because they become their own row groups."""
_TOGETHER = 64
"""The largest number of small buckets that one merge combines."""
STREAMS = 8
"""The number of buckets of a writer with open files: in an object store each buffers up to two parts of a file."""


@dataclass(frozen=True, slots=True)
class BucketFiles:
    """The closed files of one bucket, in the order in which they were written."""

    data: tuple[DataFile, ...] = ()
    changelog: tuple[DataFile, ...] = ()


class BucketWriter(Protocol):
    """The operations of a TableWriter on one bucket; calls for one bucket never run concurrently."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes of the rows in memory."""

    def write(self, rows: pa.Table) -> None:
        """Add rows in order of arrival."""

    def flush(self) -> None:
        """Free the memory: write the buffered rows to a file or to local disk."""

    def finish(self) -> None:
        """Write the buffered rows and close the files."""

    def take_files(self) -> BucketFiles:
        """Return the closed files; ``abort`` no longer deletes them."""

    def abort(self) -> None:
        """Delete the files that ``take_files`` has not returned."""


def file_columns(context: TableContext) -> tuple[list[str], list[str | None]]:
    """Return the column names of a file, and for each column the name of the input column whose values it stores.

    The input column is None for the sequence number, which the writer creates.
    """
    derived = context.derived.get(file_columns)
    if derived is None:
        schema = context.schema
        sources = [*schema.trimmed_primary_keys, None, VALUE_KIND, *(f.name for f in schema.fields)]
        derived = context.derived.setdefault(file_columns, ([f.name for f in schema.file_fields], sources))
    return cast(tuple[list[str], list[str | None]], derived)


class KeyedBucketWriter:
    """Buffers the rows of a primary-key bucket, then sorts and merges them into level-0 files.

    Rows that exceed the memory are spilled to ``space`` as sorted runs, until ``finish`` merges all rows into one run
    of disjoint files. When ``space`` is None or full, each flush writes separate files. With ``changelog`` and
    changelog-producer = input, every row is also written to changelog files: not merged, sorted by key, and rows of one
    key in merge order (format 10.1).

    As long as rows arrive by ascending key, ``flush`` writes them to files that stay open instead: they are neither
    spilled nor merged. When the order breaks, these files are closed, and later rows are spilled. ``streams`` limits
    how many buckets do this at the same time.
    """

    def __init__(
        self,
        context: TableContext,
        partition: bytes,
        bucket: int,
        first_sequence: int,
        engine: MergeEngine,
        space: SpillSpace | None,
        streams: Semaphore,
        *,
        changelog: bool,
    ) -> None:
        self._context = context
        self._partition = partition
        self._bucket = bucket
        self._next_sequence = first_sequence
        options = context.options
        self._buffer = WriteBuffer(
            [f.name for f in context.schema.file_key_fields],
            MergeOrder.of(options),
            engine,
            store=space,
            keeps_raw=changelog and options["changelog-producer"] == "input",
            # Merging a part of the rows early does not change the result of engines that choose one row, except with
            # ignore-delete: a retract is kept if it is the only row of its key in a merge, and otherwise dropped.
            folds_early=options["merge-engine"] not in COMBINING_ENGINES and not options["ignore-delete"],
        )
        self._files = BucketFiles()
        self._data: RollingWriter | None = None
        self._changelog: RollingWriter | None = None
        self._writers: list[RollingWriter] = []
        self._streams = streams
        self._is_streaming = False
        self._ascends = True

    @property
    def buffered_bytes(self) -> int:
        """Bytes of the rows in memory."""
        return self._buffer.nbytes

    def write(self, rows: pa.Table) -> None:
        """Add rows with the table's columns and ``_VALUE_KIND``; each gets the next sequence number (format 7.4)."""
        sequence = np.arange(self._next_sequence, self._next_sequence + len(rows), dtype=np.int64)
        self._next_sequence += len(rows)
        inputs, input_schema = rows.columns, rows.schema
        names, sources = file_columns(self._context)
        columns = [
            pa.chunked_array([sequence]) if s is None else inputs[input_schema.get_field_index(s)] for s in sources
        ]
        self._buffer.add(pa.Table.from_arrays(columns, names=names))

    def flush(self) -> None:
        """Free the memory: append the rows to open files, or spill them.

        If there is no space to spill, all rows, including spilled rows, are written to level-0 files.
        """
        if not self._stream() and not self._buffer.spill():
            self.finish()

    def spill_long(self) -> None:
        """Spill the rows in memory if they are long and spilled runs exist, because the merge of runs needs memory."""
        self._buffer.spill_long()

    def finish(self) -> None:
        """Write all rows and close the files; rows that were spilled become files with disjoint key ranges."""
        rows = self._buffer.drain_ascending() if self._ascends else None
        if rows is None:
            self._close_files()
            rows = self._buffer.drain()
        self._write_files(rows)
        self._close_files()

    def _stream(self) -> bool:
        """Append the rows in memory to open files and return True, if they are many and their keys ascend."""
        if not self._ascends or self._buffer.nbytes < _STREAMED_BYTES or self._buffer.has_long_rows:
            return False  # the encoder needs much memory for long rows, and the buffer is full
        if not self._is_streaming and not self._streams.acquire(blocking=False):
            return False
        self._is_streaming = True
        rows = self._buffer.drain_ascending()
        if rows is None:
            self._ascends = False
            self._close_files()
            return False
        self._write_files(rows)
        for writer in filter(None, (self._data, self._changelog)):
            writer.flush()
        return True

    def _write_files(self, drained: Iterator[Drained]) -> None:
        for rows in drained:
            if rows.raw is not None:
                self._changelog = self._changelog or self._rolling_writer(changelog=True)
                self._changelog.write(rows.raw)
            self._data = self._data or self._rolling_writer()
            self._data.write(rows.merged)
            del rows  # free the memory of the rows before the next rows are created

    def _close_files(self) -> None:
        """Close the open files; later rows are written to other files."""
        done, data, changelog = self._files, self._data, self._changelog
        self._data = self._changelog = None
        self._files = BucketFiles(
            (*done.data, *(data.close() if data else ())), (*done.changelog, *(changelog.close() if changelog else ()))
        )
        self._stop_streaming()

    def _stop_streaming(self) -> None:
        if self._is_streaming:
            self._is_streaming = False
            self._streams.release()

    @property
    def is_small(self) -> bool:
        """Whether ``finish_together`` accepts this writer."""
        small = self._buffer.nbytes <= _SMALL_BYTES and self._buffer.drains_together
        return small and not self._is_streaming

    @staticmethod
    def finish_together(writers: Sequence[KeyedBucketWriter]) -> None:
        """Do ``finish`` for several small buckets of one table, with one merge for all of them."""
        for writer, rows in zip(writers, drain_together([w._buffer for w in writers]), strict=True):
            data = writer._rolling_writer()
            data.write(rows)
            done = writer._files
            writer._files = BucketFiles((*done.data, *data.close()), done.changelog)

    def take_files(self) -> BucketFiles:
        """Return the closed files; ``abort`` no longer deletes them."""
        files, self._files = self._files, BucketFiles()
        self._writers.clear()
        return files

    def abort(self) -> None:
        """Delete the files that ``take_files`` has not returned, and the spilled rows."""
        self._buffer.discard()
        for writer in self._writers:
            writer.abort()
        self._writers.clear()
        self._files, self._data, self._changelog = BucketFiles(), None, None
        self._stop_streaming()

    def _rolling_writer(self, *, changelog: bool = False) -> RollingWriter:
        writer = rolling_writer(self._context, self._partition, self._bucket, level=0, changelog=changelog)
        self._writers.append(writer)
        return writer


class StreamWriter(ABC):
    """Writes rows to files as they arrive, without a sort."""

    def __init__(self) -> None:
        self._writer: RollingWriter | None = None
        self._done: list[RollingWriter] = []
        self._files: list[DataFile] = []

    @property
    def buffered_bytes(self) -> int:
        """Bytes of the rows that are not written as a row group yet."""
        return 0 if self._writer is None else self._writer.buffered_bytes

    @abstractmethod
    def _open(self) -> RollingWriter:
        """Return the writer of the next files."""

    def write(self, rows: pa.Table) -> None:
        """Write rows to the open file."""
        if self._writer is None:
            self._writer = self._open()
        self._writer.write(rows)

    def flush(self) -> None:
        """Write the buffered rows as a row group."""
        if self._writer is not None:
            self._writer.flush()

    def finish(self) -> None:
        """Close the open file."""
        if self._writer is not None:
            self._files += self._writer.close()
            self._done.append(self._writer)
            self._writer = None

    def take_files(self) -> BucketFiles:
        """Return the closed files; ``abort`` no longer deletes them."""
        files, self._files = self._files, []
        self._done.clear()
        return BucketFiles(tuple(files))

    def abort(self) -> None:
        """Delete the files that ``take_files`` has not returned."""
        for writer in [*self._done, *([self._writer] if self._writer else [])]:
            writer.abort()
        self._done.clear()
        self._writer, self._files = None, []


class AppendBucketWriter(StreamWriter):
    """Streams the rows of an append bucket into files."""

    def __init__(self, context: TableContext, partition: bytes, bucket: int, first_sequence: int) -> None:
        super().__init__()
        self._place = (context, partition, bucket)
        self._restarts = context.options["bucket"] < 1
        self._next_sequence = first_sequence

    def _open(self) -> RollingWriter:
        return rolling_writer(*self._place, level=0, first_sequence=self._next_sequence)

    def write(self, rows: pa.Table) -> None:
        """Write rows to the open file; in fixed buckets, the sequence numbers of the rows continue."""
        super().write(rows)
        self._next_sequence += 0 if self._restarts else len(rows)


def in_groups(writers: Sequence[BucketWriter]) -> list[Sequence[BucketWriter]]:
    """Group the writers for ``finish``: small buckets together, but in enough groups for all threads."""
    small = [w for w in writers if isinstance(w, KeyedBucketWriter) and w.is_small]
    step = max(1, min(_TOGETHER, len(small) // (4 * thread_count(len(small) + 1))))
    known = set(map(id, small))
    alone: list[Sequence[BucketWriter]] = [[w] for w in writers if id(w) not in known]
    return [*alone, *(small[start : start + step] for start in range(0, len(small), step))]


def finish(writers: Sequence[BucketWriter]) -> None:
    """Finish one writer, or several small ones with one merge."""
    if len(writers) == 1:
        writers[0].finish()
    else:
        KeyedBucketWriter.finish_together(cast(Sequence[KeyedBucketWriter], writers))
