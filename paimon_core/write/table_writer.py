"""TableWriter: batches in, commit messages out (format 7, 14.1).

Rows are conformed, split by partition and bucket and, with a primary key, sorted and merged into level-0 files. The
rows held in memory stay below ``write-buffer-size``, shared by all buckets: before rows come that would pass it, the
largest buckets go to local disk (``SpillSpace``) or into files. Nothing is visible until the messages are committed;
``abort`` (or leaving the context by an error) deletes what was written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from types import TracebackType
from typing import Any, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import GATHER_BYTES, conform, gather, one_nan, open_stream
from paimon_core.errors import InvalidRequest, SchemaMismatch, StorageError
from paimon_core.lsm.engines.choice import merge_engine
from paimon_core.metadata.commit_message import CommitMessage, Position, position_of
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.manifest import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.parallel_work import run_parallel, thread_count
from paimon_core.schema import RETRACTS, VALUE_KIND, RowKind
from paimon_core.write.bucket_writer import AppendBucketWriter, BucketWriter, KeyedBucketWriter
from paimon_core.write.bucketing import BucketRows, split_by_bucket
from paimon_core.write.row_kinds import kind_codes
from paimon_core.write.spill import SpillSpace

_Item = TypeVar("_Item")
_LEAST_GATHERED = 1 << 20
"""Bytes of batches that are put together, however small the buffer."""
LANE_ROWS = 1 << 32
"""Sequence numbers that each lane has for itself."""
_SHARED_PART = 8
"""The buckets' rows may be parts of common tables up to this fraction of the memory; the rest are copies."""
_TOGETHER = 64
"""Small buckets that are merged at once."""
_LEAST_ROWS = 1000
"""Rows that are buffered together, however small the buffer."""


