"""TableWriter: batches in, commit messages out (format 7, 14.1).

Rows are conformed, split by partition and bucket and, with a primary key, sorted and merged into level-0 files. The
rows held in memory stay below ``write-buffer-size``, shared by all buckets: the largest is flushed first. Nothing is
visible until the messages are committed; ``abort`` (or leaving the context by an error) deletes what was written.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import conform, gather, one_nan, open_stream
from paimon_core.errors import InvalidRequest, SchemaMismatch, StorageError
from paimon_core.lsm.engines.choice import merge_engine
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.schema import VALUE_KIND
from paimon_core.write.bucket_writer import AppendBucketWriter, BucketWriter, KeyedBucketWriter
from paimon_core.write.bucketing import BucketRows, split_by_bucket
from paimon_core.write.row_kinds import KIND_CODES, kind_codes


class TableWriter:
    """Writes rows of one table into files; ``flush`` hands over the messages that make them visible."""

    def __init__(self, context: TableContext, *, ignore_existing: bool = False) -> None:
        """``ignore_existing``: an overwrite, whose sequence numbers need not follow those of the rows it replaces."""
        context.options.check_writable(context.name)
        self._context = context
        self._engine = merge_engine(context.schema, context.options)
        self._ignore_existing = ignore_existing
        self._buckets: dict[tuple[bytes, int], BucketWriter] = {}
        self._existing: dict[tuple[bytes, int], int] | None = None
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
        for batch in gather(open_stream(data)):
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
            if codes is not None and any(k != 0 for k in codes.unique().to_pylist()):
                raise InvalidRequest(f"table {context.name} has no primary key and takes only +I rows")
        else:
            codes = pa.repeat(pa.scalar(0, pa.int8()), len(rows)) if codes is None else codes
            rows = self._taken(rows.append_column(VALUE_KIND, codes))
        self._buffer(rows)

    def _taken(self, rows: pa.Table) -> pa.Table:
        """The rows without those that ignore-delete and ignore-update-before drop (format 9.1)."""
        options = self._context.options
        ignored = {1, 3} if options["ignore-delete"] else {1} if options["ignore-update-before"] else set()
        if ignored:
            rows = rows.filter(pc.invert(pc.is_in(rows[VALUE_KIND], pa.array(sorted(ignored), pa.int8()))))
        if pc.any(pc.is_in(rows[VALUE_KIND], pa.array([1, 3], pa.int8()))).as_py():
            self._engine.check_retract()
        return rows

    def delete(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add -D rows of a primary-key table, whatever its ``rowkind.field`` says; ``rows`` have all of its columns."""
        self._check_usable()
        self._engine.check_retract()
        rows = conform(rows, self._context.schema.fields)
        self._buffer(rows.append_column(VALUE_KIND, pa.repeat(pa.scalar(KIND_CODES["-D"], pa.int8()), len(rows))))

    def _check_usable(self) -> None:
        if self._failed:
            raise InvalidRequest(
                f"a write to {self._context.name} failed and lost rows: abort this writer and begin again"
            )

    def _buffer(self, rows: pa.Table) -> None:
        parts = list(split_by_bucket(rows, self._context))
        for part in parts:
            self._writer(part.partition, part.bucket)
        self._each(parts, self._add)
        self._shrink()

    def _add(self, part: BucketRows) -> None:
        self._buckets[part.partition, part.bucket].write(part.rows)

    def _shrink(self) -> None:
        limit = self._context.options["write-buffer-size"]
        held = sum(w.buffered_bytes for w in self._buckets.values())
        full = []
        for writer in sorted(self._buckets.values(), key=lambda w: -w.buffered_bytes):
            if held <= limit:
                break
            held -= writer.buffered_bytes
            full.append(writer)
        self._each(full, lambda w: w.flush())

    def _writer(self, partition: bytes, bucket: int) -> BucketWriter:
        key = (partition, bucket)
        if key not in self._buckets:
            sequence = self._first_sequence(partition, bucket)
            place = (self._context, partition, bucket, sequence)
            self._buckets[key] = KeyedBucketWriter(*place) if self._context.is_keyed else AppendBucketWriter(*place)
        return self._buckets[key]

    def _first_sequence(self, partition: bytes, bucket: int) -> int:
        """One more than the largest sequence number of the bucket (format 7.4); 0 for tables without buckets."""
        if self._context.options["bucket"] < 1 or self._ignore_existing:
            return 0
        if self._existing is None:
            self._existing = self._scan_existing()
        if 0 < self._bucket_counts.get(partition, 0) != self._context.options["bucket"]:
            raise InvalidRequest(
                f"table {self._context.name} has bucket = {self._context.options['bucket']}, but its partition "
                f"{self._context.partition_path(partition)!r} was written with {self._bucket_counts[partition]} "
                "buckets: overwrite that partition first",
                table=self._context.name,
            )
        key = (partition, bucket)
        return max(self._existing.get(key, -1) + 1, self._handed_over.get(key, 0))

    def _scan_existing(self) -> dict[tuple[bytes, int], int]:
        context = self._context
        snapshot = context.snapshots.latest()
        largest: dict[tuple[bytes, int], int] = {}
        for entry in context.manifests.entries_of(snapshot) if snapshot else ():
            self._bucket_counts[entry.partition] = entry.total_buckets
            key = (entry.partition, entry.bucket)
            largest[key] = max(largest.get(key, -1), entry.file.max_sequence_number)
        return largest

    def flush(self) -> list[CommitMessage]:
        """Finish all files: one message per bucket that gained any. The writer may then be used again."""
        self._check_usable()
        self._each(list(self._buckets.values()), lambda w: w.finish())
        total = self._context.options["bucket"]
        messages = []
        for (partition, bucket), writer in self._buckets.items():
            files = writer.take_files()
            if files:
                messages.append(CommitMessage(partition, bucket, total, new_files=tuple(files)))
                # Rows of a later flush come after these, committed or not; others may commit in between.
                self._handed_over[partition, bucket] = max(f.max_sequence_number for f in files) + 1
        self._buckets.clear()
        self._existing = None
        return messages

    def abort(self) -> None:
        """Delete every file that was written and not handed over by ``flush``."""
        for writer in self._buckets.values():
            writer.abort()
        self._buckets.clear()
        self._existing = None
        self._failed = False

    def _each(self, items: list[Any], work: Any) -> None:
        """Do ``work`` on each item, buckets side by side: Arrow and numpy leave the interpreter lock."""
        threads = min(len(items), os.cpu_count() or 1)
        try:
            if threads <= 1:
                for item in items:
                    work(item)
                return
            with ThreadPoolExecutor(threads) as pool:
                for done in [pool.submit(work, item) for item in items]:
                    done.result()
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
