"""Numbering: gives the rows of a commit higher sequence numbers than all rows committed earlier (format 7.4).

A writer gives its rows higher numbers than the rows that exist when it starts. A concurrent writer may commit rows with
equal or higher numbers to the same bucket first. A merge would then keep the row of the concurrent writer, although it
was committed earlier. In this case the commit rewrites its level-0 files of the bucket with higher numbers before it
publishes. All implementations of Paimon order rows by these numbers, so every reader keeps the row of the later commit.
Files of append tables store no numbers in rows, so only their manifest entries are changed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.commit.base import Base
from paimon_core.commit.snapshot_history import delta_of, snapshots_since
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.datafile.reading.reader import read_batches
from paimon_core.datafile.writing.table_files import rolling_writer
from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage, Position, position_of
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.parallel_work import run_parallel
from paimon_core.schema import SEQUENCE_NUMBER
from paimon_core.storage.paths import POSTPONE_BUCKET, FileNames

Place = tuple[bytes, int]
"""A serialized partition and a bucket."""

GAP = 1 << 20
"""The count of unused numbers below the numbers of rewritten files.

A retry after another concurrent commit can then use the rewritten files without rewriting them again.
"""
DELTAS_READ = 50
"""The largest number of snapshots whose deltas are read instead of all live files of the buckets."""


@dataclass(frozen=True)
class Flush:
    """The new files of one writer in one bucket; renumbering does not change the order of their rows."""

    partition: bytes
    bucket: int
    total_buckets: int
    names: tuple[str, ...]
    after: Position | None
    """The writer's numbers are higher than all sequence numbers of this snapshot. None: not known."""

    @property
    def place(self) -> Place:
        """The partition and the bucket of the files."""
        return self.partition, self.bucket


@dataclass
class Numbering:
    """Assigns sequence numbers to the new files of one commit; rewritten files are reused by later attempts."""

    context: TableContext
    _files: dict[str, tuple[DataFile, ...]] = field(default_factory=dict)
    """The files that replace an original file, by the name of the original file."""
    _written: list[CommitMessage] = field(default_factory=list)
    _replaced: list[CommitMessage] = field(default_factory=list)

    def number(
        self, entries: Sequence[ManifestEntry], flushes: Sequence[Flush], base: Base, *, replaces: bool
    ) -> list[ManifestEntry]:
        """Return the entries with files whose sequence numbers are above the numbers of older rows in their bucket.

        Older rows are the rows of ``base`` and of earlier ``flushes``. ``replaces``: the commit removes all other files
        from the buckets, so the numbers of ``base`` are ignored. Files with numbers that are too low are rewritten.
        Raises CorruptTable when such a file is missing or cannot be read.
        """
        if not self.context.has_buckets:
            return list(entries)
        added = {e.file.file_name: e.file for e in entries if e.kind is FileKind.ADD and e.file.level == 0}
        highest = {} if replaces else _highest(base, flushes)
        too_low: list[tuple[Flush, list[DataFile], int]] = []
        for flush in flushes:
            files = [f for name in flush.names if name in added for f in self._files.get(name, (added[name],))]
            if not files or flush.bucket == POSTPONE_BUCKET:  # rows in the postpone bucket have no final numbers yet
                continue
            previous = highest.get(flush.place, -1)
            last = max(f.max_sequence_number for f in files)
            if min(f.min_sequence_number for f in files) <= previous:
                originals = [added[name] for name in flush.names if name in added]
                shift = previous + 1 + GAP - min(f.min_sequence_number for f in originals)
                too_low.append((flush, originals, shift))
                last = max(f.max_sequence_number for f in originals) + shift
            highest[flush.place] = max(previous, last)
        self._shift(too_low)
        return [
            replace(e, file=file)
            for e in entries
            for file in (self._files.get(e.file.file_name, (e.file,)) if e.kind is FileKind.ADD else (e.file,))
        ]

    def published(self) -> None:
        """Delete the original files that were rewritten; called after the commit was published."""
        abort(self.replaced, self.context)
        self._clear()

    def discard(self) -> None:
        """Delete the rewritten files and keep the originals; called when the commit has certainly failed."""
        abort(self._written, self.context)
        self._clear()

    @property
    def written(self) -> tuple[CommitMessage, ...]:
        """Commit messages with the rewritten files."""
        return tuple(self._written)

    @property
    def replaced(self) -> tuple[CommitMessage, ...]:
        """Commit messages with the original files that were rewritten, to be deleted after the publish.

        The result is empty with option ``commit.discard-duplicate-files``: the original files are kept, because the
        same messages may be committed again, which has no effect.
        """
        return () if self.context.options["commit.discard-duplicate-files"] else tuple(self._replaced)

    def _clear(self) -> None:
        self._files, self._written, self._replaced = {}, [], []

    def _shift(self, too_low: Sequence[tuple[Flush, list[DataFile], int]]) -> None:
        """Add the shift of each flush to the sequence numbers of the flush's files."""
        if not too_low:
            return
        self._delete_rewritten([flush for flush, _, _ in too_low])

        def rewrite(item: tuple[Flush, DataFile, int]) -> None:
            flush, file, shift = item
            self._record_rewrite(flush, file, renumber(self.context, flush, file, shift))

        run_parallel(rewrite, [(flush, file, shift) for flush, files, shift in too_low for file in files])

    def _record_rewrite(self, flush: Flush, file: DataFile, files: tuple[DataFile, ...]) -> None:
        self._files[file.file_name] = files
        if any(f.file_name != file.file_name for f in files):
            place = (flush.partition, flush.bucket, flush.total_buckets)
            self._written.append(CommitMessage(*place, files))
            self._replaced.append(CommitMessage(*place, (file,)))

    def _delete_rewritten(self, flushes: Sequence[Flush]) -> None:
        """Delete the files that an earlier attempt rewrote for these flushes."""
        stale = {name for flush in flushes for name in flush.names if name in self._files}
        dropped = {f.file_name for name in stale for f in self._files.pop(name)}
        abort([m for m in self._written if m.new_files[0].file_name in dropped], self.context)
        self._written = [m for m in self._written if m.new_files[0].file_name not in dropped]
        self._replaced = [m for m in self._replaced if m.new_files[0].file_name not in stale]


