"""Scan: a read of one snapshot with columns, a filter and a limit, as Arrow data, pandas or polars."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.argument_checks import at_least_one
from paimon_core.errors import CorruptTable, InvalidRequest, SnapshotNotFound
from paimon_core.frames.duckdb_view import register
from paimon_core.frames.lazy_frame import lazy_frame
from paimon_core.frames.pandas_frames import in_chunks, to_pandas
from paimon_core.frames.source import optional_package
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.read_again import is_missing
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.plan.explanation import ScanExplanation
from paimon_core.plan.plan_scan import ScanPlan, plan_scan
from paimon_core.plan.repack import evenly, repacked
from paimon_core.plan.split import Packing, Split
from paimon_core.plan.units import enough_splits
from paimon_core.predicate import Predicate, Where, parse_where
from paimon_core.query.counting import count_partitions, count_rows
from paimon_core.query.explained import explained
from paimon_core.query.extremes import extreme, top
from paimon_core.query.scan_options import check_full_scan, protect
from paimon_core.read.columns import filter_fields, named_by, result_fields
from paimon_core.read.damaged_files import DamagedFiles
from paimon_core.read.parallel_batches import HELD_BYTES, MAX_THREADS, parallel_batches
from paimon_core.read.row_reader import check_partition, read_rows
from paimon_core.schema import TRACKING_NAMES

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars

    from paimon_core.frames.dataset import PaimonDataset


_MAX_ROWS = 2**62
_OPEN_FILE_COST = "source.split.open-file-cost"


@dataclass(frozen=True)
class Scan:
    """The description of a read, which may run several times; each run reads the snapshot of its ``plan``.

    If the latest snapshot expires before the scan is planned, the scan reads a newer one. If the snapshot expires
    later, reading raises SnapshotNotFound at the first missing file.
    """

    context: TableContext
    snapshot: Snapshot | None
    """The snapshot to read: the pinned one, or the one that was the latest when the scan was created."""
    columns: tuple[str, ...]
    where: Predicate | None = None
    limit: int | None = None
    pinned: bool = True
    """Whether only ``snapshot`` may be read, and not a newer one."""
    created_from: int | None = None
    """Epoch milliseconds: only files that were created then or later are read; None: all."""

    @cached_property
    def plan(self) -> ScanPlan:
        """The splits to read, and how many files each kind of pruning left out.

        Raises SnapshotNotFound when the snapshot has expired, TableNotFound when the table was dropped or re-created.
        """
        try:
            return self._plan(self.snapshot)
        except (SnapshotNotFound, CorruptTable) as error:
            if not is_missing(error):
                raise
            check_same_table(self.context)
            if self.pinned or self.context.snapshots.latest() == self.snapshot:
                raise
        return read_latest(self.context.snapshots, self._plan)

    @cached_property
    def damaged(self) -> DamagedFiles | None:
        """The damaged files that reads of this scan have left out; None unless options ``scan.ignore-*`` allow that."""
        return DamagedFiles.of(self.context.options)

    @property
    def ignored_files(self) -> tuple[str, ...]:
        """The paths of the damaged data files that reads of this scan have left out so far in this process, sorted.

        Not empty only under the options ``scan.ignore-lost-files`` and ``scan.ignore-corrupt-files``. The rows that a
        damaged file gave before the damage are in the result.
        """
        return () if self.damaged is None else tuple(sorted(self.damaged.found))

    def _plan(self, snapshot: Snapshot | None) -> ScanPlan:
        context = self.context
        protect(context, snapshot)
        plan = plan_scan(
            snapshot=snapshot,
            schema=context.schema,
            options=context.options,
            manifests=context.manifests,
            schemas=context.schemas.read,
            where=None if self.where is None else self.where.only(context.schema.by_name),
            created_from=self.created_from,
        )
        check_full_scan(context, plan)
        return plan

    def splits(self, target_bytes: int | None = None) -> list[Split]:
        """Return the units of reading; together they contain the rows of the scan, without its ``limit``.

        ``target_bytes``: the size of the files of a split, instead of option source.split.target-size. A file that is
        larger, and files that must be merged together, are in one split. To read a split in another process, send
        ``split.to_bytes()``, and pass the ``Split.from_bytes`` of it to ``read`` of a scan of the same table with the
        same columns and ``where``. Raises InvalidRequest for a size below 1.
        """
        if target_bytes is None:
            return list(self.plan.splits)
        packing = Packing(at_least_one("target_bytes", target_bytes, 1), self.context.options[_OPEN_FILE_COST])
        return repacked(self.plan.splits, packing)

    def read(self, split: Split | bytes) -> pa.RecordBatchReader:
        """Return the rows of a split of this scan or of an equal scan in another process; ``limit`` is not applied.

        A split may be given as the output of ``to_bytes``. Raises SnapshotNotFound when the split's snapshot has
        expired and a file is missing, InvalidRequest for other bytes and for a split of another table, CorruptTable.
        """
        if isinstance(split, bytes):
            split = Split.from_bytes(split)
        if not isinstance(split, Split):
            raise InvalidRequest(f"read takes a split of this scan, not {split!r:.60}")
        check_partition(self.context, split)
        schema = self.schema
        tables = read_rows(self.context, split, self.columns, self.where, damaged=self.damaged)
        return pa.RecordBatchReader.from_batches(schema, (b for t in tables for b in _typed(t, schema).to_batches()))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("plan", "damaged")}

    def explain(self, *, analyze: bool = False) -> ScanExplanation:
        """Return what the scan leaves out and by which rule, what it reads and what that costs; ``str`` of it is text.

        ``analyze``: also read all rows, without the ``limit`` and in one thread, and return what was decoded.
        """
        return explained(self, analyze=analyze)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return pa.schema([f.arrow for f in result_fields(self.context.schema, self.columns)])

    def _batches(
        self, *, ordered: bool = True, threads: int | None = None, held_bytes: int | None = HELD_BYTES
    ) -> Iterator[pa.RecordBatch]:
        if self.limit == 0:
            return
        if threads is None:
            threads = min(os.cpu_count() or 1, MAX_THREADS) if self.limit is None else 1
        found = self.plan.splits if self.where is not None else enough_splits(self.plan.splits, self.limit)
        splits = evenly(found, threads) if threads > 1 else found
        schema = self.schema
        # Several splits at the same time use all processors, so each of them is decoded in one thread.
        decode_threads = min(threads, len(splits)) < (os.cpu_count() or 1)

        def read(split: Split) -> Iterator[pa.RecordBatch]:
            settings = {"threads": decode_threads, "most": self.limit, "damaged": self.damaged}
            for table in read_rows(self.context, split, self.columns, self.where, **settings):
                yield from _typed(table, schema).to_batches()

        batches = parallel_batches(read, splits, threads=threads, held_bytes=held_bytes, ordered=ordered)
        yield from batches if self.limit is None else first_rows(batches, min(self.limit, _MAX_ROWS))

    def to_batches(
        self, *, ordered: bool = True, threads: int | None = None, held_bytes: int = HELD_BYTES
    ) -> pa.RecordBatchReader:
        """Return the rows as a stream in bounded memory; a few threads read the splits ahead.

        The rows of a scan are always in the same order, unless ``ordered`` is false: batches then come as they are
        ready. ``threads``: the number of splits to read at the same time, by default one per processor, at most 8, and
        1 with a ``limit``. ``held_bytes``: the threads pause when this many bytes wait to be consumed; each thread has
        in addition one batch, or one window of a merge. The threads end when the stream is at its end, fails or is
        deleted. Raises InvalidRequest for numbers below 1.
        """
        threads = None if threads is None else at_least_one("threads", threads, 1)
        held_bytes = at_least_one("held_bytes", held_bytes, HELD_BYTES)
        return self._reader(ordered=ordered, threads=threads, held_bytes=held_bytes)

    def _reader(self, **settings: Any) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self._batches(**settings))

    def to_arrow(self) -> pa.Table:
        """Return the rows as one Arrow table; several splits are read in parallel."""
        return self._reader(held_bytes=None).read_all()

    def count(self) -> int:
        """Return the number of rows; from metadata for files whose rows are not merged and all pass the filter."""
        if self.filters_metadata:
            return sum(map(len, replace(self, columns=self.columns[:1])._reader()))
        return count_rows(self)

    @property
    def filters_metadata(self) -> bool:
        """Whether ``where`` tests columns that are not in the table, such as the path of the file."""
        return self.where is not None and not self.where.columns <= self.context.schema.by_name.keys()

    def count_by_partition(self) -> pa.Table:
        """Return the partition columns and ``record_count``, one row for each partition with rows; as ``count``.

        Raises InvalidRequest for a table without partitions and for a scan with a limit.
        """
        return count_partitions(self)

    def min(self, column: str) -> Any:
        """Return the least value of a column that is not null; None without one. NaN is greater than other numbers.

        Answered from metadata for files that state it exactly; others are read only if they may contain less. Raises
        InvalidRequest for a column without an order and for a scan with a limit.
        """
        return extreme(self, column, greatest=False)

    def max(self, column: str) -> Any:
        """Return the greatest value of a column that is not null; see ``min``."""
        return extreme(self, column, greatest=True)

    def top(self, n: int, *, by: str, descending: bool = False, nulls: str = "last") -> pa.Table:
        """Return the ``n`` rows with the least values of the column ``by`` (or the greatest), in that order.

        ``nulls`` is "first" or "last". Which of several rows with equal values are returned is not defined. Files and
        row groups that cannot contain one of the rows are not read; memory is ``n`` rows and one batch. Raises
        InvalidRequest for other arguments, for a column without an order and for a scan with a limit.
        """
        return top(self, n, by, descending=descending, nulls=nulls)

    def narrowed(
        self, columns: Sequence[str] | None = None, where: Predicate | None = None, limit: int | None = None
    ) -> Scan:
        """Return a scan of some of the columns and rows of this one, for readers that apply ``where`` themselves.

        ``where`` may leave out rows for which it is not true; a part that does not fit the table, or would change
        which rows a ``limit`` returns, is left out. ``limit``: the most rows to return.
        """
        keep = self.where
        for part in () if where is None or self.limit is not None else where.conjuncts():
            with contextlib.suppress(InvalidRequest):  # also SchemaMismatch
                part.bind(self.context.schema.fields)
                keep = part if keep is None else keep & part
        limits = [n for n in (self.limit, limit) if n is not None]
        names = self.columns if columns is None else named_by(self.context.schema, self.columns, columns)
        new = replace(self, columns=names, where=keep, limit=min(limits, default=None))
        new.__dict__["damaged"] = self.damaged
        if keep is self.where and "plan" in self.__dict__:
            new.__dict__["plan"] = self.plan
        return new

    def to_pandas(self, *, dtype_backend: str = "numpy") -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame.

        ``dtype_backend="pyarrow"`` returns columns of ``pandas.ArrowDtype``, which keep nulls and the exact types.
        Raises InvalidRequest for another backend, and when pandas is not installed.
        """
        optional_package("pandas", "to_pandas")
        return to_pandas(self.to_arrow(), dtype_backend)

    def to_pandas_chunks(self, rows: int = 1 << 16, *, dtype_backend: str = "numpy") -> Iterator[pandas.DataFrame]:
        """Return DataFrames of ``rows`` rows each, the last one with the rest, in bounded memory; see ``to_pandas``."""
        return in_chunks(self.to_batches(), at_least_one("rows", rows, 1), dtype_backend)

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a polars DataFrame; raises InvalidRequest when polars is not installed."""
        return optional_package("polars", "to_polars").from_arrow(self.to_arrow())

    def to_lazy(self) -> polars.LazyFrame:
        """Return the rows as a polars LazyFrame, which reads only the columns and rows that a query needs.

        Raises InvalidRequest when polars is not installed.
        """
        return lazy_frame(self)

    def to_dataset(self) -> PaimonDataset:
        """Return the rows as a ``pyarrow.dataset.Dataset``, whose scanner reads only the columns that it needs."""
        from paimon_core.frames.dataset import PaimonDataset

        return PaimonDataset(self)

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None, *, name: str) -> duckdb.DuckDBPyRelation:
        """Register the rows as a view of a DuckDB connection (None: the default one of ``duckdb.sql``); return it.

        A query reads only the columns that it needs. Raises InvalidRequest when DuckDB is not installed.
        """
        return register(self, connection, name)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_batches().__arrow_c_stream__(requested_schema)


def first_rows(batches: Iterator[pa.RecordBatch], count: int) -> Iterator[pa.RecordBatch]:
    """Yield the first rows, and read no further batch when there are enough."""
    with contextlib.closing(batches):  # type: ignore[type-var]
        for batch in batches:
            yield batch.slice(0, count)
            count -= min(count, len(batch))
            if not count:
                return


def _typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays(table.columns, schema=schema)


def _are_names(columns: object) -> bool:
    return isinstance(columns, Collection) and all(isinstance(name, str) for name in columns)


def new_scan(
    context: TableContext,
    snapshot: Snapshot | None,
    columns: Sequence[str] | None,
    where: Where | None,
    limit: int | None,
    *,
    pinned: bool = True,
) -> Scan:
    """Check the arguments and return the scan.

    Raises SchemaMismatch for unknown columns, InvalidRequest for an invalid limit or predicate, TableNotFound when the
    table was dropped or re-created: ``snapshot`` may then belong to another table.
    """
    if columns is not None and (isinstance(columns, str) or not _are_names(columns)):
        raise InvalidRequest(f"columns must be a list of names, not {columns!r:.60}")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise InvalidRequest(f"limit must be a whole number of rows from 0, not {limit!r}", limit=limit)
    names = tuple(columns) if columns is not None else tuple(context.schema.names)
    if not set(TRACKING_NAMES).isdisjoint(names):
        context = context.tracked()
    if not names:
        raise InvalidRequest("columns must name at least one column")
    result_fields(context.schema, names)
    named = parse_where(where)
    if named is not None and not named.columns.isdisjoint(TRACKING_NAMES):
        context = context.tracked()
    predicate = None if named is None else parse_where(where, filter_fields(context.schema, named))
    check_same_table(context)  # after the snapshot was read, so that it is known to belong to this table
    return Scan(context, snapshot, names, predicate, limit, pinned)
