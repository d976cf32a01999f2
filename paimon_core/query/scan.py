"""Scan: a read of one snapshot with columns, a filter and a limit, as Arrow data, pandas or polars."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.argument_checks import at_least_one
from paimon_core.display import Displayed, Summary, named
from paimon_core.errors import InvalidRequest, SnapshotNotFound, shown
from paimon_core.frames.duckdb_view import register
from paimon_core.frames.lazy_frame import lazy_frame
from paimon_core.frames.pandas_frames import in_chunks, to_pandas
from paimon_core.frames.source import optional_package
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import SNAPSHOT_TRIES
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.parallel_work import call_together
from paimon_core.plan.explanation import ScanExplanation
from paimon_core.plan.repack import repacked
from paimon_core.plan.split import Packing, Split
from paimon_core.predicate import Predicate, Where, parse_where
from paimon_core.query.description import Batching, ScanDescription
from paimon_core.query.extremes import extreme, top
from paimon_core.query.planned_rows import SNAPSHOT_ROWS, as_batches
from paimon_core.read.columns import filter_fields, named_by, result_fields
from paimon_core.read.parallel_batches import HELD_BYTES
from paimon_core.read.row_reader import check_partition, read_rows
from paimon_core.schema import TRACKING_NAMES

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars

    from paimon_core.frames.dataset import PaimonDataset


_OPEN_FILE_COST = "source.split.open-file-cost"


@dataclass(frozen=True, repr=False)
class Scan(Displayed, ScanDescription):
    """The description of a read, which may run several times; each run reads the snapshot of ``plan``.

    A scan of the latest snapshot reads a newer snapshot if the latest has expired when the scan is planned. If the
    snapshot expires later, reading raises SnapshotNotFound at the first missing file.
    """

    def _summary(self) -> Summary:
        at = "" if self.snapshot is None else f" at snapshot {self.snapshot.id}"
        facts = (
            ("columns", named(self.columns, self.context.schema.names)),
            ("where", self.where),
            ("limit", self.limit),
        )
        rows = [(field.name, field.type, "" if field.nullable else "not null") for field in self.schema]
        return Summary(self.context.name + at, facts, header=("column", "Arrow type", ""), rows=rows)

    def splits(self, target_bytes: int | None = None) -> list[Split]:
        """Return the splits of the scan. All splits together contain all rows, because ``limit`` is not applied.

        ``target_bytes``: the largest total size of the files of a split, instead of option source.split.target-size. A
        split may be larger when it has only one file, or only files that must be merged together. To read a split in
        another process, send ``split.to_bytes()`` to this process. Pass the bytes to ``read`` of a scan of the same
        table with the same columns and ``where``. Raises InvalidRequest for a size below 1.
        """
        if target_bytes is None:
            return list(self.plan.splits)
        packing = Packing(at_least_one("target_bytes", target_bytes, 1), self.context.options[_OPEN_FILE_COST])
        return repacked(self.plan.splits, packing)

    def read(self, split: Split | bytes) -> pa.RecordBatchReader:
        """Return the rows of a split of this scan or of an equal scan in another process; ``limit`` is not applied.

        A split may be given as the output of ``to_bytes``. Raises SnapshotNotFound when the split's snapshot has
        expired and a file is missing, InvalidRequest for bytes that are no split and for a split of another table,
        CorruptTable for a damaged file.
        """
        if isinstance(split, bytes):
            split = Split.from_bytes(split)
        if not isinstance(split, Split):
            raise InvalidRequest(f"read takes a split of this scan, not {split!r:.60}")
        check_partition(self.context, split)
        schema = self.schema
        batches = as_batches(read_rows(self.context, split, self.request), schema)
        return pa.RecordBatchReader.from_batches(schema, batches)

    def explain(self, *, analyze: bool = False) -> ScanExplanation:
        """Return an explanation: the files that each rule leaves out, and the files and bytes that the scan reads.

        ``str`` of the result is a readable text.

        ``analyze``: also read all rows, without the ``limit`` and in one thread, and return the numbers of files, row
        groups, rows and bytes that were decoded.
        """
        explanation: ScanExplanation = self.source.explain(self, analyze=analyze)
        return explanation

    def to_batches(
        self, *, ordered: bool = True, threads: int | None = None, held_bytes: int = HELD_BYTES
    ) -> pa.RecordBatchReader:
        """Return the rows as a stream in bounded memory; a few threads read the splits ahead.

        The rows of a scan are always in the same order, unless ``ordered`` is false: then each batch is returned as
        soon as it is ready. ``threads``: the number of splits to read at the same time, by default one per processor,
        at most 8, and 1 with a ``limit`` or for small files on the local disk. ``held_bytes``: the threads pause when
        this many bytes of batches wait to be consumed; in addition, each thread holds one batch, or one key window of a
        merge. The threads end when the stream is at its end, fails or is deleted. Raises InvalidRequest for numbers
        below 1.
        """
        threads = None if threads is None else at_least_one("threads", threads, 1)
        held_bytes = at_least_one("held_bytes", held_bytes, HELD_BYTES)
        return self._reader(Batching(ordered, threads, held_bytes))

    def _reader(self, batching: Batching) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.source.batches(self, batching))

    def to_arrow(self) -> pa.Table:
        """Return the rows as one Arrow table; several splits are read in parallel."""
        return self._reader(Batching(held_bytes=None)).read_all()

    def count(self) -> int:
        """Return the number of rows.

        Files that are not merged, and whose rows all pass the filter, are counted from metadata.
        """
        return self.source.count(self)

    def count_by_partition(self) -> pa.Table:
        """Return the partition columns and ``record_count``, one row per partition with rows; see ``count``.

        Raises InvalidRequest for a table without partitions and for a scan with a limit.
        """
        return self.source.count_by_partition(self)

    def min(self, column: str) -> Any:
        """Return the least non-null value of a column; None when there is no such value. NaN is the greatest number.

        A file whose metadata states the exact least value is not read. Any other file is read only if it may contain a
        smaller value than the files before it. Raises InvalidRequest for a column without an order and for a scan with
        a limit.
        """
        return extreme(self, column, greatest=False)

    def max(self, column: str) -> Any:
        """Return the greatest non-null value of a column; see ``min``."""
        return extreme(self, column, greatest=True)

    def top(self, n: int, *, by: str, descending: bool = False, nulls: str = "last") -> pa.Table:
        """Return the ``n`` rows with the least values of column ``by`` (the greatest if ``descending``), sorted.

        ``nulls`` is "first" or "last". Which of several rows with equal values are returned is not defined. Files and
        row groups that cannot contain one of the returned rows are not read; memory is ``n`` rows and one batch. Raises
        InvalidRequest for wrong arguments, for a column without an order and for a scan with a limit.
        """
        return top(self, n, by, descending=descending, nulls=nulls)

    def narrowed(
        self, columns: Sequence[str] | None = None, where: Predicate | None = None, limit: int | None = None
    ) -> Scan:
        """Return a scan of some columns and rows of this scan, for engines that also apply ``where`` themselves.

        The new scan may still return rows for which ``where`` is not true: a part of ``where`` that does not fit the
        table, or that would change which rows a ``limit`` returns, is ignored. ``limit``: the maximum number of rows.
        """
        keep = self.where
        for part in () if where is None or self.limit is not None else where.conjuncts():
            with contextlib.suppress(InvalidRequest):  # also SchemaMismatch
                part.bind(self.context.schema.fields)
                keep = part if keep is None else keep & part
        limits = [n for n in (self.limit, limit) if n is not None]
        names = self.columns if columns is None else named_by(self.context.schema, self.columns, columns)
        new = replace(self, columns=names, where=keep, limit=min(limits, default=None))
        new = replace(new, source=self.source.narrowed(new)).with_damaged_of(self)
        return new.with_plan_of(self) if keep is self.where else new

    def to_pandas(self, *, dtype_backend: str = "numpy") -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame.

        ``dtype_backend="pyarrow"`` returns columns of ``pandas.ArrowDtype``, which preserve nulls and the exact types.
        Raises InvalidRequest for another backend, and when pandas is not installed.
        """
        optional_package("pandas", "to_pandas")
        return to_pandas(self.to_arrow(), dtype_backend)

    def to_pandas_chunks(self, rows: int = 1 << 16, *, dtype_backend: str = "numpy") -> Iterator[pandas.DataFrame]:
        """Yield DataFrames of ``rows`` rows (the last one may be shorter) in bounded memory; see ``to_pandas``."""
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
        """Register the rows as view ``name`` of a DuckDB connection (default: that of ``duckdb.sql``); return it.

        A query reads only the columns that it needs. Raises InvalidRequest when DuckDB is not installed.
        """
        return register(self, connection, name)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_batches().__arrow_c_stream__(requested_schema)


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
        raise InvalidRequest(f"limit must be a whole number of rows from 0, not {shown(limit, 60)}", limit=limit)
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
    if snapshot is not None and context.storage.is_remote:
        snapshot = _proved(context, snapshot, pinned=pinned)
    else:
        check_same_table(context)
    return Scan(context, SNAPSHOT_ROWS, snapshot, names, predicate, limit, pinned)