class TableWriter:
    """Writes rows of one table into files; ``flush`` hands over the messages that make them visible."""

    def __init__(self, context: TableContext, *, ignore_existing: bool = False, lane: int = 0) -> None:
        """``ignore_existing``: an overwrite.

        Its sequence numbers need not follow those of the rows it replaces, and it takes no changelog (format 10.2).
        ``lane``: which of several writers this is whose messages become one commit. Where two of them write to one
        bucket, the rows of the higher lane are the later ones.
        """
        context.options.check_writable(context.name)
        self._context = context
        self._engine = merge_engine(context.schema, context.options)
        self._ignore_existing = ignore_existing
        self._memory_bytes: int = context.options["write-buffer-size"]
        self._space = SpillSpace.of(context.options)
        self._buckets: dict[tuple[bytes, int], BucketWriter] = {}
        self._existing: dict[tuple[bytes, int], int] = {}
        self._shared_bytes = 0
        self._lane = lane
        self._scanned: dict[bytes, Position] = {}
        self._bucket_counts: dict[bytes, int] = {}
        self._handed_over: dict[tuple[bytes, int], int] = {}
        self._failed = False

    def write(self, data: Any, kinds: Any = None) -> None:
        """Add rows: anything with an Arrow stream; ``kinds`` is a column's name or a column of +I, -U, +U, -D.

        Raises SchemaMismatch naming the column for data that does not fit; nothing of that batch is kept then. A
        ``kinds`` column (not a name) needs the data in memory as a whole.
        """
        self._check_usable()
        if kinds is not None and not isinstance(kinds, str):
            table = open_stream(data).read_all()
            self._write(table, kind_codes(kinds, len(table), "kinds"))
            return
        for batch in gather(open_stream(data), min(GATHER_BYTES, max(_LEAST_GATHERED, self._memory_bytes // 4))):
            if kinds is None:
                self._write(batch, None)
            elif kinds not in batch.column_names:
                raise SchemaMismatch(f"kinds names {kinds!r}, which is no column of the data", column=kinds)
            else:
                codes = kind_codes(batch[kinds], len(batch), f"column {kinds!r}")
                stays = kinds in self._context.schema.by_name
                self._write(batch if stays else batch.drop_columns([kinds]), codes)

    def _write(self, table: pa.Table, codes: pa.Array | None) -> None:
        context = self._context
        rows = conform(table, context.schema.fields)
        if not len(rows):
            return
        rows = one_nan(rows, [*context.schema.primary_keys, *context.schema.partition_keys, *context.bucket_keys])
        field = context.options["rowkind.field"]
        if field is not None:
            if codes is not None:
                raise InvalidRequest(f"table {context.name} takes row kinds from its column {field!r}, not from kinds")
            codes = kind_codes(rows[field], len(rows), f"column {field!r}")
        if not context.is_keyed:
            if codes is not None and any(k != RowKind.INSERT for k in codes.unique().to_pylist()):
                raise InvalidRequest(f"table {context.name} has no primary key and takes only +I rows")
        else:
            codes = pa.repeat(pa.scalar(RowKind.INSERT, pa.int8()), len(rows)) if codes is None else codes
            rows = self._taken(rows.append_column(VALUE_KIND, codes))
        self._buffer(rows)

    def _taken(self, rows: pa.Table) -> pa.Table:
        """The rows without those that ignore-delete and ignore-update-before drop (format 9.1)."""
        options = self._context.options
        ignored = RETRACTS if options["ignore-delete"] else frozenset[RowKind]()
        if options["ignore-update-before"]:
            ignored |= {RowKind.UPDATE_BEFORE}
        if ignored:
            rows = rows.filter(pc.invert(pc.is_in(rows[VALUE_KIND], pa.array(sorted(ignored), pa.int8()))))
        retracts = RETRACTS.intersection(rows[VALUE_KIND].unique().to_pylist())
        if retracts:
            self._engine.check_retract(retracts)
        self._engine.check_rows(rows)
        return rows

    def delete(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add -D rows of a primary-key table, whatever its ``rowkind.field`` says; ``rows`` have all of its columns.

        Raises InvalidRequest where the options take no deletes.
        """
        self._check_usable()
        if self._context.options["ignore-delete"]:
            raise InvalidRequest(f"table {self._context.name} has ignore-delete = true: it takes no deletes")
        self._engine.check_retract({RowKind.DELETE})
        rows = conform(rows, self._context.schema.fields)
        self._buffer(rows.append_column(VALUE_KIND, pa.repeat(pa.scalar(RowKind.DELETE, pa.int8()), len(rows))))

    def _check_usable(self) -> None:
        if self._failed:
            raise InvalidRequest(
                f"a write to {self._context.name} failed and lost rows: abort this writer and begin again"
            )

    def _buffer(self, rows: pa.Table) -> None:
        """Add conformed rows, in pieces that leave most of the memory to rows that came before."""
        size = rows.nbytes
        step = max(_LEAST_ROWS, len(rows) * self._memory_bytes // max(1, 2 * size))
        for start in range(0, len(rows), step):
            piece = rows.slice(start, step)
            self._make_room(size * len(piece) // len(rows))
            parts = list(split_by_bucket(piece, self._context, shares=self._shares(size * len(piece) // len(rows))))
            if self._is_numbered:
                self._scan_existing({part.partition for part in parts})
            for part in parts:
                self._writer(part.partition, part.bucket)
            if self._context.is_keyed:  # nothing is computed or written yet
                for part in parts:
                    self._add(part)
            else:
                self._each(parts, self._add)
        self._make_room(0)

    def _shares(self, size: int) -> bool:
        """Whether buckets may hold parts of one table of so many bytes, all of which stays until the last of them."""
        shares = self._shared_bytes + size <= self._memory_bytes // _SHARED_PART
        self._shared_bytes += size if shares else 0
        return shares

    def _add(self, part: BucketRows) -> None:
        self._buckets[part.partition, part.bucket].write(part.rows)

    def _make_room(self, coming: int) -> None:
        """Flush the largest buckets until ``coming`` bytes fit."""
        held = coming + sum(w.buffered_bytes for w in self._buckets.values())
        full = []
        for writer in sorted(self._buckets.values(), key=lambda w: -w.buffered_bytes):
            if held <= self._memory_bytes or not writer.buffered_bytes:
                break
            held -= writer.buffered_bytes
            full.append(writer)
        self._each(full, lambda w: w.flush())

    def _writer(self, partition: bytes, bucket: int) -> BucketWriter:
        key = (partition, bucket)
        if key not in self._buckets:
            sequence = self._first_sequence(partition, bucket)
            place = (self._context, partition, bucket, sequence)
            self._buckets[key] = (
                KeyedBucketWriter(*place, self._space, self._engine, changelog=not self._ignore_existing)
                if self._context.is_keyed
                else AppendBucketWriter(*place)
            )
        return self._buckets[key]

    def _first_sequence(self, partition: bytes, bucket: int) -> int:
        """One more than the largest sequence number of the bucket (format 7.4); 0 for tables without buckets."""
        first = self._lane * LANE_ROWS
        if not self._is_numbered:
            return first
        self._scan_existing({partition})
        if 0 < self._bucket_counts.get(partition, 0) != self._context.options["bucket"]:
            raise InvalidRequest(
                f"table {self._context.name} has bucket = {self._context.options['bucket']}, but its partition "
                f"{self._context.partition_path(partition)!r} was written with {self._bucket_counts[partition]} "
                "buckets: overwrite that partition first",
                table=self._context.name,
            )
        key = (partition, bucket)
        return max(self._existing.get(key, -1) + 1 + first, self._handed_over.get(key, 0))

    @property
    def _is_numbered(self) -> bool:
        """Whether the sequence numbers of new rows follow those that are there."""
        return self._context.options["bucket"] >= 1 and not self._ignore_existing

    def _scan_existing(self, partitions: Collection[bytes]) -> None:
        """Learn the largest sequence number of each bucket of partitions that were not looked at yet."""
        unknown = frozenset(partitions) - self._scanned.keys()
        if not unknown:
            return
        context = self._context
        for entry in read_latest(context.snapshots, partial(self._entries, unknown)):
            self._bucket_counts[entry.partition] = entry.total_buckets
            key = (entry.partition, entry.bucket)
            self._existing[key] = max(self._existing.get(key, -1), entry.file.max_sequence_number)

    def _entries(self, partitions: Collection[bytes], latest: Snapshot | None) -> list[ManifestEntry]:
        """The live files of some partitions, which are then known as of this snapshot."""
        entries = [] if latest is None else self._context.manifests.entries_of(latest, partitions)
        self._scanned.update(dict.fromkeys(partitions, position_of(latest)))
        return entries

    def _forget_existing(self) -> None:
        self._existing.clear()
        self._scanned.clear()

    def flush(self) -> list[CommitMessage]:
        """Finish all files: one message per bucket that gained any. The writer may then be used again.

        Raises TableNotFound when the table was dropped or made anew: nothing of what was written is left then.
        """
        self._check_usable()
        check_same_table(self._context, otherwise=self.abort)
        self._each(_batches(list(self._buckets.values())), _finish)
        check_same_table(self._context, otherwise=self.abort)
        total = self._context.options["bucket"]
        messages = []
        for (partition, bucket), writer in self._buckets.items():
            files = writer.take_files()
            if files.data or files.changelog:
                messages.append(
                    CommitMessage(
                        partition,
                        bucket,
                        total,
                        new_files=files.data,
                        changelog_files=files.changelog,
                        numbered_after=self._scanned.get(partition),
                    )
                )
                # Rows of a later flush come after these, committed or not; others may commit in between.
                self._handed_over[partition, bucket] = (
                    max(f.max_sequence_number for f in (*files.data, *files.changelog)) + 1
                )
        self._buckets.clear()
        self._shared_bytes = 0
        self._forget_existing()
        self._close_space()
        return messages

    def abort(self) -> None:
        """Delete every file that was written and not handed over by ``flush``."""
        try:
            for writer in self._buckets.values():
                writer.abort()
        finally:
            self._buckets.clear()
            self._shared_bytes = 0
            self._forget_existing()
            self._failed = False
            self._close_space()

    def _close_space(self) -> None:
        if self._space is not None:
            self._space.close()

    def _each(self, items: Sequence[_Item], work: Callable[[_Item], object]) -> None:
        """Do ``work`` on each item, buckets side by side: Arrow and numpy leave the interpreter lock."""
        try:
            run_parallel(work, items)
        except BaseException:
            self._failed = True
            raise

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.abort()
        except StorageError:
            if error is None:
                raise  # else the first failure is the one to hear of


def _batches(writers: Sequence[BucketWriter]) -> list[Sequence[BucketWriter]]:
    """The writers, small buckets some at a time, but so few that every thread gets a share."""
    small = [w for w in writers if isinstance(w, KeyedBucketWriter) and w.is_small]
    step = max(1, min(_TOGETHER, len(small) // (4 * thread_count(len(small) + 1))))
    known = set(map(id, small))
    alone: list[Sequence[BucketWriter]] = [[w] for w in writers if id(w) not in known]
    return [*alone, *(small[start : start + step] for start in range(0, len(small), step))]


def _finish(writers: Sequence[BucketWriter]) -> None:
    if len(writers) == 1:
        writers[0].finish()
    else:
        KeyedBucketWriter.finish_together(cast(Sequence[KeyedBucketWriter], writers))
