"""BucketReader: read the files, sorted runs and sections of one bucket; used by merge on read and by compaction.

Memory: one window of rows, which the sorted runs share, and for each run one decoded batch with its Parquet pages. A
whole file is never in memory. With ``ahead``, a second window is decoded while the first one is merged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import pyarrow as pa

from paimon_core.arrow.byte_budget import BATCH_BYTES
from paimon_core.codec.arrays import Positions
from paimon_core.datafile.file_format import FileInput
from paimon_core.datafile.reading.file_request import ALL_ROWS, FileRequest
from paimon_core.datafile.reading.read_counts import ReadCounts
from paimon_core.datafile.reading.reader import opened_together, read_batches, read_small
from paimon_core.errors import CorruptTable, PaimonError
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.lsm.key_windows import WINDOW_BYTES, WINDOW_ROWS, windows
from paimon_core.lsm.lookup import holds_states, with_level
from paimon_core.lsm.merge import RowFilter, merge_runs
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.parallel_work import REMOTE_CALLS, own_processors, run_parallel
from paimon_core.predicate import BoundPredicate
from paimon_core.read.key_bounds import KeyBounds
from paimon_core.read.row_tracking import Tracked
from paimon_core.read.section_merge import SectionMerge
from paimon_core.read.unsorted_file import naming_unsorted_file
from paimon_core.schema import DataField
from paimon_core.table_indexes.live_vectors import Vectors
from paimon_core.table_indexes.vector_file import read_vector
from paimon_core.types import FIXED_ROOTS

_LEAST_BATCH_BYTES = 1 << 20
"""The smallest limit for the bytes of a batch of one run, which applies when very many runs are merged."""
_MANY_ROWS = 1 << 16
"""The minimum number of rows of runs that are read at the same time."""
_NARROW = 4
"""WINDOW_ROWS, the rows of a run in memory, is multiplied by this factor when all columns have a fixed size."""


@dataclass(frozen=True)
class BucketReader:
    """Reads the files of one bucket of one partition.

    ``threads``: decode columns in parallel. ``keep``: a function that filters the rows of each batch.

    A caller that reads several buckets in parallel passes ``threads=False``.
    """

    context: TableContext
    partition: bytes
    bucket: int
    threads: bool = True
    keep: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None
    vectors: Vectors = field(default_factory=dict)
    """The deletion vectors by file name; the rows in a vector are left out."""
    positions: Mapping[str, Positions] = field(default_factory=dict)
    """The rows to leave out, by file name; for these files the deletion vector is not used."""
    counts: ReadCounts | None = None
    """Counts the opened files and row groups, and the decoded rows and bytes; None: nothing is counted."""
    leaves_out: Callable[[CorruptTable, str, int], bool] | None = None
    """Decides whether the remaining rows of a file are left out after an error. The function gets the error, and the
    path and the number of rows of the file. None: the error is always raised.
    """
    keys: KeyBounds | None = None
    """The range of keys to which ``section`` and ``windows`` restrict their rows; None: all keys."""
    batch_rows: int | None = None
    """The largest number of rows to decode at once, for callers that need only a few rows; None: the default of the
    reader.
    """
    ahead: bool = False
    """Whether ``section`` decodes several runs at the same time, and a window while the window before it is merged."""

    held: dict[str, tuple[str, FileInput]] = field(default_factory=dict)
    """By file name: the path and the file, for files that ``open_small`` has opened and ``file`` has not read yet."""

    @cached_property
    def engine(self) -> MergeEngine:
        """The table's merge engine.

        The merge engine is created once: for a table with many columns, this takes longer than merging a small section.
        """
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
        request: FileRequest = ALL_ROWS,
        *,
        beside: int = 1,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the requested rows of one data file, converted from the file's schema to ``fields`` (format 2.4).

        This reader sets the rows to leave out and the batch size in the request. ``where`` of the request must not test
        the columns of row tracking, because these columns are computed after decoding. ``beside``: the number of files
        that are read at the same time as this file and share the bytes of a window.
        """
        context = self.context
        path, held = self.held.pop(file.file_name, None) or (self.path(file), None)
        file_schema = context.schemas.read(file.schema_id)
        tracked = None
        if context.tracks_rows:
            tracked = Tracked.of(file, fields, path, request.position, evolves=context.evolves)
        if tracked is not None:
            file_schema = tracked.schema_of(file_schema)
        request = replace(
            request,
            deleted=self.deleted(file),
            position=request.position if tracked is None else tracked.position,
            batch_rows=_rows_of_run(fields, self.batch_rows),
            batch_bytes=max(_LEAST_BATCH_BYTES, min(BATCH_BYTES, WINDOW_BYTES // beside)),
            threads=self.threads,
            counts=self.counts,
            held=held,
        )
        batches = read_batches(
            context.storage, path, file=file, file_schema=file_schema, read_fields=fields, request=request
        )
        if tracked is not None:
            batches = map(tracked.filled, batches)
        if self.leaves_out is not None:
            batches = self._until_damage(batches, file, self.leaves_out)
        if self.keep is None:
            yield from batches
        else:
            yield from (kept for kept in map(self.keep, batches) if len(kept))

    def read_small(self, file: DataFile) -> tuple[str, bytes] | None:
        """Return the path and the bytes of a small file for ``open_small``; None for a file that is larger or cannot be
        read.

        The error of a schema that cannot be read is raised.
        """
        self.context.schemas.read(file.schema_id)
        if self.context.tracks_rows:
            return None
        with contextlib.suppress(PaimonError):  # raised again when the file is read
            path = self.path(file)
            if (data := read_small(self.context.storage, path, file)) is not None:
                return path, data
        return None

    def _until_damage(
        self, batches: Iterator[pa.RecordBatch], file: DataFile, leaves_out: Callable[[CorruptTable, str, int], bool]
    ) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except CorruptTable as error:
            if not leaves_out(error, self.path(file), file.row_count):
                raise

    def deleted(self, file: DataFile) -> Positions | None:
        """Return the positions of the rows that a read of a file leaves out; None when it leaves out no row."""
        if file.file_name in self.positions:
            return self.positions[file.file_name]
        vector = self.vectors.get(file.file_name)
        return None if vector is None else read_vector(self.context, *vector, file.row_count)

    def _read_runs(
        self, runs: Sequence[SortedRun], fields: Sequence[DataField], request: FileRequest, *, levels: bool
    ) -> list[Iterator[pa.RecordBatch]]:
        """Return one iterator over the rows of each run; a file is opened when the iterator reaches it.

        On a remote store the first batches, which a merge needs together, are read now, several at the same time; a
        read that counts uses one thread (``ReadCounts``).
        ``levels``: append the column ``LEVEL`` with the level of each row's file.
        """
        found = [self._rows(run, fields, request, len(runs), levels=levels) for run in runs]
        if len(runs) < 2 or self.counts is not None or not self.context.storage.is_remote:
            return found
        begun = run_parallel(lambda batches: next(batches, None), found, REMOTE_CALLS)
        return [chain(() if first is None else (first,), batches) for first, batches in zip(begun, found, strict=True)]

    def _rows(
        self, run: SortedRun, fields: Sequence[DataField], request: FileRequest, beside: int, *, levels: bool
    ) -> Iterator[pa.RecordBatch]:
        for file in run.files:
            batches = self._file_within_keys(file, fields, request, beside=beside)
            yield from (with_level(batch, file.level) for batch in batches) if levels else batches

    def _file_within_keys(
        self, file: DataFile, fields: Sequence[DataField], request: FileRequest, *, beside: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file as ``file`` does, but only those within ``keys``."""
        sliced = None if self.keys is None else self.keys.inside(file)
        if self.keys is None or sliced is None:
            return self.file(file, fields, request, beside=beside)
        groups = self.keys.row_groups(self.context.storage, self.path(file))
        if groups == []:
            return iter(())
        return sliced(self.file(file, fields, replace(request, row_groups=groups), beside=beside))

    def windows(
        self,
        runs: Sequence[SortedRun],
        fields: Sequence[DataField],
        key: Sequence[str],
        encoded: Collection[str] = (),
    ) -> Iterator[list[pa.Table]]:
        """Yield the unmerged rows of the runs, with the column ``LEVEL``.

        Each list has the rows of one key window, a range of keys: the windows ascend. Columns in ``encoded`` may be
        dictionary-encoded.
        """
        with self.naming_unsorted_file(runs, fields, key):
            request = FileRequest(encoded=encoded)
            yield from windows(self._read_runs(runs, fields, request, levels=True), key, WINDOW_ROWS)

    def encodable(self, fields: Sequence[DataField], key: Sequence[str], order: MergeOrder | None) -> Collection[str]:
        """Return the columns that may stay dictionary-encoded until merged rows are chosen."""
        if not self.engine.keeps_last or self.keep is not None:
            return ()
        return {f.name for f in fields}.difference(key, order.sequence_fields if order else ())

    def naming_unsorted_file(
        self, runs: Sequence[SortedRun], fields: Sequence[DataField], key: Sequence[str]
    ) -> contextlib.AbstractContextManager[None]:
        """Return a context in which an error about a run that does not ascend by ``key`` gets the path of its file."""
        keys = [f for f in fields if f.name in key]
        return naming_unsorted_file(runs, lambda file: self.file(file, keys), self.path)

    def runs(self, merge: SectionMerge, early: BoundPredicate | None) -> list[Iterator[pa.RecordBatch]]:
        """Return one iterator over the unmerged rows of each run of a section that ``early`` selects."""
        request = FileRequest(early)
        return [self._rows(run, merge.fields, request, len(merge.runs), levels=False) for run in merge.runs]

    def section(
        self, merge: SectionMerge, *, early: BoundPredicate | None = None, late: RowFilter | None = None
    ) -> Iterator[pa.Table]:
        """Yield one row per key of a section, sorted by key.

        ``early`` filters the rows before the merge, and ``late`` filters the merged rows (``read.pushdown``). Raises
        CorruptTable, with the path of the file, when the keys of a run do not ascend.
        """
        runs, fields, key, order = merge.runs, merge.fields, merge.key, merge.order
        levels = len(runs) > 1 and holds_states(self.context.options)
        encoded = self.encodable(fields, key, order) if len(runs) > 1 and not levels else ()
        most = _rows_of_run(fields, self.batch_rows)
        with self.naming_unsorted_file(runs, fields, key):
            yield from merge_runs(
                self._read_runs(runs, fields, FileRequest(early, encoded=encoded), levels=levels),
                key=key,
                order=order,
                engine=self.engine,
                drop_deletes=merge.drop_deletes,
                window_rows=most,
                columns=merge.columns,
                late=late,
                ahead=self.ahead and self.batch_rows is None and _has_several_windows(runs, most),
                threads=own_processors() if self.ahead and _has_many_rows(runs) else 1,
            )


def open_small(files: Sequence[tuple[BucketReader, DataFile]]) -> None:
    """Open the small files among ``files`` together, so that ``BucketReader.file`` need not open them.

    A file that is larger or damaged is not opened. The caller bounds the number of open files.
    """
    most = REMOTE_CALLS if any(reader.context.storage.is_remote for reader, _ in files) else 1
    found_small = run_parallel(lambda each: each[0].read_small(each[1]), files, most)
    read = [(*each, small) for each, small in zip(files, found_small, strict=True) if small is not None]
    for (reader, file, (path, _)), found in zip(read, opened_together([small for *_, small in read]), strict=True):
        if found is not None:
            reader.held[file.file_name] = path, found


def _has_several_windows(runs: Sequence[SortedRun], window_rows: int) -> bool:
    """Whether the runs are certainly more than one window."""
    return len(runs) > 1 and max(sum(f.row_count for f in run.files) for run in runs) > window_rows


def _has_many_rows(runs: Sequence[SortedRun]) -> bool:
    """Whether the runs have so many rows that reading them at the same time is worth threads."""
    return sum(f.row_count for run in runs for f in run.files) >= _MANY_ROWS


def _rows_of_run(fields: Sequence[DataField], most: int | None = None) -> int:
    """Return the number of rows of a run to hold in memory, or of a file to decode at once; the number is at most
    ``most``.

    The number is smaller for columns such as texts, which may be dictionary-encoded: the bytes of the values are known
    only after decoding.
    """
    is_fixed = all(f.type.root in FIXED_ROOTS for f in fields)
    rows = WINDOW_ROWS * _NARROW if is_fixed else WINDOW_ROWS
    return rows if most is None else min(rows, most)
