"""Record expiry: compaction drops rows that are older than the table's expire time (format 16.5).

The age of a row is computed from its ``record-level.time-field``, in whole seconds; a row without a time never expires.
Expired rows are dropped before the merge, so an older row of the same key that has not expired becomes visible again.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.binary_row.rows import row_decoder
from paimon_core.errors import CorruptTable
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.times.time_field import TIME_ROOTS, time_field
from paimon_core.schema import DataField
from paimon_core.types import TIMESTAMP_ROOTS, DataType, TypeRoot

_MILLIS_FROM = 10**12
"""BIGINT times from this value on are milliseconds, and smaller values are seconds, as in Java."""
_LEAST = -(2**63)
"""The smallest 64-bit integer."""
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, slots=True)
class RecordExpiry:
    """The expiry rule of a table at one point in time: rows older than ``oldest`` (epoch seconds) have expired."""

    context: TableContext
    field: DataField
    oldest: int

    @staticmethod
    def of(context: TableContext, now_millis: int | None = None) -> RecordExpiry | None:
        """Return the rule at an epoch time (None: now), or None for a table whose rows do not expire.

        Raises InvalidRequest naming the option when the time field is missing or has an unsupported type.
        """
        field = time_field(context)
        if field is None:
            return None
        now = clock.now_millis(now_millis)
        return RecordExpiry(context, field, now // 1000 - context.options["record-level.expire-time"] // 1000)

    def __call__(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that have not expired; all rows if ``rows`` does not have the time field."""
        if self.field.name not in rows.schema.names:
            return rows
        fresh = _fresh(rows[self.field.name], self.field.type, self.oldest)
        return rows if pc.all(fresh).as_py() else rows.filter(fresh)

    def has_expired_rows(self, file: DataFile, path: str) -> bool:
        """Whether a row of the file has expired according to its statistics; false without statistics, as in Java.

        Raises CorruptTable, which names ``path``, the path of the file, for statistics that cannot be decoded or belong
        to an unknown column.
        """
        old = self.context.schemas.read(file.schema_id) if file.schema_id != self.context.schema.id else None
        fields = (old or self.context.schema).fields
        if file.value_stats_cols is not None:
            by_name = {f.name: f for f in fields}
            unknown = [name for name in file.value_stats_cols if name not in by_name]
            if unknown:
                raise CorruptTable(
                    f"data file {path}: it has value statistics of {unknown[0]!r}, which is not a column of its schema "
                    f"{file.schema_id}",
                    path=path,
                )
            fields = tuple(by_name[name] for name in file.value_stats_cols)
        place = next((at for at, f in enumerate(fields) if f.id == self.field.id), None)
        if place is None or fields[place].type.root not in TIME_ROOTS or not any(file.value_stats.min_values[:4]):
            return False
        try:
            least = row_decoder(tuple(f.type for f in fields))(file.value_stats.min_values)[place]
        except CorruptTable as error:
            raise CorruptTable(
                f"data file {path}: its value statistics, which the record expiry needs, cannot be decoded: {error}",
                path=path,
            ) from error
        return least is not None and least < _threshold(least, fields[place].type, self.oldest)


def _fresh(column: pa.Array, dtype: DataType, oldest: int) -> pa.BooleanArray:
    values = column.cast(pa.int64())
    bounds = pa.scalar(_threshold(0, dtype, oldest), pa.int64())
    if dtype.root is TypeRoot.BIGINT:
        in_millis = pc.greater_equal(values, _MILLIS_FROM)
        bounds = pc.if_else(in_millis, pa.scalar(_threshold(_MILLIS_FROM, dtype, oldest), pa.int64()), bounds)
    return pc.fill_null(pc.greater_equal(values, bounds), True)


def _threshold(value: int, dtype: DataType, oldest: int) -> int:
    """Return the smallest storage value that has not expired, in the unit of ``value``.

    Java rounds times to seconds towards zero. So for times up to 1970-01-01, a second also includes values before its
    start.
    """
    per_second = 1
    if dtype.root in TIMESTAMP_ROOTS:
        per_second = _PER_SECOND[dtype.to_arrow().unit]
    elif dtype.root is TypeRoot.BIGINT and value >= _MILLIS_FROM:
        per_second = 1000
    if oldest > 0 or per_second == 1:
        return max(oldest * per_second, _LEAST)
    per_milli = max(per_second // 1000, 1)
    return max((oldest - 1) * per_second + per_milli, _LEAST)
