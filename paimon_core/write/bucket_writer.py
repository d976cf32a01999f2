"""BucketWriter: the rows of one (partition, bucket), from arrival to finished files."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa

from paimon_core.datafile.parquet_writer import RollingWriter
from paimon_core.lsm.engines.choice import merge_engine
from paimon_core.lsm.order import MergeOrder
from paimon_core.lsm.write_buffer import WriteBuffer
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.schema import KEY_PREFIX, VALUE_KIND


class BucketWriter(Protocol):
    """What a TableWriter does to each bucket; calls for one bucket never overlap."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes of rows held in memory."""

    def write(self, rows: pa.Table) -> None:
        """Add rows in order of arrival."""

    def flush(self) -> None:
        """Write what is buffered."""

    def finish(self) -> None:
        """Write what is buffered and close the files."""

    def take_files(self) -> list[DataFile]:
        """Hand over the closed files: abort no longer deletes them."""

    def abort(self) -> None:
        """Delete the files that were not handed over."""


def rolling_writer(
    context: TableContext, partition: bytes, bucket: int, *, level: int, source: FileSource, first_sequence: int = 0
) -> RollingWriter:
    """A writer of data files into one bucket at one level."""
    return RollingWriter(
        context.storage,
        context.paths,
        schema=context.schema,
        partition=partition,
        partition_path=context.partition_path(partition),
        bucket=bucket,
        level=level,
        options=context.options,
        file_source=source,
        first_sequence=first_sequence,
    )


class KeyedBucketWriter:
    """Rows of a primary-key bucket: buffered, then sorted and merged into level-0 files at each flush."""

    def __init__(self, context: TableContext, partition: bytes, bucket: int, first_sequence: int) -> None:
        self._context = context
        self._partition = partition
        self._bucket = bucket
        self._next_sequence = first_sequence
        keys = [KEY_PREFIX + k for k in context.schema.trimmed_primary_keys]
        self._buffer = WriteBuffer(
            keys,
            MergeOrder.of(context.options),
            merge_engine(context.schema, context.options),
            limit_bytes=context.options["write-buffer-size"],
        )
        self._files: list[DataFile] = []
        self._writers: list[RollingWriter] = []

    @property
    def buffered_bytes(self) -> int:
        """Bytes of rows in the buffer."""
        return self._buffer.nbytes

    def write(self, rows: pa.Table) -> None:
        """Add the table's columns plus ``_VALUE_KIND``; every row gets the next sequence number (format 7.4)."""
        schema = self._context.schema
        sequence = np.arange(self._next_sequence, self._next_sequence + len(rows), dtype=np.int64)
        self._next_sequence += len(rows)
        columns = [rows[k] for k in schema.trimmed_primary_keys]
        columns += [pa.chunked_array([pa.array(sequence)]), rows[VALUE_KIND]]
        columns += [rows[f.name] for f in schema.fields]
        names = [f.name for f in schema.file_fields]
        self._buffer.add(pa.Table.from_arrays(columns, names=names))
        if self._buffer.is_full:
            self.flush()

    def flush(self) -> None:
        """Sort and merge the buffer into new level-0 files; one flush may roll into several disjoint ones."""
        rows = self._buffer.drain()
        if rows is None:
            return
        context = self._context
        writer = rolling_writer(context, self._partition, self._bucket, level=0, source=FileSource.APPEND)
        self._writers.append(writer)
        writer.write(rows)
        self._files += writer.close()

    def finish(self) -> None:
        """Flush; level-0 files are closed at each flush."""
        self.flush()

    def take_files(self) -> list[DataFile]:
        """Hand over the closed files."""
        files, self._files = self._files, []
        self._writers.clear()
        return files

    def abort(self) -> None:
        """Delete the files that were not handed over."""
        for writer in self._writers:
            writer.abort()
        self._writers.clear()
        self._files = []


class AppendBucketWriter:
    """Rows of an append bucket: streamed into files as they come."""

    def __init__(self, context: TableContext, partition: bytes, bucket: int, first_sequence: int) -> None:
        self._context = context
        self._partition = partition
        self._bucket = bucket
        self._restarts = context.options["bucket"] < 1
        self._next_sequence = first_sequence
        self._writer: RollingWriter | None = None
        self._done: list[RollingWriter] = []
        self._files: list[DataFile] = []

    @property
    def buffered_bytes(self) -> int:
        """Bytes of the rows that wait for their row group."""
        return 0 if self._writer is None else self._writer.buffered_bytes

    def write(self, rows: pa.Table) -> None:
        """Stream rows into the open file."""
        if self._writer is None:
            self._writer = rolling_writer(
                self._context,
                self._partition,
                self._bucket,
                level=0,
                source=FileSource.APPEND,
                first_sequence=self._next_sequence,
            )
        self._writer.write(rows)
        self._next_sequence += 0 if self._restarts else len(rows)

    def flush(self) -> None:
        """Write the rows that wait, as a row group of their own."""
        if self._writer is not None:
            self._writer.flush()

    def finish(self) -> None:
        """Close the open file."""
        if self._writer is not None:
            self._files += self._writer.close()
            self._done.append(self._writer)
            self._writer = None

    def take_files(self) -> list[DataFile]:
        """Hand over the closed files."""
        files, self._files = self._files, []
        self._done.clear()
        return files

    def abort(self) -> None:
        """Delete the files that were not handed over."""
        for writer in [*self._done, *([self._writer] if self._writer else [])]:
            writer.abort()
        self._done.clear()
        self._writer, self._files = None, []
