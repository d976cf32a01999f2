"""BucketReader: the files, sorted runs and sections of one bucket as rows; merge on read and compaction share it.

Memory: a window of rows, shared by the sorted runs, and a batch and its pages per run; never a whole file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import pyarrow as pa

from paimon_core.datafile.reader import read_batches
from paimon_core.lsm.engines.choice import merge_engine
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.key_windows import WINDOW_BYTES, WINDOW_ROWS, windows
from paimon_core.lsm.lookup import holds_states, with_level
from paimon_core.lsm.merge import RowFilter, merge_runs
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.schema import DataField

_BATCH_BYTES = 16 << 20
_NARROW = 4
"""How many times WINDOW_ROWS are read of columns whose bytes are known before they are decoded."""


@dataclass(frozen=True)
class BucketReader:
    """Reads one (partition, bucket); ``threads``: columns are decoded side by side; ``keep``: rows to give on.

    Whoever reads several buckets at once leaves the processors to them and passes ``threads=False``.
    """

    context: TableContext
    partition: bytes
    bucket: int
    threads: bool = True
    keep: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None

    @cached_property
    def engine(self) -> MergeEngine:
        """The table's merge engine, made once: for a wide table that takes longer than a small section."""
        return merge_engine(self.context.schema, self.context.options)

    def path(self, file: DataFile) -> str:
        """Where a data file of the bucket lies."""
        context = self.context
        return context.paths.data_file(context.partition_path(self.partition), self.bucket, file.file_name)

    def file(
        self,
        file: DataFile,
        fields: Sequence[DataField],
        row_groups: list[int] | None = None,
        *,
        beside: int = 1,
        encoded: Collection[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        """The rows of one data file as ``fields``, whatever schema it was written with (format 2.4).

        ``row_groups``: only these are read. ``beside``: so many files are read at once and share the bytes of a window.
        ``encoded``: text columns that may come as dictionaries.
        """
        context = self.context
        batches = read_batches(
            context.storage,
            self.path(file),
            file=file,
            file_schema=context.schemas.read(file.schema_id),
            read_fields=fields,
            batch_rows=_rows_of_run(fields),
            batch_bytes=min(_BATCH_BYTES, WINDOW_BYTES // beside),
            row_groups=row_groups,
            use_threads=self.threads,
            encoded=encoded,
        )
        if self.keep is None:
            yield from batches
        else:
            yield from (kept for kept in map(self.keep, batches) if len(kept))

    def run(
        self,
        run: SortedRun,
        fields: Sequence[DataField],
        *,
        levels: bool = False,
        beside: int = 1,
        encoded: Collection[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        """The rows of one sorted run: its files one after the other, opened as they are reached.

        ``levels``: each row has the level of its file in the column ``LEVEL``, last. ``beside``: the runs read at once.
        ``encoded``: text columns that may come as dictionaries.
        """
        if levels:
            return (with_level(batch, f.level) for f in run.files for batch in self.file(f, fields, beside=beside))
        return chain.from_iterable(self.file(f, fields, beside=beside, encoded=encoded) for f in run.files)

    def windows(
        self, runs: Sequence[SortedRun], fields: Sequence[DataField], key: Sequence[str]
    ) -> Iterator[list[pa.Table]]:
        """The rows of some runs before any merge, window by window, with their ``LEVEL`` (``lsm.window``)."""
        return windows([self.run(run, fields, levels=True, beside=len(runs)) for run in runs], key, WINDOW_ROWS)

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
    ) -> Iterator[pa.Table]:
        """One row per key, sorted by key, of ``columns`` (default: all of ``fields``); ``keep``: which merged rows.

        ``runs`` come oldest first; ``fields`` hold the columns that the merge needs: the engine's inputs, the key, for
        an ``order`` (None: the runs are in sequence) sequence and kind, for deletes that are dropped the kind.
        """
        levels = len(runs) > 1 and holds_states(self.context.options)
        encoded: set[str] = set()
        if len(runs) > 1 and self.engine.keeps_last and self.keep is None and not levels:
            encoded = {f.name for f in fields}.difference(key, order.sequence_fields if order else ())
        return merge_runs(
            [self.run(run, fields, levels=levels, beside=len(runs), encoded=encoded) for run in runs],
            key=key,
            order=order,
            engine=self.engine,
            drop_deletes=drop_deletes,
            window_rows=_rows_of_run(fields),
            columns=[f.name for f in fields] if columns is None else columns,
            keep=keep,
        )


def _rows_of_run(fields: Sequence[DataField]) -> int:
    """The rows of a run to hold at once; the bytes of texts that repeat are seen only once they are decoded."""
    fixed = all(pa.types.is_primitive(f.arrow.type) or pa.types.is_decimal(f.arrow.type) for f in fields)
    return WINDOW_ROWS * _NARROW if fixed else WINDOW_ROWS
