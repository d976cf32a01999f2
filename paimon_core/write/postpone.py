"""Postpone bucket: writes rows to this bucket, and moves its rows to fixed buckets (format 11.3).

Rows in the postpone bucket are in order of arrival, unmerged and without sequence numbers. Readers see the rows only
after the rows were moved to fixed buckets. The number of buckets of a partition is decided when the first rows of the
partition are moved.
"""

from __future__ import annotations

import random
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from paimon_core.datafile.reading.reader import read_batches
from paimon_core.datafile.writing.rolling_writer import RollingWriter
from paimon_core.datafile.writing.table_files import rolling_writer
from paimon_core.errors import CommitConflict, CorruptTable
from paimon_core.metadata.abort import abort, aborted_on_error
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.schema import VALUE_KIND, DataField
from paimon_core.storage.paths import POSTPONE_BUCKET, FileNames
from paimon_core.write.bucket_writer import StreamWriter, file_columns

UNNUMBERED = -1
"""The sequence number of rows in the postpone bucket. DO NOT CHANGE: the value is on disk."""


class FixedWriter(Protocol):
    """The operations of a TableWriter that ``spread`` uses."""

    def write_conformed(self, rows: pa.Table) -> None:
        """Add rows with the table's columns and ``_VALUE_KIND``."""

    def flush(self) -> list[CommitMessage]:
        """Finish all files and return their messages."""

    def abort(self) -> None:
        """Delete the files that ``flush`` has not returned."""


def writer_name() -> str:
    """Return a new random name for a writer; the names of all files of the writer contain it."""
    return f"-u-{uuid.uuid4()}-s-{random.randrange(2**31)}-w-"


class PostponeWriter(StreamWriter):
    """Streams the rows of one partition into files of the postpone bucket as they arrive.

    The file names start with the name of the writer: Java uses this name to read the files of one writer in order.
    """

    def __init__(self, context: TableContext, partition: bytes, name: str | None = None) -> None:
        """``name``: the name of the writer, as ``writer_name`` returns it."""
        super().__init__()
        self._context = context
        self._partition = partition
        self._names = FileNames(f"{name or writer_name()}{uuid.uuid4()}")

    def _open(self) -> RollingWriter:
        place = (self._context, self._partition, POSTPONE_BUCKET)
        return rolling_writer(*place, level=0, names=self._names)

    def write(self, rows: pa.Table) -> None:
        """Add rows with the table's columns and ``_VALUE_KIND``, in order of arrival."""
        names, sources = file_columns(self._context)
        unnumbered = pa.chunked_array([pa.array(np.full(len(rows), UNNUMBERED, np.int64))])
        super().write(pa.Table.from_arrays([unnumbered if s is None else rows[s] for s in sources], names=names))


def bucket_counts(
    context: TableContext,
    files: Mapping[bytes, Sequence[DataFile]],
    entries: Iterable[ManifestEntry] | None = None,
    *,
    limited: bool = False,
) -> dict[bytes, int]:
    """Return the number of buckets of each partition of ``files``, as Java decides it (format 11.3).

    The number is taken from the live ``entries`` (None: the entries of the latest snapshot). For a partition without
    entries, it is ``postpone.default-bucket-num``. If this option is not set, it is the rows of the files divided by
    ``postpone.target-row-num-per-bucket``, or the bytes divided by ``postpone.target-size-per-bucket``, rounded up.
    With ``limited``, for a write, a number computed from rows or bytes is rounded up to a power of two, but is at most
    ``postpone.batch-write-fixed-bucket.max-parallelism``. Raises CorruptTable for a partition with two numbers.
    """
    options, known = context.options, dict[bytes, int]()
    for entry in latest_entries(context, files.keys()) if entries is None else entries:
        if entry.total_buckets < 1 or entry.bucket < 0 or entry.partition not in files:
            continue
        if known.setdefault(entry.partition, entry.total_buckets) != entry.total_buckets:
            raise CorruptTable(
                f"table {context.name}: files of partition {context.partition_path(entry.partition)!r} have "
                f"{known[entry.partition]} and {entry.total_buckets} buckets",
                table=context.name,
            )
    default, target_rows = options["postpone.default-bucket-num"], options["postpone.target-row-num-per-bucket"]
    for place in files.keys() - known.keys():
        if default is not None:
            known[place] = default
            continue
        if target_rows is None:
            amount, target = sum(f.file_size for f in files[place]), options["postpone.target-size-per-bucket"]
        else:
            amount, target = sum(f.row_count for f in files[place]), target_rows
        needed = max(1, -(-amount // max(1, target)))
        most = options["postpone.batch-write-fixed-bucket.max-parallelism"]
        known[place] = min(most, 1 << (min(most, needed) - 1).bit_length()) if limited else needed
    return known


def spread(
    context: TableContext,
    files: Mapping[bytes, Sequence[DataFile]],
    counts: Mapping[bytes, int],
    writer_of: Callable[[TableContext], FixedWriter],
) -> list[CommitMessage]:
    """Write the rows of the postponed ``files`` of each partition to its fixed buckets, and return the messages.

    The rows of later files in a sequence count as later. ``writer_of`` returns a writer for a context with a fixed
    number of buckets. On an error every new file is deleted. Raises CorruptTable for a file that is missing or cannot
    be read.
    """
    by_count: dict[int, list[bytes]] = defaultdict(list)
    for place in files:
        by_count[counts[place]].append(place)
    messages: list[CommitMessage] = []
    with aborted_on_error(messages, context):
        for count, places in sorted(by_count.items()):
            writer = writer_of(context.with_buckets(count))
            try:
                for rows in (
                    rows for place in places for file in files[place] for rows in file_rows(context, place, file)
                ):
                    writer.write_conformed(rows)
                messages += writer.flush()
            except BaseException:
                writer.abort()
                raise
    return messages


def to_fixed_buckets(
    context: TableContext,
    staged: Sequence[CommitMessage],
    counts: dict[bytes, int],
    writer_of: Callable[[TableContext], FixedWriter],
) -> list[CommitMessage]:
    """Return messages of the same rows in fixed buckets, and delete the ``staged`` files of the postpone bucket.

    ``counts``: by partition, the numbers of buckets that earlier calls for the same commit chose; this call adds its
    own numbers. When a concurrent commit gives a partition another number during the call, the rows are distributed
    again. Raises CommitConflict when the number of buckets was changed during every attempt.
    """
    try:
        files = {m.partition: m.new_files for m in staged}
        counts |= bucket_counts(context, files, limited=True) | counts
        for left in reversed(range(1 + context.options["commit.max-retries"])):
            try:
                return spread(context, files, counts, writer_of)
            except CommitConflict as error:
                if not left or "buckets" not in error.facts:
                    raise
            counts |= bucket_counts(context, files, limited=True)
        raise AssertionError
    finally:
        abort(staged, context)


def file_rows(context: TableContext, place: bytes, file: DataFile, bucket: int = POSTPONE_BUCKET) -> Iterator[pa.Table]:
    """Yield the rows of a file with the table's columns and ``_VALUE_KIND``, for ``TableWriter.write_conformed``."""
    path = context.file_path(place, bucket, file)
    batches = read_batches(
        context.storage,
        path,
        file=file,
        file_schema=context.schemas.read(file.schema_id),
        read_fields=_read_fields(context),
    )
    yield from map(pa.Table.from_batches, ([batch] for batch in batches))


def _read_fields(context: TableContext) -> list[DataField]:
    kind = next(f for f in context.schema.file_fields if f.name == VALUE_KIND)
    return [*context.schema.fields, kind]
