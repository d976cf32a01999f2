"""TableWriter: write batches of rows to files and return commit messages (format 7, 14.1).

Rows are conformed to the schema, split by partition and bucket and, with a primary key, sorted and merged into level-0
files. The rows in memory stay below ``write-buffer-size``, which all buckets share: before new rows would exceed this
size, the largest buckets are written to local disk (``SpillSpace``) or to files. Rows are visible only when the
messages are committed. ``abort``, and the end of a ``with`` block, delete the files that ``flush`` has not returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Semaphore
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import gaps, one_nan, read_tables, table_of_rows
from paimon_core.arrow.byte_budget import cut
from paimon_core.display import Displayed, Summary
from paimon_core.errors import InvalidRequest, SchemaMismatch, StorageError
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.table_identity import check_same_table, unless_dropped
from paimon_core.parallel_work import run_parallel
from paimon_core.progress_meter import meter
from paimon_core.schema import RETRACTS, VALUE_KIND, RowKind
from paimon_core.storage.paths import POSTPONE_BUCKET
from paimon_core.write.bucket_assigner import BucketAssigner, IndexUpdate
from paimon_core.write.bucket_writer import (
    STREAMS,
    AppendBucketWriter,
    BucketWriter,
    KeyedBucketWriter,
    finish,
    in_groups,
)
from paimon_core.write.bucketing import BucketRows, split_by_bucket
from paimon_core.write.default_values import conform_with_defaults
from paimon_core.write.partition_assigner import LiveKeys, PartitionAssigner
from paimon_core.write.postpone import PostponeWriter, to_fixed_buckets
from paimon_core.write.row_kinds import kind_codes
from paimon_core.write.sequence_numbers import SequenceNumbers
from paimon_core.write.spill import SpillSpace

_Item = TypeVar("_Item")
_LEAST_BYTES = 1 << 20
"""The least number of bytes of batches to combine into one batch; a small buffer does not reduce it."""
_LEAST_PIECE = 1 << 14
"""The least number of bytes of rows to buffer at once; a small buffer does not reduce it."""
_MOST_BYTES = 32 << 20
"""The greatest number of bytes of batches to combine into one batch; a large buffer does not increase it."""
_SHARED_PART = 8
"""The buffers of several buckets may be slices of one table. Such tables use at most 1/_SHARED_PART of the memory; the
rows of further tables are copied for each bucket."""


class TableWriter(Displayed):
    """Writes rows of one table to files; ``flush`` returns the commit messages that make the rows visible."""

    def __init__(
        self,
        context: TableContext,
        *,
        ignore_existing: bool = False,
        lane: int = 0,
        assigner: BucketAssigner | None = None,
        live_keys: LiveKeys | None = None,
    ) -> None:
        """Create a writer.

        ``ignore_existing`` is for an overwrite: sequence numbers need not exceed the numbers of the replaced rows, and
        no changelog is written (format 10.2). ``lane``: the number of this writer, if the messages of several writers
        become one commit. If two writers write to the same bucket, the rows of the higher lane count as later.
        ``assigner`` assigns the keys of a table with dynamic buckets, and the caller then writes the hash indexes;
        None: this writer does both. ``live_keys`` reads the keys of a table with cross-partition upsert; such a table
        cannot be written without ``live_keys``.
        """
        context.options.check_writable(context.name)
        self._sequences = SequenceNumbers(context, lane, ignore_existing=ignore_existing)
        self._use(context)
        self._ignore_existing = ignore_existing
        self._memory_bytes: int = context.options["write-buffer-size"]
        self._part_bytes = min(_MOST_BYTES, max(_LEAST_BYTES, self._memory_bytes // 4))
        self._space = SpillSpace.of(context.options)
        self._streams = Semaphore(STREAMS)
        self._buckets: dict[tuple[bytes, int], BucketWriter] = {}
        self._shared_bytes = 0
        self._lane = lane
        self._given: set[str] = set()
        self._gaps: set[str] = set()
        self._lacking: set[str] = set()
        self._progress = meter("write", "rows")
        self._failed = False
        self._fixed_counts: dict[bytes, int] = {}
        self._own_assigner = None
        self._partition_assigner = None
        if context.is_cross_partition:
            self._partition_assigner = PartitionAssigner(context, live_keys, ignore_existing=ignore_existing)
        elif context.has_dynamic_buckets and assigner is None:
            assigner = self._own_assigner = BucketAssigner(context, ignore_existing=ignore_existing)
        self._assigner = assigner
        self.rows_received = 0
        """The number of rows received so far: each version of a key counts, and rows that options ignore also count."""

    @property
    def context(self) -> TableContext:
        """The table, with the schema of the rows that are written next."""
        return self._context

    def _summary(self) -> Summary:
        return Summary(self._context.name, (("rows_received", self.rows_received),))

    def _use(self, context: TableContext) -> None:
        """Write the next rows with another schema of the table; the caller has flushed all buffered rows."""
        self._context = self._sequences.context = context
        self._engine = merge_engine(context.schema, context.options)

    def write(self, data: Any, kinds: Any = None) -> None:
        """Add rows: an object with an Arrow stream, a LazyFrame, a list of dicts, or a generator of dicts or batches.

        ``kinds``: the row kinds +I, -U, +U, -D, as a column or as the name of a column of the data. Columns are matched
        by name and converted to the types of the table; values in dicts may be ISO texts for dates and times, dicts for
        a MAP or ROW, pairs for a MAP, and any value, or a ``Variant``, for a VARIANT. Raises SchemaMismatch, which
        names the column, the row (counted from 0) and the value, when the data does not fit the schema; no row of the
        batch is written then. When ``kinds`` is a column, not a name, all data is read into memory.
        """
        self._check_usable()
        dicts, first_row = self._of_dicts, 0
        if kinds is not None and not isinstance(kinds, str):
            tables = list(read_tables(data, dicts))
            codes = kind_codes(kinds, sum(map(len, tables)), "kinds")
            for table in tables:
                self._write(table, codes.slice(first_row, len(table)), first_row)
                first_row += len(table)
            return
        for batch in read_tables(data, dicts, self._part_bytes):
            if kinds is None:
                self._write(batch, None, first_row)
            elif kinds not in batch.column_names:
                raise SchemaMismatch(f"kinds names {kinds!r}, which is not a column of the data", column=kinds)
            else:
                codes = kind_codes(batch[kinds], len(batch), f"column {kinds!r}", first_row)
                stays = kinds in self._context.schema.by_name
                self._write(batch if stays else batch.drop_columns([kinds]), codes, first_row)
            first_row += len(batch)

    @property
    def absent(self) -> list[str]:
        """The columns of the table that no batch so far had."""
        return [name for name in self._context.schema.names if name not in self._given]

    @property
    def sometimes_absent(self) -> list[str]:
        """The columns of the table that some rows so far had, and others not."""
        gaps = self._gaps | (self._lacking & self._given)
        return [name for name in self._context.schema.names if name in gaps]

    def _of_dicts(self, rows: Sequence[Mapping[str, Any]], first_row: int) -> pa.Table:
        """Return dicts as a table, and note the columns that only some of them have."""
        self._gaps.update(gaps(rows))
        return table_of_rows(rows, self._context.schema.fields, first_row)

    def _write(self, table: pa.Table, codes: pa.Array | None, first_row: int) -> None:
        """Add one batch; ``codes`` has the row kinds.

        ``table`` has no column of kinds, unless the schema has this column.
        """
        context = self._context
        self._given.update(table.column_names)
        self._lacking.update(set(context.schema.names).difference(table.column_names))
        self._progress.advance(len(table))
        rows = conform_with_defaults(table, context.schema.fields, first_row=first_row)
        if not len(rows):
            return
        rows = one_nan(rows, [*context.schema.primary_keys, *context.schema.partition_keys, *context.bucket_keys])
        field = context.options["rowkind.field"]
        if field is not None:
            if codes is not None:
                raise InvalidRequest(f"table {context.name} takes row kinds from its column {field!r}, not from kinds")
            codes = kind_codes(rows[field], len(rows), f"column {field!r}", first_row)
        if not context.is_keyed:
            if codes is not None and any(k != RowKind.INSERT for k in codes.unique().to_pylist()):
                raise InvalidRequest(f"table {context.name} has no primary key and allows only +I rows")
        else:
            if codes is None:  # options ignore no row of kind +I
                rows = rows.append_column(VALUE_KIND, pa.array(np.full(len(rows), RowKind.INSERT, np.int8)))
                self._engine.check_rows(rows)
            else:
                rows = self._without_ignored(rows.append_column(VALUE_KIND, codes))
        self._buffer(rows)

    def _without_ignored(self, rows: pa.Table) -> pa.Table:
        """Drop rows by the options ignore-delete and ignore-update-before; check the remaining rows (format 9.1)."""
        options = self._context.options
        ignored = RETRACTS if options["ignore-delete"] else frozenset[RowKind]()
        if options["ignore-update-before"]:
            ignored |= {RowKind.UPDATE_BEFORE}
        if ignored:
            before = len(rows)
            rows = rows.filter(pc.invert(pc.is_in(rows[VALUE_KIND], pa.array(sorted(ignored), pa.int8()))))
            self.rows_received += before - len(rows)
        retracts = RETRACTS.intersection(rows[VALUE_KIND].unique().to_pylist())
        if retracts:
            self._engine.check_retract(retracts)
        self._engine.check_rows(rows)
        return rows

    def delete(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add rows of kind -D in a primary-key table; ``rowkind.field`` is not used. ``rows`` must have all columns.

        Raises InvalidRequest when the table's options do not allow deletes.
        """
        self._check_usable()
        if self._context.options["ignore-delete"]:
            raise InvalidRequest(f"table {self._context.name} has ignore-delete = true: deletes are not allowed")
        self._engine.check_retract({RowKind.DELETE})
        rows = conform_with_defaults(rows, self._context.schema.fields)
        self._buffer(rows.append_column(VALUE_KIND, pa.repeat(pa.scalar(RowKind.DELETE, pa.int8()), len(rows))))

    def _check_usable(self) -> None:
        if self._failed:
            raise InvalidRequest(
                f"a write to {self._context.name} failed and lost rows: abort this writer and write all rows again"
            )

    def _buffer(self, rows: pa.Table) -> None:
        """Add conformed rows in pieces that each need only a part of the memory limit, so that earlier rows can stay in
        memory.
        """
        for piece in cut(rows, max(_LEAST_PIECE, min(4 * _MOST_BYTES, self._memory_bytes // 2))):
            size = piece.nbytes
            self._make_room(size)
            shares = self._shares(size)
            parts = list(
                split_by_bucket(
                    piece, self._context, shares=shares, assigner=self._assigner, keys=self._partition_assigner
                )
            )
            self._sequences.read({part.partition for part in parts})
            for part in parts:
                self._writer(part.partition, part.bucket)
            if self._context.is_keyed and not self._context.is_postponed:  # they are only buffered: threads do not help
                for part in parts:
                    self._add(part)
            else:
                self._run_on_each(parts, self._add)
            self.rows_received += len(piece)
        self._make_room(0)

    def _shares(self, size: int) -> bool:
        """Whether buckets may hold slices of a table of ``size`` bytes, which stays until all slices are freed."""
        shares = self._shared_bytes + size <= self._memory_bytes // _SHARED_PART
        self._shared_bytes += size if shares else 0
        return shares

    def _add(self, part: BucketRows) -> None:
        self._buckets[part.partition, part.bucket].write(part.rows)

    def _make_room(self, incoming_bytes: int) -> None:
        """Flush the largest buckets until ``incoming_bytes`` more bytes fit."""
        buffered = incoming_bytes + sum(w.buffered_bytes for w in self._buckets.values())
        to_flush = []
        for writer in sorted(self._buckets.values(), key=lambda w: -w.buffered_bytes):
            if buffered <= self._memory_bytes or not writer.buffered_bytes:
                break
            buffered -= writer.buffered_bytes
            to_flush.append(writer)
        self._run_on_each(to_flush, lambda w: w.flush())

    def _writer(self, partition: bytes, bucket: int) -> BucketWriter:
        key = (partition, bucket)
        if key not in self._buckets:
            self._buckets[key] = self._new_writer(partition, bucket)
        return self._buckets[key]

    def _new_writer(self, partition: bytes, bucket: int) -> BucketWriter:
        if bucket == POSTPONE_BUCKET:
            return PostponeWriter(self._context, partition)
        place = (self._context, partition, bucket, self._sequences.first(partition, bucket))
        if self._context.is_keyed:
            shared = (self._engine, self._space, self._streams)
            return KeyedBucketWriter(*place, *shared, changelog=not self._ignore_existing)
        return AppendBucketWriter(*place)

    def flush(self) -> list[CommitMessage]:
        """Finish all files and return one message per bucket that gained files. The writer may then be used again.

        With cross-partition upsert, commit the messages before the next rows are written: for the next rows, the writer
        reads the keys of the table again, and messages of two flushes cannot be in one commit. Raises TableNotFound
        when the table was dropped or re-created; all written files are deleted then.
        """
        messages = self._flush()
        self._progress.complete()
        if self._partition_assigner is not None:
            self._partition_assigner.reset()
        return messages

    def _flush(self) -> list[CommitMessage]:
        """Return the messages of ``flush``, but keep the assigned keys: later messages are in the same commit."""
        self._check_usable()
        check_same_table(self._context, otherwise=self.abort)
        writers = list(self._buckets.values())
        self._run_on_each([w for w in writers if isinstance(w, KeyedBucketWriter)], lambda w: w.spill_long())
        self._run_on_each(in_groups(writers), finish)
        check_same_table(self._context, otherwise=self.abort)
        total, assigner = self._context.options["bucket"], self._assigner
        assignments = {} if assigner is None else {p: assigner.assignment(p) for p, _ in self._buckets}
        if self._partition_assigner is not None:
            assignments = dict.fromkeys((p for p, _ in self._buckets), self._partition_assigner.assignment())
        indexes: dict[tuple[bytes, int], IndexUpdate] = {}
        if self._own_assigner is not None:
            indexes = self._own_assigner.write_indexes()
        messages = []
        for (partition, bucket), writer in self._buckets.items():
            files, index = writer.take_files(), indexes.get((partition, bucket))
            if files.data or files.changelog or index:
                messages.append(
                    CommitMessage(
                        partition,
                        bucket,
                        total,
                        new_files=files.data,
                        changelog_files=files.changelog,
                        new_indexes=(index.new,) if index else (),
                        deleted_indexes=(index.old,) if index and index.old else (),
                        numbered_after=self._sequences.position(partition),
                        assignment=assignments.get(partition),
                    )
                )
                self._sequences.record(partition, bucket, (*files.data, *files.changelog))
        self._buckets.clear()
        self._shared_bytes = 0
        self._sequences.clear()
        self._close_space()
        if self._context.is_postponed and self._context.options["postpone.batch-write-fixed-bucket"]:
            return self._to_fixed_buckets(messages)
        return messages

    def _to_fixed_buckets(self, staged: Sequence[CommitMessage]) -> list[CommitMessage]:
        """Return messages with the same rows in fixed buckets; delete the files of the postpone bucket."""
        fixed = partial(TableWriter, ignore_existing=self._ignore_existing, lane=self._lane)
        try:
            return to_fixed_buckets(self._context, staged, self._fixed_counts, fixed)
        except BaseException:
            self._failed = True  # the staged files with the rows are deleted
            raise

    def write_conformed(self, rows: pa.Table) -> None:
        """Add rows with exactly the table's columns and ``_VALUE_KIND``, which the caller has conformed and checked."""
        self._check_usable()
        self._buffer(rows)

    def abort(self) -> None:
        """Delete every written file that ``flush`` has not returned."""
        try:
            for writer in self._buckets.values():
                writer.abort()
        finally:
            self._buckets.clear()
            self._shared_bytes = 0
            self._sequences.clear()
            self._failed = False
            if self._own_assigner is not None:
                self._own_assigner.reset()
            if self._partition_assigner is not None:
                self._partition_assigner.reset()
            self._close_space()

    def _close_space(self) -> None:
        if self._space is not None:
            self._space.close()

    def _run_on_each(self, items: Sequence[_Item], work: Callable[[_Item], object]) -> None:
        """Call ``work`` for all items in parallel threads: Arrow and numpy release the interpreter lock."""
        try:
            unless_dropped(self._context, lambda: run_parallel(work, items))
        except BaseException:
            self._failed = True
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.abort()
        except StorageError:
            if error is None:
                raise  # otherwise the error of the block is raised
