"""Analysis: compute the row count and the column statistics for query planners, and commit them (format 1.5, 3.2)."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.commit.changes import Change
from paimon_core.commit.committer import commit_changes
from paimon_core.errors import CommitConflict, SchemaMismatch, TableNotFound
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.statistics import ColumnStatistics, Statistics
from paimon_core.metadata.table_identity import changing_same_table, table_to_change
from paimon_core.query.scan_options import ALL_ROWS
from paimon_core.schema import DataField
from paimon_core.storage.paths import FileNames
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.view import TableView
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, TypeRoot

_TEXTS = STRING_ROOTS | BINARY_ROOTS
_WIDTHS = {
    TypeRoot.BOOLEAN: 1,
    TypeRoot.TINYINT: 1,
    TypeRoot.SMALLINT: 2,
    TypeRoot.INT: 4,
    TypeRoot.DATE: 4,
    TypeRoot.TIME: 4,
    TypeRoot.FLOAT: 4,
    TypeRoot.BIGINT: 8,
    TypeRoot.DOUBLE: 8,
    TypeRoot.TIMESTAMP: 8,
    TypeRoot.TIMESTAMP_LTZ: 8,
}
"""The size of one value in bytes, as a query planner estimates it."""
_EPOCH = datetime.date(1970, 1, 1)


def analyze(request: CommitRequest, columns: Sequence[str] | None) -> Snapshot | None:
    """Compute the statistics of the latest snapshot, for columns of the latest schema, and commit them.

    Returns None for a table without snapshots. When the commit fails with CommitConflict or TableNotFound, the
    statistics file is deleted. Raises SchemaMismatch for unknown columns and for columns of nested types or VARIANT,
    CommitConflict when the schema changed during the call.
    """
    with changing_same_table(request.context, guarded=False):
        return _analyzed(request, columns)


def _analyzed(request: CommitRequest, columns: Sequence[str] | None) -> Snapshot | None:
    view = TableView(request.context).refresh()
    context = view.context
    chosen = _fields_to_analyze(view, columns)
    statistics = read_latest(
        context.snapshots,
        lambda latest: None if latest is None else statistics_of(TableView(context, latest), latest, chosen),
    )
    if statistics is None:
        return None
    name = FileNames().next("stat-")
    table_to_change(context)
    context.storage.write(context.paths.statistics(name), statistics.to_json().encode())
    change = Change(CommitKind.ANALYZE, (), statistics=name, statistics_schema=statistics.schema_id)
    try:
        return commit_changes([change], context, request.author())[-1]
    except (CommitConflict, TableNotFound):
        with contextlib.suppress(OSError):
            context.storage.delete([context.paths.statistics(name)])
        raise


def _fields_to_analyze(table: TableView, columns: Sequence[str] | None) -> list[DataField]:
    if columns is None:
        return [f for f in table.schema.fields if _is_plain(f)]
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise SchemaMismatch(f"analyze takes a list of columns, not {columns!r:.60}")
    fields = list(table.schema.select(tuple(columns)))
    for f in fields:
        if not _is_plain(f):
            raise SchemaMismatch(f"column {f.name!r} of type {f.type} cannot be analyzed", column=f.name)
    return fields


def _is_plain(f: DataField) -> bool:
    return f.type.root in _WIDTHS or f.type.root in (*_TEXTS, TypeRoot.DECIMAL)


def statistics_of(table: TableView, snapshot: Snapshot, fields: Sequence[DataField]) -> Statistics:
    """Compute the statistics of ``snapshot``, to which ``table`` is pinned.

    ``size_bytes`` is an estimate, the same as Spark's: the size of all data files, times the number of merged rows,
    divided by the number of rows in the files.
    """
    table = table.with_options(ALL_ROWS)
    context = table.context
    entries = context.manifests.entries_of(snapshot)
    stored = sum(e.file.file_size for e in entries)
    physical = sum(e.file.row_count for e in entries)
    if fields:
        found = [_Column(f) for f in fields]
        rows = 0
        for batch in table.scan(columns=[f.name for f in fields]).to_batches():
            rows += batch.num_rows
            for column, values in zip(found, batch.columns, strict=True):
                column.add(values)
    else:
        found, rows = [], table.scan().count()
    size = stored * rows // physical if physical else 0
    return Statistics(snapshot.id, table.schema.id, rows, size, {c.of.name: c.result() for c in found})


@dataclass
class _Column:
    """Collects the statistics of one column batch by batch; all distinct values are kept in memory."""

    of: DataField
    nulls: int = 0
    values: int = 0
    bytes: int = 0
    longest: int = 0
    least: Any = None
    most: Any = None
    distinct: pa.Array | None = None
    _waiting: list[pa.Array] = field(default_factory=list)

    def add(self, array: pa.Array) -> None:
        self.nulls += array.null_count
        present = array.drop_null()
        self.values += len(present)
        if not len(present):
            return
        if self.of.type.root in _TEXTS:
            lengths = pc.binary_length(present)
            self.bytes += pc.sum(lengths).as_py()
            self.longest = max(self.longest, pc.max(lengths).as_py())
        else:
            self._widen(present)
        self._waiting.append(present.unique())
        if sum(map(len, self._waiting)) > max(1 << 16, len(self.distinct) if self.distinct is not None else 0):
            self._fold()

    def _widen(self, present: pa.Array) -> None:
        if pa.types.is_floating(present.type):
            present = present.filter(pc.invert(pc.is_nan(present)))
            if not len(present):
                return
        ends = pc.min_max(present)
        self.least = ends["min"] if self.least is None or _less(ends["min"], self.least) else self.least
        self.most = ends["max"] if self.most is None or _less(self.most, ends["max"]) else self.most

    def _fold(self) -> None:
        arrays = self._waiting if self.distinct is None else [self.distinct, *self._waiting]
        if arrays:
            self.distinct = pa.concat_arrays(arrays).unique()
        self._waiting = []

    def result(self) -> ColumnStatistics:
        self._fold()
        average, longest = self._lengths()
        return ColumnStatistics(
            self.of.id,
            distinct_count=0 if self.distinct is None else len(self.distinct),
            min=None if self.least is None else _text(self.of, self.least),
            max=None if self.most is None else _text(self.of, self.most),
            null_count=self.nulls,
            avg_len=average,
            max_len=longest,
        )

    def _lengths(self) -> tuple[int, int]:
        kind = self.of.type
        if kind.root in _TEXTS:
            return (math.ceil(self.bytes / self.values) if self.values else 0), self.longest
        width = _WIDTHS.get(kind.root, 8 if kind.precision <= 18 else 16)
        return width, width


def _less(left: pa.Scalar, right: pa.Scalar) -> bool:
    return bool(pc.less(left, right).as_py())


def _text(f: DataField, value: pa.Scalar) -> str:
    """Return the smallest or largest value of a column as text, in the format of Java Paimon."""
    root = f.type.root
    if root in TIMESTAMP_ROOTS:
        return _timestamp_text(f, value)
    if root is TypeRoot.DATE:
        return str((value.as_py() - _EPOCH).days)
    if root is TypeRoot.TIME:
        return str(value.cast(pa.time32("ms")).value if value.type != pa.time32("ms") else value.value)
    plain = value.as_py()
    if root is TypeRoot.BOOLEAN:
        return "true" if plain else "false"
    if isinstance(plain, decimal.Decimal):
        return format(plain, "f")
    if isinstance(plain, float):
        if math.isinf(plain):
            return "Infinity" if plain > 0 else "-Infinity"
        return str(np.float32(plain)) if root is TypeRoot.FLOAT else repr(plain)
    return str(plain)


def _timestamp_text(f: DataField, value: pa.Scalar) -> str:
    """Return a text such as ``2024-01-01 00:00:00.123``; values of types with a time zone are in UTC.

    The fraction has as many digits as the precision of the type, or more if further digits are not 0.
    """
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[value.type.unit]
    seconds, rest = divmod(value.value, per_second)
    nanos = rest * (10**9 // per_second)
    moment = np.datetime_as_string(np.datetime64(seconds, "s")).replace("T", " ")
    fraction = f"{nanos:09d}"
    while len(fraction) > f.type.precision and fraction.endswith("0"):
        fraction = fraction[:-1]
    return f"{moment}.{fraction}" if fraction else moment
