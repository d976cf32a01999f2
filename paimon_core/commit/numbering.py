"""Numbering: the rows of a commit get higher sequence numbers than all rows committed before (format 7.4).

A writer numbers its rows above those that it finds when it begins. Others may commit to the same bucket before it does,
and then equal or lower numbers would let an older row win. The commit then writes the level-0 files of that bucket
again with higher numbers, before it publishes. Readers of every implementation obey these numbers, so of two commits
the later one wins everywhere. Files of append tables store no numbers in their rows: there only the manifest entry
changes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.commit.abort import abort
from paimon_core.commit.base import Base
from paimon_core.commit.snapshot_history import delta_of, snapshots_since
from paimon_core.datafile.reader import read_batches
from paimon_core.datafile.table_files import rolling_writer
from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.commit_message import CommitMessage, Position, position_of
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifest import FileKind, ManifestEntry
from paimon_core.parallel_work import run_parallel
from paimon_core.schema import SEQUENCE_NUMBER
from paimon_core.storage.paths import FileNames

Place = tuple[bytes, int]
"""A serialized partition and a bucket."""

GAP = 1 << 20
"""Numbers left free below rewritten files, so that a commit that loses the next race need not write them again."""
DELTAS_READ = 50
"""Snapshots whose changes are read rather than the whole state of the buckets."""


@dataclass(frozen=True)
class Flush:
    """The new files that one writer made for one bucket; their numbers keep their order among each other."""

    partition: bytes
    bucket: int
    total_buckets: int
    names: tuple[str, ...]
    after: Position | None
    """The snapshot whose sequence numbers those of the files follow; None: not known."""

    @property
    def place(self) -> Place:
        """Its partition and bucket."""
        return self.partition, self.bucket


@dataclass
class Numbering:
    """The new files of one commit with the sequence numbers that they get; kept from try to try."""

    context: TableContext
    _files: dict[str, tuple[DataFile, ...]] = field(default_factory=dict)
    """The files that replace an original file, by its name."""
    _written: list[CommitMessage] = field(default_factory=list)
    _replaced: list[CommitMessage] = field(default_factory=list)

    def number(
        self, entries: Sequence[ManifestEntry], flushes: Sequence[Flush], base: Base, *, replaces: bool
    ) -> list[ManifestEntry]:
        """The entries with files whose numbers follow those of ``base``, and of earlier ``flushes`` to their bucket.

        ``replaces``: the commit removes everything else from the buckets. Rewrites files where that is needed.
        Raises CorruptTable when one of them is missing or cannot be read.
        """
        if self.context.options["bucket"] < 1:
            return list(entries)
        added = {e.file.file_name: e.file for e in entries if e.kind is FileKind.ADD and e.file.level == 0}
        highest = {} if replaces else _highest(base, flushes)
        late: list[tuple[Flush, list[DataFile], int]] = []
        for flush in flushes:
            files = [f for name in flush.names if name in added for f in self._files.get(name, (added[name],))]
            if not files:
                continue
            taken = highest.get(flush.place, -1)
            last = max(f.max_sequence_number for f in files)
            if min(f.min_sequence_number for f in files) <= taken:
                originals = [added[name] for name in flush.names if name in added]
                shift = taken + 1 + GAP - min(f.min_sequence_number for f in originals)
                late.append((flush, originals, shift))
                last = max(f.max_sequence_number for f in originals) + shift
            highest[flush.place] = max(taken, last)
        self._shift(late)
        return [
            replace(e, file=file)
            for e in entries
            for file in (self._files.get(e.file.file_name, (e.file,)) if e.kind is FileKind.ADD else (e.file,))
        ]

    def published(self) -> None:
        """The commit was published: delete the original files that were written again."""
        abort(self.replaced, self.context)
        self._forget()

    def discard(self) -> None:
        """The commit has certainly failed: delete the files written here; the original files stay."""
        abort(self._written, self.context)
        self._forget()

    @property
    def written(self) -> tuple[CommitMessage, ...]:
        """The files that were written here."""
        return tuple(self._written)

    @property
    def replaced(self) -> tuple[CommitMessage, ...]:
        """The original files that ``written`` stands for, to be deleted after the publish.

        None with option ``commit.discard-duplicate-files``: the same messages may be committed again, and are ignored.
        """
        return () if self.context.options["commit.discard-duplicate-files"] else tuple(self._replaced)

    def _forget(self) -> None:
        self._files, self._written, self._replaced = {}, [], []

    def _shift(self, late: Sequence[tuple[Flush, list[DataFile], int]]) -> None:
        """Raise the numbers of the files of each flush by its shift."""
        if not late:
            return
        self._drop([flush for flush, _, _ in late])

        def rewrite(item: tuple[Flush, DataFile, int]) -> None:
            flush, file, shift = item
            self._note(flush, file, renumber(self.context, flush, file, shift))

        run_parallel(rewrite, [(flush, file, shift) for flush, files, shift in late for file in files])

    def _note(self, flush: Flush, file: DataFile, files: tuple[DataFile, ...]) -> None:
        self._files[file.file_name] = files
        if any(f.file_name != file.file_name for f in files):
            place = (flush.partition, flush.bucket, flush.total_buckets)
            self._written.append(CommitMessage(*place, files))
            self._replaced.append(CommitMessage(*place, (file,)))

    def _drop(self, flushes: Sequence[Flush]) -> None:
        """Delete what an earlier try wrote for these flushes."""
        stale = {name for flush in flushes for name in flush.names if name in self._files}
        dropped = {f.file_name for name in stale for f in self._files.pop(name)}
        abort([m for m in self._written if m.new_files[0].file_name in dropped], self.context)
        self._written = [m for m in self._written if m.new_files[0].file_name not in dropped]
        self._replaced = [m for m in self._replaced if m.new_files[0].file_name not in stale]


def renumber(context: TableContext, flush: Flush, file: DataFile, shift: int) -> tuple[DataFile, ...]:
    """Give the rows of a file sequence numbers higher by ``shift``, in new files where rows store their numbers.

    The rows keep their order. Takes the memory of one batch and one row group. Raises CorruptTable and StorageError;
    then no new file is left.
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
            context.paths.data_file(context.partition_path(flush.partition), flush.bucket, file.file_name),
            file=file,
            file_schema=schema,
            read_fields=schema.file_fields,
            use_threads=False,
        ):
            numbers = pc.add(batch.column(at), pa.scalar(shift, pa.int64()))
            writer.write(pa.Table.from_batches([batch]).set_column(at, batch.schema.field(at), numbers))
        return tuple(writer.close())
    except BaseException:
        writer.abort()
        raise


def _highest(base: Base, flushes: Sequence[Flush]) -> dict[Place, int]:
    """The highest sequence number in each bucket of ``flushes`` that gained rows since it was looked at."""
    here = position_of(base.snapshot)
    stale = [f for f in flushes if f.after != here]
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
    """The entries added between a snapshot and the base; None when the snapshots in between cannot be read."""
    if after[0] < base.id - DELTAS_READ:
        return None
    try:
        return [e for s in snapshots_since(base, after) for e in delta_of(base, s) if e.kind is FileKind.ADD]
    except (SnapshotNotFound, CorruptTable):  # rolled back, or some have expired
        return None


def _raise_to(highest: dict[Place, int], entries: Sequence[ManifestEntry], places: Collection[Place]) -> None:
    for entry in entries:
        place = (entry.partition, entry.bucket)
        if place in places:
            highest[place] = max(highest.get(place, -1), entry.file.max_sequence_number)
