"""Append compaction: packs small files of an append bucket into larger files (format 18, append-table compaction).

A file with a deletion vector is rewritten without the deleted rows, and the deletion vector is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_core.compact.external_sort import Sort, external_sort
from paimon_core.compact.task import AppendUnit
from paimon_core.datafile.writing.table_files import rolling_writer
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.options import TableOptions
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.table_indexes.live_vectors import Vectors

_NO_VECTORS: Vectors = {}


def pick_append(
    files: Sequence[DataFile], options: TableOptions, *, full: bool, ordered: bool, vectors: Vectors = _NO_VECTORS
) -> AppendUnit | None:
    """Return the groups of small files to pack into larger files; None if there is no such group.

    A group has at least ``compaction.min.file-num`` files (two if ``full``), or at least two files that reach twice the
    target size. In an ``ordered`` bucket, only files that are adjacent in the order of sequence numbers are packed, so
    that the order of the rows is kept. In other buckets, files are packed by size; the size of a file is then its bytes
    plus ``source.split.open-file-cost``, as in Java. If the share of deleted rows of a file exceeds
    ``compaction.delete-ratio-threshold`` (with ``full``: if any row is deleted), the file is always rewritten, if
    necessary as a group of one file.
    """
    rules = _Rules.of(options, full=full, vectors=vectors)
    groups = _ordered(files, rules) if ordered else _by_size(list(filter(rules.takes, files)), rules, vectors)
    return AppendUnit(tuple(groups)) if groups else None


def candidates(files: Sequence[DataFile], options: TableOptions, vectors: Vectors = _NO_VECTORS) -> list[DataFile]:
    """Return the files below the size limit of ``compaction.small-file-ratio`` or with too many deleted rows."""
    return list(filter(_Rules.of(options, full=False, vectors=vectors).takes, files))


@dataclass(frozen=True)
class _Rules:
    """Rules from the options: which files are packed, and when a group is complete."""

    small_below: int
    """The size in bytes below which a file is packed."""
    twice: int
    """The size in bytes at which a group is complete: twice the target size of a file."""
    open_cost: int
    """The number of bytes that is added to the size of each file when groups are formed."""
    enough: int
    """The number of files that is sufficient for a group that does not reach the size ``twice``."""
    must: Callable[[DataFile], bool]
    """Whether a file must be rewritten, whatever its size is."""

    @staticmethod
    def of(options: TableOptions, *, full: bool, vectors: Vectors) -> _Rules:
        target = options.target_file_bytes(keyed=False)
        return _Rules(
            small_below=int(target * options["compaction.small-file-ratio"]),
            twice=2 * target,
            open_cost=options["source.split.open-file-cost"],
            enough=2 if full else options["compaction.min.file-num"],
            must=_much_deleted(vectors, 0 if full else options["compaction.delete-ratio-threshold"]),
        )

    def takes(self, file: DataFile) -> bool:
        return file.file_size < self.small_below or self.must(file)

    def groups_leftover(self, group: Sequence[DataFile]) -> bool:
        """Whether the remaining files, which do not reach the size ``twice``, are rewritten as a group."""
        return len(group) >= self.enough or any(map(self.must, group))


def _ordered(files: Sequence[DataFile], rules: _Rules) -> list[tuple[DataFile, ...]]:
    """Return groups of small files; in the order of sequence numbers, no larger file is between files of a group."""
    groups: list[tuple[DataFile, ...]] = []
    group: list[DataFile] = []

    def close() -> None:
        packs = len(group) >= 2 and sum(f.file_size for f in group) >= rules.twice
        if packs or rules.groups_leftover(group):
            groups.append(tuple(group))
        group.clear()

    for file in sorted(files, key=lambda f: (f.min_sequence_number, f.file_name)):
        if not rules.takes(file):
            close()
            continue
        group.append(file)
        if sum(f.file_size for f in group) >= rules.twice:
            close()
    close()
    return groups


def _by_size(few: Sequence[DataFile], rules: _Rules, vectors: Vectors) -> list[tuple[DataFile, ...]]:
    """Return groups of files, the smallest files first.

    Files whose vectors are in the same index file are in one group.
    """
    by_index: dict[str, list[DataFile]] = {}
    plain: list[list[DataFile]] = []
    for file in sorted(few, key=lambda f: (f.file_size, f.min_sequence_number, f.file_name)):
        if file.file_name in vectors:
            by_index.setdefault(vectors[file.file_name][0], []).append(file)
        else:
            plain.append([file])
    with_vectors = sorted(by_index.values(), key=lambda part: sum(f.file_size for f in part))
    return [*_packed(with_vectors, rules), *_packed(plain, rules)]


def _packed(parts: Sequence[list[DataFile]], rules: _Rules) -> list[tuple[DataFile, ...]]:
    """Join consecutive parts until a group is complete."""
    groups: list[tuple[DataFile, ...]] = []
    group: list[DataFile] = []
    size = 0
    for part in parts:
        group += part
        size += sum(f.file_size + rules.open_cost for f in part)
        if len(group) > 1 and size >= rules.twice:
            groups.append(tuple(group))
            group, size = [], 0
    return [*groups, tuple(group)] if rules.groups_leftover(group) else groups


def _much_deleted(vectors: Vectors, ratio: float) -> Callable[[DataFile], bool]:
    """Return a function that decides whether the share of a file's deleted rows exceeds ``ratio``, or is unknown."""

    def much(file: DataFile) -> bool:
        if file.file_name not in vectors:
            return False
        cardinality = vectors[file.file_name][1].cardinality
        return cardinality is None or cardinality > file.row_count * ratio

    return much