def renumber(context: TableContext, flush: Flush, file: DataFile, shift: int) -> tuple[DataFile, ...]:
    """Raise the sequence numbers of a file's rows by ``shift``; writes new files if the rows store their numbers.

    The rows keep their order. Uses the memory of one batch and one row group. Raises CorruptTable for a file that
    cannot be read, StorageError when the store fails; no new file remains after an error.
    """
    schema = context.schemas.read(file.schema_id)
    if not schema.primary_keys:
        low, high = file.min_sequence_number + shift, file.max_sequence_number + shift
        return (replace(file, min_sequence_number=low, max_sequence_number=high),)
    at = [f.name for f in schema.file_fields].index(SEQUENCE_NUMBER)
    writer = rolling_writer(
        context if schema == context.schema else context.with_schema(schema),
        flush.partition,
        flush.bucket,
        level=file.level,
        source=file.file_source or FileSource.APPEND,
        names=FileNames.again(file.file_name),
    )
    try:
        for batch in read_batches(
            context.storage,
            context.file_path(flush.partition, flush.bucket, file),
            file=file,
            file_schema=schema,
            read_fields=schema.file_fields,
            request=FileRequest(threads=False),
        ):
            numbers = pc.add(batch.column(at), pa.scalar(shift, pa.int64()))
            writer.write(pa.Table.from_batches([batch]).set_column(at, batch.schema.field(at), numbers))
        return tuple(writer.close())
    except BaseException:
        writer.abort()
        raise


def _highest(base: Base, flushes: Sequence[Flush]) -> dict[Place, int]:
    """Return the highest sequence number of each bucket that may have got new rows after the writer read the bucket."""
    current = position_of(base.snapshot)
    stale = [f for f in flushes if f.after != current]
    highest: dict[Place, int] = {}
    unknown = set()
    for after in {f.after for f in stale}:
        places = {f.place for f in stale if f.after == after}
        added = None if after is None else _added_since(base, after)
        if added is None:
            unknown |= places
        else:
            _raise_to(highest, added, places)
    if unknown:
        partitions = {partition for partition, _ in unknown}
        _raise_to(highest, base.live(partitions.__contains__, partitions), unknown)
    return highest


def _added_since(base: Base, after: Position) -> list[ManifestEntry] | None:
    """Return the entries added after a snapshot up to the base; None if the snapshots are too many or unreadable."""
    if after[0] < base.id - DELTAS_READ:
        return None
    try:
        return [e for s in snapshots_since(base, after) for e in delta_of(base, s) if e.kind is FileKind.ADD]
    except (SnapshotNotFound, CorruptTable):  # a snapshot was rolled back or has expired
        return None


def _raise_to(highest: dict[Place, int], entries: Sequence[ManifestEntry], places: Collection[Place]) -> None:
    for entry in entries:
        place = (entry.partition, entry.bucket)
        if place in places:
            highest[place] = max(highest.get(place, -1), entry.file.max_sequence_number)
