"""Append compaction: packs small files of an append bucket into larger ones (format 18, append-table compaction)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from paimon_core.compact.task import AppendUnit
from paimon_core.datafile.table_files import rolling_writer
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.options import TableOptions
from paimon_core.read.bucket_reader import BucketReader


def pick_append(files: Sequence[DataFile], options: TableOptions, *, full: bool, ordered: bool) -> AppendUnit | None:
    """Return groups of at least two small files to pack; None if there are none.

    A group has ``compaction.min.file-num`` files (two if ``full``) or reaches twice the target size. In an ``ordered``
    bucket, only files that are adjacent in sequence number order are packed, to keep that order.
    """
    target = options.target_file_bytes(keyed=False)
    small_below = int(target * options["compaction.small-file-ratio"])
    enough = 2 if full else options["compaction.min.file-num"]
    groups: list[tuple[DataFile, ...]] = []
    group: list[DataFile] = []

    def close() -> None:
        if len(group) >= 2 and (len(group) >= enough or sum(f.file_size for f in group) >= 2 * target):
            groups.append(tuple(group))
        group.clear()

    for file in sorted(files, key=lambda f: (f.min_sequence_number, f.file_name)):
        if file.file_size >= small_below:
            if ordered:
                close()
            continue
        group.append(file)
        if sum(f.file_size for f in group) >= 2 * target:
            close()
    close()
    return AppendUnit(tuple(groups)) if groups else None


def rewrite_append(
    context: TableContext, partition: bytes, bucket: int, unit: AppendUnit
) -> tuple[list[DataFile], list[DataFile]]:
    """Rewrite each group in order; return the files removed and the files added.

    The sequence numbers of the new files stay within the range of their inputs.
    """
    reader = BucketReader(context, partition, bucket)
    after: list[DataFile] = []
    writers = []
    try:
        for group in unit.groups:
            first = min(f.min_sequence_number for f in group)
            writer = rolling_writer(
                context, partition, bucket, level=0, source=FileSource.COMPACT, first_sequence=first
            )
            writers.append(writer)
            for file in group:
                for batch in reader.file(file, context.schema.fields):
                    writer.write(pa.Table.from_batches([batch]))
            last = max(f.max_sequence_number for f in group)
            after += [
                replace(
                    f,
                    min_sequence_number=min(f.min_sequence_number, last),
                    max_sequence_number=min(f.max_sequence_number, last),
                )
                for f in writer.close()
            ]
    except BaseException:
        for writer in writers:
            writer.abort()
        raise
    return list(unit.files), after
