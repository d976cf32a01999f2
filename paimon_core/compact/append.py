"""Append compaction: packs small files of an append bucket into larger ones (format 18, append-table compaction).

A file with a deletion vector is rewritten without the deleted rows, and its vector is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from paimon_core.commit.abort import abort
from paimon_core.compact.task import AppendUnit
from paimon_core.datafile.table_files import rolling_writer
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.live_vectors import Vectors
from paimon_core.options import TableOptions
from paimon_core.read.bucket_reader import BucketReader

_NO_VECTORS: Vectors = {}


def pick_append(
    files: Sequence[DataFile], options: TableOptions, *, full: bool, ordered: bool, vectors: Vectors = _NO_VECTORS
) -> AppendUnit | None:
    """Return groups of at least two small files to pack; None if there are none.

    A group has ``compaction.min.file-num`` files (two if ``full``) or reaches twice the target size. In an ``ordered``
    bucket, only files that are adjacent in sequence number order are packed, to keep that order. A file of which more
    than ``compaction.delete-ratio-threshold`` is deleted (``full``: any row) is rewritten, also alone.
    """
    target = options.target_file_bytes(keyed=False)
    small_below = int(target * options["compaction.small-file-ratio"])
    enough = 2 if full else options["compaction.min.file-num"]
    must = _much_deleted(vectors, 0 if full else options["compaction.delete-ratio-threshold"])
    groups: list[tuple[DataFile, ...]] = []
    group: list[DataFile] = []

    def close() -> None:
        packs = len(group) >= 2 and (len(group) >= enough or sum(f.file_size for f in group) >= 2 * target)
        if packs or any(map(must, group)):
            groups.append(tuple(group))
        group.clear()

    for file in sorted(files, key=lambda f: (f.min_sequence_number, f.file_name)):
        if file.file_size >= small_below and not must(file):
            if ordered:
                close()
            continue
        group.append(file)
        if sum(f.file_size for f in group) >= 2 * target:
            close()
    close()
    return AppendUnit(tuple(groups)) if groups else None


def _much_deleted(vectors: Vectors, ratio: float) -> Callable[[DataFile], bool]:
    """Return the test whether more than ``ratio`` of a file's rows are deleted; an unknown number counts as more."""

    def much(file: DataFile) -> bool:
        if file.file_name not in vectors:
            return False
        cardinality = vectors[file.file_name][1].cardinality
        return cardinality is None or cardinality > file.row_count * ratio

    return much


def rewrite_append(
    context: TableContext, partition: bytes, bucket: int, unit: AppendUnit, vectors: Vectors = _NO_VECTORS
) -> tuple[list[DataFile], list[DataFile]]:
    """Rewrite each group in order without deleted rows; return the files removed and the files added.

    The sequence numbers of the new files stay within the range of their inputs.
    """
    reader = BucketReader(context, partition, bucket, vectors=vectors)
    after: list[DataFile] = []
    try:
        for group in unit.groups:
            after += rewrite_files(reader, group, FileSource.COMPACT)
    except BaseException:
        written = CommitMessage(partition, bucket, context.options["bucket"], compact_after=tuple(after))
        abort([written], context)
        raise
    return list(unit.files), after


def rewrite_files(reader: BucketReader, files: Sequence[DataFile], source: FileSource) -> list[DataFile]:
    """Write the live rows of some files of one bucket, in order, to new files, and return these.

    Their sequence numbers stay within the range of ``files``. When this fails, the new files are deleted.
    """
    context = reader.context
    if not files:
        return []
    first, last = min(f.min_sequence_number for f in files), max(f.max_sequence_number for f in files)
    writer = rolling_writer(context, reader.partition, reader.bucket, level=0, source=source, first_sequence=first)
    try:
        for file in files:
            for batch in reader.file(file, context.schema.fields):
                writer.write(pa.Table.from_batches([batch]))
        return [
            replace(
                f,
                min_sequence_number=min(f.min_sequence_number, last),
                max_sequence_number=min(f.max_sequence_number, last),
            )
            for f in writer.close()
        ]
    except BaseException:
        writer.abort()
        raise
