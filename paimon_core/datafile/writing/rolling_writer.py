"""RollingWriter: writes the rows of one bucket to files of about the target size (format 7.1 to 7.10).

Rows are written one row group at a time, and at most one row group is in memory. A row group has at most
``ROW_GROUP_ROWS`` rows and about ``ROW_GROUP_BYTES`` bytes, or twice as many bytes where long rows follow each other. A
larger row gets its own row group. When ``close`` returns, all files are durable and their manifest entries are
complete; ``abort`` deletes every file that was created, finished or not.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.byte_budget import cut
from paimon_core.datafile.evolution.nested_arrays import without_hidden_nulls
from paimon_core.datafile.file_layout import FileLayout
from paimon_core.datafile.formats import create_file
from paimon_core.datafile.statistics.column_statistics import Bounds
from paimon_core.datafile.writing.external_places import ExternalPlaces
from paimon_core.errors import PaimonError, StorageError
from paimon_core.fileindex.builder import IndexBuilder
from paimon_core.metadata.data_file import DataFile, index_file_name
from paimon_core.storage.object_stores.remote_output import discard
from paimon_core.storage.paths import FileNames, TablePaths
from paimon_core.storage.storage import Storage

ROW_GROUP_ROWS = 1 << 19
ROW_GROUP_BYTES = 64 << 20
LEAST_ROWS = 1000
"""The minimum number of rows that are written between two checks of a file's size."""

_FEW_PIECES = 64
_SMALL_PIECE = 1 << 16
"""Many pieces with fewer bytes than this on average are copied into one: a row group is encoded piece by piece."""
_SMALL_BYTES = 1 << 20
"""The largest size in bytes of a file's rows for which the file is built in memory."""


