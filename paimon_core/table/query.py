"""Scan: a read of one snapshot with columns, a filter and a limit, as Arrow data, pandas or polars."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.errors import CorruptTable, InvalidRequest, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import is_missing, read_latest
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.parallel_work import run_parallel
from paimon_core.predicate import Predicate, parse_where
from paimon_core.read.changelog_reader import changes_schema, read_changes
from paimon_core.read.split_reader import read_split
from paimon_core.scan.changelog_plan import changed_snapshots
from paimon_core.scan.plan import ScanPlan, plan_scan
from paimon_core.scan.split import Split
from paimon_core.schema import TRACKING_NAMES

if TYPE_CHECKING:
    import pandas
    import polars


_MAX_ROWS = 2**62


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

    def _plan(self, snapshot: Snapshot | None) -> ScanPlan:
        context = self.context
        return plan_scan(
            snapshot=snapshot,
            schema=context.schema,
            options=context.options,
            manifests=context.manifests,
            schemas=context.schemas.read,
            where=self.where,
        )

    def splits(self) -> list[Split]:
        """Return the units of reading; together they contain the rows of the scan, without its ``limit``.

        To read a split in another process, send ``split.to_bytes()``, and pass the ``Split.from_bytes`` of it to
        ``read`` of a scan of the same table with the same columns and ``where``.
        """
        return list(self.plan.splits)

    def read(self, split: Split) -> pa.RecordBatchReader:
        """Return the rows of a split of this scan or of an equal scan in another process; ``limit`` is not applied.

        Raises SnapshotNotFound when the split's snapshot has expired and a file is missing, CorruptTable.
        """
        if not isinstance(split, Split):
            raise InvalidRequest(f"read takes a split of this scan, not {split!r:.60}")
        schema = self.schema
        tables = read_split(self.context, split, self.columns, self.where)
        return pa.RecordBatchReader.from_batches(schema, (b for t in tables for b in _typed(t, schema).to_batches()))

    def explain(self) -> str:
        """Return the plan as text: files read and pruned, splits read raw and merged."""
        return self.plan.explain()

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return pa.schema([f.arrow for f in self.context.schema.select(self.columns)])

    def _tables(self) -> Iterator[pa.Table]:
        left = None if self.limit is None else min(self.limit, _MAX_ROWS)
        for split in self.plan.splits:
            for table in read_split(self.context, split, self.columns, self.where):
                if left is None:
                    yield table
                    continue
                yield table.slice(0, left)
                left -= min(left, len(table))
                if not left:
                    return

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the rows as a stream, split after split, in bounded memory."""
        schema = self.schema
        tables = self._tables() if self.limit != 0 else iter(())
        return pa.RecordBatchReader.from_batches(schema, (b for t in tables for b in _typed(t, schema).to_batches()))

    def to_arrow(self) -> pa.Table:
        """Return the rows as one Arrow table; several splits are read in parallel."""
        splits = self.plan.splits
        if self.limit is not None or len(splits) < 2:
            return self.to_batches().read_all()
        schema = self.schema
        parts = run_parallel(
            lambda s: [_typed(t, schema) for t in read_split(self.context, s, self.columns, self.where, threads=False)],
            splits,
        )
        tables = [table for part in parts for table in part]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def count(self) -> int:
        """Return the number of rows; only from metadata when no split must be merged or filtered."""
        if self.where is None and self.limit is None and all(s.is_counted for s in self.plan.splits):
            return self.plan.row_count
        narrow = Scan(self.context, self.plan.snapshot, self.columns[:1], self.where, self.limit)
        return sum(len(table) for table in narrow._tables())

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame; raises InvalidRequest when pandas is not installed."""
        _import_package("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a polars DataFrame; raises InvalidRequest when polars is not installed."""
        return _import_package("polars").from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_batches().__arrow_c_stream__(requested_schema)


def _typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays(table.columns, schema=schema)


def _import_package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise InvalidRequest(f"to_{name} needs the package {name}: install paimon-core[{name}]") from None


def _are_names(columns: object) -> bool:
    return isinstance(columns, Collection) and all(isinstance(name, str) for name in columns)


def new_scan(
    context: TableContext,
    snapshot: Snapshot | None,
    columns: Sequence[str] | None,
    where: Predicate | None,
    limit: int | None,
    *,
    pinned: bool = True,
) -> Scan:
    """Check the arguments and return the scan.

    Raises SchemaMismatch for unknown columns, InvalidRequest for an invalid limit or predicate, TableNotFound when the
    table was dropped or re-created: ``snapshot`` may then belong to another table.
    """
    where = parse_where(where)
    if columns is not None and (isinstance(columns, str) or not _are_names(columns)):
        raise InvalidRequest(f"columns must be a list of names, not {columns!r:.60}")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise InvalidRequest(f"limit must be a whole number of rows from 0, not {limit!r}", limit=limit)
    names = tuple(columns) if columns is not None else tuple(context.schema.names)
    if not set(TRACKING_NAMES).isdisjoint((*names, *(where.columns if where is not None else ()))):
        context = context.tracked()
    if not names:
        raise InvalidRequest("columns must name at least one column")
    for name in names:
        if names.count(name) > 1:
            raise InvalidRequest(f"columns names {name!r} twice", column=name)
    context.schema.select(names)
    check_same_table(context)  # after the snapshot was read, so that it is known to belong to this table
    if where is not None:
        where.bind(context.schema.fields)
    return Scan(context, snapshot, names, where, limit, pinned)


def changed_rows(
    context: TableContext,
    pinned: Snapshot | None,
    after: int | None,
    until: int | None,
    columns: Sequence[str] | None,
    where: Predicate | None,
) -> pa.RecordBatchReader:
    """Return the rows changed between two snapshots; arguments are checked now, rows are read later as needed.

    See ``Table.changes``.
    """
    scan = new_scan(context, pinned, columns, where, None)
    ids = changed_snapshots(context, after, until, pinned.id if pinned else None)
    rows = read_changes(context, ids, scan.columns, scan.where)
    return pa.RecordBatchReader.from_batches(changes_schema(context.schema, scan.columns), rows)