def _proved(context: TableContext, snapshot: Snapshot, *, pinned: bool) -> Snapshot | None:
    """Return ``snapshot`` after one round of requests, which also reads the lists of its manifests for the plan.

    The requests are sent after the snapshot was read. They prove that it belongs to this table and, unless it is
    ``pinned``, that it is still stored: ``SnapshotStore.latest`` reads a snapshot before it knows whether a newer one
    exists. If the snapshot is not stored any more, the latest one is read and checked in its place; None when the table
    has no snapshot by then. Raises TableNotFound as ``check_same_table`` does, SnapshotNotFound when each of
    SNAPSHOT_TRIES snapshots was replaced.
    """
    chosen: Snapshot | None = snapshot
    for _ in range(SNAPSHOT_TRIES):
        if chosen is None:
            check_same_table(context)
            return None
        calls = (
            partial(check_same_table, context),
            partial(context.manifests.read_ahead, chosen),
            partial(lambda one: pinned or context.snapshots.is_live(one), chosen),
        )
        if call_together(*calls)[-1]:
            return chosen
        chosen = context.snapshots.latest()
    raise SnapshotNotFound(
        f"the latest snapshot of table {context.name} was replaced at each of {SNAPSHOT_TRIES} attempts: a rollback, "
        "an expiry or a deletion of the branch is in progress. Repeat the read",
        table=context.name,
    )