class RollingWriter:
    """Writes one bucket's rows, which arrive in file order, to as many files as its ``layout`` requires.

    A writer must not be used by several threads. In a table without a primary key, ``first_sequence`` is the sequence
    number of the first row. With fixed buckets the numbers continue from file to file; otherwise each file starts with
    ``first_sequence`` (format 7.4).
    """

    def __init__(
        self,
        storage: Storage,
        paths: TablePaths,
        *,
        layout: FileLayout,
        partition: bytes,
        partition_path: str,
        bucket: int,
        first_sequence: int = 0,
        names: FileNames | None = None,
        external: ExternalPlaces | None = None,
    ) -> None:
        self.partition = partition
        self.bucket = bucket
        self._storage = storage
        self._paths = paths
        self._partition_path = partition_path
        self._external = external
        self._plan = layout.plan
        self._layout = layout
        self._target_bytes = layout.target_bytes
        self._restarts_sequence = layout.options["bucket"] < 1
        self._next_sequence = first_sequence
        self._file_names = FileNames() if names is None else names
        self._pending: list[pa.Table] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self._file_bytes_per_row = 0.0
        self._open: _OpenFile | None = None
        self._is_closing = False
        self._created: list[str] = []
        self._files: list[DataFile] = []

    def write(self, table: pa.Table) -> None:
        """Add rows, in file order, with exactly the columns ``schema.file_fields``.

        Raises SchemaMismatch, which names the column, for rows that do not fit, StorageError when the store fails.
        """
        self._layout.check(table)
        if not len(table):
            return
        self._pending.append(table)
        self._pending_rows += len(table)
        self._pending_bytes += table.nbytes
        while self._pending_rows and self._pending_rows >= (rows := self._next_row_group()):
            self._write_row_group(rows)

    @property
    def buffered_bytes(self) -> int:
        """Bytes in memory of the rows that are not yet written as a row group."""
        return self._pending_bytes

    def flush(self) -> None:
        """Write the buffered rows now, to free their memory; their row groups may be smaller than usual."""
        while self._pending_rows:
            self._write_row_group(min(self._pending_rows, self._next_row_group()))

    def close(self) -> list[DataFile]:
        """Write the buffered rows, finish the open file and return all files in row order; [] if there were no rows."""
        self._is_closing = True
        self.flush()
        self._finish_file()
        return list(self._files)

    def abort(self) -> None:
        """Delete every file that was created; the writer cannot be used afterwards."""
        if self._open is not None:
            self._open.discard()
            self._open = None
        created, self._created, self._files, self._pending = self._created, [], [], []
        self._pending_rows = self._pending_bytes = 0
        self._storage.delete(created)

    def _next_row_group(self) -> int:
        """Return the number of rows that fill a row group or the file.

        The number is estimated from the mean size of the rows that are already in files or, if there is no file yet, of
        the rows in memory.
        """
        in_memory = max(1.0, self._pending_bytes / self._pending_rows)
        left = self._target_bytes - (self._open.written_bytes if self._open else 0)
        filling = max(LEAST_ROWS, left / (self._file_bytes_per_row or in_memory))
        if self._plan.row_limit is not None:
            filling = min(filling, self._plan.row_limit - (self._open.row_count if self._open else 0))
        return max(1, ceil(min(ROW_GROUP_ROWS, ROW_GROUP_BYTES / in_memory, filling)))

    def _write_row_group(self, rows: int) -> None:
        held = self._pending[0] if len(self._pending) == 1 else pa.concat_tables(self._pending)
        group = held if rows >= len(held) else held.slice(0, rows)
        if group.nbytes > 2 * ROW_GROUP_BYTES:  # its rows are longer than the mean
            group = next(cut(group, ROW_GROUP_BYTES))
        rest = held.slice(len(group))
        if max(column.num_chunks for column in group.columns) > max(_FEW_PIECES, group.nbytes // _SMALL_PIECE):
            group = group.combine_chunks()
        self._pending = [rest] if len(rest) else []
        self._pending_bytes = rest.nbytes
        self._pending_rows = len(rest)
        if self._open is None:
            name = self._file_names.next(self._plan.prefix, self._plan.suffix)
            external = None if self._external is None else self._external.next(self._relative, name)
            path = self._path(name, name, external)
            self._created.append(path)
            small = self._is_closing and not len(rest) and group.nbytes <= _SMALL_BYTES
            self._open = _OpenFile(self._storage, path, name, external, self._layout, group, in_memory=small)
        self._open.write(group)
        self._file_bytes_per_row = self._open.written_bytes / self._open.row_count
        if self._open.written_bytes >= self._target_bytes or self._open.row_count == self._plan.row_limit:
            self._finish_file()

    @property
    def _relative(self) -> str:
        return self._paths.relative_bucket(self._partition_path, self.bucket)

    def _path(self, name: str, data_file: str, external: str | None) -> str:
        """Return the path of the file ``name`` next to a data file; ``external``: the data file's external path."""
        if external is not None:
            return self._paths.external_file(external, data_file, name)
        return self._paths.data_file(self._partition_path, self.bucket, name)

    def _finish_file(self) -> None:
        if self._open is not None:
            file = self._with_indexes(self._open.finish(self._next_sequence), self._open.indexes)
            self._files.append(file)
            self._open = None
            if not self._restarts_sequence:
                self._next_sequence += file.row_count

    def _with_indexes(self, file: DataFile, builder: IndexBuilder | None) -> DataFile:
        """Return the file with its indexes.

        Indexes up to the size of option file-index.in-manifest-threshold are stored in the manifest entry, larger
        indexes in an index file.
        """
        if builder is None:
            return file
        data = builder.finish()
        if len(data) <= self._layout.options["file-index.in-manifest-threshold"]:
            return replace(file, embedded_index=data)
        name = index_file_name(file.file_name)
        path = self._path(name, file.file_name, file.external_path)
        self._created.append(path)
        self._storage.write(path, data)
        return replace(file, extra_files=(name,))


class _OpenFile:
    """A file that is being written, and the values of its manifest entry."""

    def __init__(
        self,
        storage: Storage,
        path: str,
        name: str,
        external: str | None,
        layout: FileLayout,
        first_rows: pa.Table,
        *,
        in_memory: bool,
    ) -> None:
        self.row_count = 0
        self._path = path
        self._name = name
        self._external = external
        self._layout = layout
        self._null_counts = [0] * len(layout.fields)
        self._has_nan = [False] * len(layout.fields)
        self._min_key = self._max_key = b""
        self._sequences: list[int] = []
        self._delete_count = 0
        self.indexes = IndexBuilder(layout.indexed) if layout.indexed else None
        self._sink = storage.open_output(path)
        try:
            with self._storage_errors():
                self._output = create_file(layout, self._sink, first_rows, in_memory=in_memory)
        except BaseException:
            discard(self._sink)
            raise

    def _without_hidden_nulls(self, rows: pa.Table) -> pa.Table:
        for at in self._layout.required_members:
            field, column = rows.schema.field(at), rows.column(at)
            rows = rows.set_column(at, field, pa.chunked_array(map(without_hidden_nulls, column.chunks), field.type))
        return rows

    @property
    def written_bytes(self) -> int:
        """The approximate size in bytes of the rows written so far."""
        return self._output.written_bytes

    def write(self, rows: pa.Table) -> None:
        """Write rows; in a Parquet file they become one row group."""
        layout, columns = self._layout, rows.columns
        with self._storage_errors():
            self._output.write(layout.stored(self._without_hidden_nulls(rows)))
        if self.indexes is not None:
            self.indexes.add(rows)
        for at, column in enumerate(columns):
            self._null_counts[at] += column.null_count
        for at in layout.floating:
            if not self._has_nan[at]:
                self._has_nan[at] = any(map(_contains_nan, columns[at].chunks))
        if layout.key_fields:
            if not self.row_count:
                self._min_key = layout.key_at(columns, 0)
            self._max_key = layout.key_at(columns, len(rows) - 1)
            at = len(layout.key_fields)
            for numbers in filter(len, columns[at].chunks):
                values = numbers.to_numpy()
                self._sequences += (int(values.min()), int(values.max()))
            self._delete_count += sum(int(np.count_nonzero(c.to_numpy() & 1)) for c in columns[at + 1].chunks)
        elif layout.tracked:
            self._sequences += filter(None, pc.min_max(columns[-1]).as_py().values())
        self.row_count += len(rows)

    def finish(self, first_sequence: int) -> DataFile:
        """Finish and close the file, and return its manifest record.

        In a table without a primary key and without row tracking, the rows are numbered from ``first_sequence`` on.
        """
        with self._storage_errors():
            self._output.finish()
            size = self.written_bytes
            self._sink.close()
        layout = self._layout
        bounds = layout.bounds(self._output, self._null_counts, self._has_nan)
        values = layout.value_stats.encode(bounds[len(layout.fields) - len(layout.schema.fields) :])
        return DataFile(
            file_name=self._name,
            file_size=size,
            row_count=self.row_count,
            schema_id=layout.schema.id,
            level=layout.plan.level,
            value_stats=values,
            value_stats_cols=layout.value_stats.columns,
            creation_time_millis=_local_millis(),
            delete_row_count=self._delete_count,
            file_source=layout.plan.source,
            external_path=self._external,
            **self._keyed_members(bounds)
            if layout.key_fields
            else self._tracked_members()
            if layout.tracked
            else self._append_members(first_sequence),
        )

    def discard(self) -> None:
        """Close the file without a result; errors are ignored, because the caller deletes the file anyway."""
        for free in (self._output.discard, lambda: discard(self._sink)):
            # pyarrow's close raises RuntimeError after a failed write.
            with contextlib.suppress(OSError, pa.ArrowException, RuntimeError):
                free()

    def _keyed_members(self, bounds: list[Bounds]) -> dict[str, Any]:
        key_stats = self._layout.key_stats.encode(bounds[: len(self._layout.key_fields)])
        return {
            "min_key": self._min_key,
            "max_key": self._max_key,
            "key_stats": key_stats,
            "min_sequence_number": min(self._sequences),
            "max_sequence_number": max(self._sequences),
        }

    def _append_members(self, first_sequence: int) -> dict[str, Any]:
        last = first_sequence + self.row_count - 1
        return {"min_sequence_number": first_sequence, "max_sequence_number": last}

    def _tracked_members(self) -> dict[str, Any]:
        """Return the sequence numbers and the columns of a file with row tracking.

        The sequence number is 0 for rows without a sequence number: the commit replaces 0 by its snapshot id (format
        17).
        """
        return {
            "min_sequence_number": min(self._sequences, default=0),
            "max_sequence_number": 0 if self._null_counts[-1] else max(self._sequences, default=0),
            "write_cols": tuple(self._layout.names),
        }

    @contextlib.contextmanager
    def _storage_errors(self) -> Iterator[None]:
        try:
            yield
        except PaimonError:
            raise
        except OSError as error:
            raise StorageError(f"cannot write {self._path}: {error}", path=self._path) from error


def _contains_nan(array: pa.Array) -> bool:
    if array.null_count:
        return bool(pc.any(pc.is_nan(array)).as_py())
    return bool(np.isnan(array.to_numpy()).any())


def _local_millis() -> int:
    """Return the local wall-clock time, interpreted as UTC, in milliseconds (format 4.1)."""
    now = time.time_ns() // 1_000_000
    return now + time.localtime(now // 1000).tm_gmtoff * 1000
