"""BucketReader: the files, sorted runs and sections of one bucket as rows; merge on read and compaction share it.

Memory: a window of rows per sorted run and the batch that is being decoded; never a whole file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from paimon_core.datafile.reader import read_batches
from paimon_core.lsm.engines.choice import merge_engine
from paimon_core.lsm.merge import merge_runs
from paimon_core.lsm.order import MergeOrder
from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.schema import DataField

WINDOW_ROWS = 1 << 18
"""Rows of each run that one merge step holds: enough for whole columns to pay, few enough for memory."""


@dataclass(frozen=True, slots=True)
class BucketReader:
    """Reads one (partition, bucket); ``threads``: columns are decoded side by side.

    Whoever reads several buckets at once leaves the processors to them and passes ``threads=False``.
    """

    context: TableContext
    partition: bytes
    bucket: int
    threads: bool = True

    def file(self, file: DataFile, fields: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
        """The rows of one data file as ``fields``, whatever schema it was written with (format 2.4)."""
        context = self.context
        path = context.paths.data_file(context.partition_path(self.partition), self.bucket, file.file_name)
        yield from read_batches(
            context.storage,
            path,
            file=file,
            file_schema=context.schemas.read(file.schema_id),
            read_fields=fields,
            batch_rows=WINDOW_ROWS,
            use_threads=self.threads,
        )

    def run(self, run: SortedRun, fields: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
        """The rows of one sorted run: its files one after the other, opened as they are reached."""
        return chain.from_iterable(self.file(f, fields) for f in run.files)

    def section(
        self,
        runs: Sequence[SortedRun],
        fields: Sequence[DataField],
        *,
        key: Sequence[str],
        order: MergeOrder | None,
        drop_deletes: bool,
        columns: Sequence[str] | None = None,
    ) -> Iterator[pa.Table]:
        """One row per key, sorted by key, of ``columns`` (default: all of ``fields``).

        ``runs`` come oldest first; ``fields`` hold the columns that the merge needs: the engine's inputs, the key, for
        an ``order`` (None: the runs are in sequence) sequence and kind, for deletes that are dropped the kind.
        """
        return merge_runs(
            [self.run(run, fields) for run in runs],
            key=key,
            order=order,
            engine=merge_engine(self.context.schema, self.context.options),
            drop_deletes=drop_deletes,
            window_rows=WINDOW_ROWS,
            columns=columns,
        )