def rewrite_append(
    context: TableContext, partition: bytes, bucket: int, unit: AppendUnit, vectors: Vectors = _NO_VECTORS
) -> tuple[list[DataFile], list[DataFile]]:
    """Rewrite each group without its deleted rows, sorted if the unit has a sort order.

    Return the files to remove and the new files.

    The sequence numbers of the new files stay within the range of their inputs.
    """
    reader = BucketReader(context, partition, bucket, vectors=vectors)
    after: list[DataFile] = []
    sort = None if unit.sort is None else external_sort(context, unit.sort)
    try:
        for group in unit.groups:
            after += rewrite_files(reader, group, FileSource.COMPACT, sort, unit.output_level)
    except BaseException:
        written = CommitMessage(partition, bucket, context.options["bucket"], compact_after=tuple(after))
        abort([written], context)
        raise
    return list(unit.files), after


def rewrite_files(
    reader: BucketReader, files: Sequence[DataFile], source: FileSource, sort: Sort | None = None, level: int = 0
) -> list[DataFile]:
    """Write the live rows of some files of one bucket, in order or sorted by ``sort``, to new files of a level.

    The sequence numbers of the new files are within the range of ``files``. With row tracking, each row keeps its id
    and its sequence number. After an error, the new files are deleted.
    """
    context = reader.context.with_kept_ids()
    if not files:
        return []
    first, last = min(f.min_sequence_number for f in files), max(f.max_sequence_number for f in files)
    fields = context.schema.fields
    stored = (pa.Table.from_batches([batch]) for file in files for batch in reader.file(file, fields))
    rows = stored if sort is None else sort(stored)
    written = write_rows(context, reader.partition, reader.bucket, rows, source, level, first_sequence=first)
    if context.tracks_rows:
        return written
    return [
        replace(
            f,
            min_sequence_number=min(f.min_sequence_number, last),
            max_sequence_number=min(f.max_sequence_number, last),
        )
        for f in written
    ]


def write_rows(
    context: TableContext,
    partition: bytes,
    bucket: int,
    rows: Iterable[pa.Table],
    source: FileSource,
    level: int,
    *,
    first_sequence: int = 0,
) -> list[DataFile]:
    """Write rows of one bucket to new files; ``context`` is one of ``with_kept_ids``.

    The files get the level, unless the table has row tracking: then they have level 0. After an error, the new files
    are deleted.
    """
    writer = rolling_writer(context, partition, bucket, level=0, source=source, first_sequence=first_sequence)
    try:
        for part in rows:
            writer.write(part)
        written = writer.close()
    except BaseException:
        writer.abort()
        raise
    return written if context.tracks_rows else [replace(f, level=level) for f in written]
