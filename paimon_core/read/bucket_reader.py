"""BucketReader: read the files, sorted runs and sections of one bucket; used by merge on read and by compaction.

Memory: one window of rows, shared by the sorted runs, and one batch with its pages per run; never a whole file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import pyarrow as pa

from paimon_core.arrow.byte_budget import BATCH_BYTES
from paimon_core.codec.arrays import Mask, Positions
from paimon_core.datafile.reading.read_counts import ReadCounts
from paimon_core.datafile.reading.reader import read_batches
from paimon_core.errors import CorruptTable
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.lsm.key_windows import WINDOW_BYTES, WINDOW_ROWS, windows
from paimon_core.lsm.lookup import holds_states, with_level
from paimon_core.lsm.merge import RowFilter, merge_runs
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.predicate import BoundPredicate
from paimon_core.read.row_tracking import Tracked
from paimon_core.read.unsorted_file import naming_unsorted_file
from paimon_core.schema import DataField
from paimon_core.table_indexes.live_vectors import Vectors
from paimon_core.table_indexes.vector_file import read_vector

_LEAST_BATCH_BYTES = 1 << 20
"""The bytes of a batch of each run when very many runs are merged."""
_NARROW = 4
"""How many times WINDOW_ROWS to read at once when the bytes of all columns are known before decoding."""


@dataclass(frozen=True)
class BucketReader:
    """Reads one (partition, bucket). ``threads``: decode columns in parallel; ``keep``: filters the rows of each batch.

    A caller that reads several buckets in parallel passes ``threads=False``.
    """

    context: TableContext
    partition: bytes
    bucket: int
    threads: bool = True
    keep: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None
    vectors: Vectors = field(default_factory=dict)
    """The deletion vectors of the files to read, whose rows are left out."""
    positions: Mapping[str, Positions] = field(default_factory=dict)
    """The rows to leave out by file, instead of those of its deletion vector."""
    counts: ReadCounts | None = None
    """Is told what is opened and decoded."""
    leaves_out: Callable[[CorruptTable, str, int], bool] | None = None
    """Whether the rest of a file, given by its path and number of rows, is left out after an error; None: never."""
    batch_rows: int | None = None
    """The largest number of rows to decode at once, for callers that need only a few."""

    @cached_property
    def engine(self) -> MergeEngine:
        """The table's merge engine, created once: for a wide table that takes longer than to merge a small section."""
        return merge_engine(self.context.schema.without_row_state, self.context.options)

    def path(self, file: DataFile) -> str:
        """Return the path of a data file of the bucket."""
        return self.path_of(file, file.file_name)

    def path_of(self, file: DataFile, name: str) -> str:
        """Return the path of the file ``name`` in the directory of a data file."""
        return self.context.file_path(self.partition, self.bucket, file, name)

    def file(
        self,
        file: DataFile,
        fields: Sequence[DataField],
        row_groups: list[int] | None = None,
        *,
        rows: Mask | None = None,
        beside: int = 1,
        encoded: Collection[str] = (),
        position: str | None = None,
        where: BoundPredicate | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one data file as ``fields``, whatever schema it was written with (format 2.4).

        ``row_groups``: the only row groups to read. ``rows``: the only rows to read, one bool per row. ``beside``: the
        number of files read at the same time, which share the bytes of a window. ``encoded``: text columns that may be
        returned as dictionaries. ``position``: the name of an additional column with the position of each row.
        ``where``: a filter on stored columns of ``fields``, not those of row tracking, which are computed.
        """
        context = self.context
        tracked = None
        if context.tracks_rows:
            tracked = Tracked.of(file, fields, self.path(file), position, evolves=context.evolves)
        file_schema = context.schemas.read(file.schema_id)
        batches = read_batches(
            context.storage,
            self.path(file),
            file=file,
            file_schema=file_schema if tracked is None else tracked.schema_of(file_schema),
            read_fields=fields,
            batch_rows=min(_rows_of_run(fields), self.batch_rows or WINDOW_ROWS * _NARROW),
            batch_bytes=max(_LEAST_BATCH_BYTES, min(BATCH_BYTES, WINDOW_BYTES // beside)),
            row_groups=row_groups,
            rows=rows,
            use_threads=self.threads,
            encoded=encoded,
            deleted=self.deleted(file),
            position=position if tracked is None else tracked.position,
            where=where,
            counts=self.counts,
        )
        if tracked is not None:
            batches = map(tracked.filled, batches)
        if self.leaves_out is not None:
            batches = self._until_damage(batches, file, self.leaves_out)
        if self.keep is None:
            yield from batches
        else:
            yield from (kept for kept in map(self.keep, batches) if len(kept))

    def _until_damage(
        self, batches: Iterator[pa.RecordBatch], file: DataFile, leaves_out: Callable[[CorruptTable, str, int], bool]
    ) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except CorruptTable as error:
            if not leaves_out(error, self.path(file), file.row_count):
                raise

    def deleted(self, file: DataFile) -> Positions | None:
        """Return the positions of the rows of a file to leave out, or None for a file without deletion vector."""
        if file.file_name in self.positions:
            return self.positions[file.file_name]
        vector = self.vectors.get(file.file_name)
        return None if vector is None else read_vector(self.context, *vector, file.row_count)

    def run(
        self,
        run: SortedRun,
        fields: Sequence[DataField],
        *,
        levels: bool = False,
        beside: int = 1,
        encoded: Collection[str] = (),
        where: BoundPredicate | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one sorted run: its files in order, each opened when it is reached.

        ``levels``: append the column ``LEVEL`` with the level of each row's file. ``beside``: the number of runs read
        at the same time. ``encoded``: text columns that may be returned as dictionaries. ``where``: as in
        ``file``.
        """
        if levels:
            return (
                with_level(batch, f.level)
                for f in run.files
                for batch in self.file(f, fields, beside=beside, where=where)
            )
        return chain.from_iterable(self.file(f, fields, beside=beside, encoded=encoded, where=where) for f in run.files)

    def windows(
        self, runs: Sequence[SortedRun], fields: Sequence[DataField], key: Sequence[str]
    ) -> Iterator[list[pa.Table]]:
        """Yield the unmerged rows of some runs, window by window, with their ``LEVEL`` (``lsm.key_windows``)."""
        with self.naming_unsorted_file(runs, fields, key):
            yield from windows([self.run(run, fields, levels=True, beside=len(runs)) for run in runs], key, WINDOW_ROWS)

    def naming_unsorted_file(
        self, runs: Sequence[SortedRun], fields: Sequence[DataField], key: Sequence[str]
    ) -> contextlib.AbstractContextManager[None]:
        """Return a context in which an error about a run that does not ascend by ``key`` gets the path of its file."""
        keys = [f for f in fields if f.name in key]
        return naming_unsorted_file(runs, lambda file: self.file(file, keys), self.path)

    def section(
        self,
        runs: Sequence[SortedRun],
        fields: Sequence[DataField],
        *,
        key: Sequence[str],
        order: MergeOrder | None,
        drop_deletes: bool,
        columns: Sequence[str] | None = None,
        keep: RowFilter | None = None,
        below: BoundPredicate | None = None,
    ) -> Iterator[pa.Table]:
        """Yield one row per key, sorted by key, with ``columns`` (default: all of ``fields``).

        ``runs`` are ordered from the oldest. ``fields`` contain all columns that the merge needs: the engine's inputs,
        the key, sequence number and row kind if there is an ``order`` (None: the runs are in sequence), and the row
        kind if ``drop_deletes``. ``keep``: filters the merged rows. ``below``: a filter on key columns,
        applied before the merge: all rows of a key pass it or none. Raises CorruptTable that names the file when the
        keys of a run do not ascend.
        """
        levels = len(runs) > 1 and holds_states(self.context.options)
        encoded: set[str] = set()
        if len(runs) > 1 and self.engine.keeps_last and self.keep is None and not levels:
            encoded = {f.name for f in fields}.difference(key, order.sequence_fields if order else ())
        merged = merge_runs(
            [self.run(run, fields, levels=levels, beside=len(runs), encoded=encoded, where=below) for run in runs],
            key=key,
            order=order,
            engine=self.engine,
            drop_deletes=drop_deletes,
            window_rows=min(_rows_of_run(fields), self.batch_rows or WINDOW_ROWS * _NARROW),
            columns=[f.name for f in fields] if columns is None else columns,
            keep=keep,
        )
        with self.naming_unsorted_file(runs, fields, key):
            yield from merged


def _rows_of_run(fields: Sequence[DataField]) -> int:
    """Return how many rows of a run to hold at once.

    Texts may be dictionary-encoded, so their bytes are known only after decoding: then fewer rows are held.
    """
    fixed = all(pa.types.is_primitive(f.arrow.type) or pa.types.is_decimal(f.arrow.type) for f in fields)
    return WINDOW_ROWS * _NARROW if fixed else WINDOW_ROWS
