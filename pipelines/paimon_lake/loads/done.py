"""Done: mark the partitions that a load completed with a file ``_SUCCESS``, for which readers may wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.schema import DataField
from paimon_core.table.table import Table
from paimon_lake.declarations import TableSpec
from paimon_lake.loads.partitions.partition_keys import rows_of


def mark_loaded(spec: TableSpec, table: Table, keys: Sequence[str] | None, *, again: bool) -> int:
    """Mark the partitions of the table that belong to the loaded ``keys`` (None: all); return the number of marks.

    Partitions without rows are not marked. Unless ``again``, partitions that have a mark are left out. When a load
    stopped between its commit and its marks, the next load writes the missing marks, even if it has nothing to load.
    """
    assert spec.partitions is not None
    column = spec.partitions.column
    where = None if keys is None else rows_of(spec, table, keys, spec.partitions)
    fields = table.schema.partition_fields
    context = table.context
    found = sorted({split.partition for split in table.scan(columns=[column], where=where).splits()})
    chosen = [
        {column: _value(partition, fields)}
        for partition in found
        if again or not context.storage.exists(context.paths.success_file(context.partition_path(partition)))
    ]
    if chosen:
        table.maintenance.mark_done(*chosen)
    return len(chosen)


def _value(partition: bytes, fields: Sequence[DataField]) -> Any:
    """Return the value of a serialized partition of one column as a Python value; dates are stored as numbers."""
    (field,) = fields
    return pa.array(decode_row(partition, [field.type]), field.type.to_arrow())[0].as_py()
