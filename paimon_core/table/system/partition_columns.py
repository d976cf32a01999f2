"""The columns with the partition of a row of a system table: Java's text, and typed values, which Java lacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.metadata.context import TableContext
from paimon_core.schema import DataField
from paimon_core.table.system.columns import Makers
from paimon_core.table.system.texts import decoded_columns, row_texts
from paimon_core.types import Child, row_of

PARTITION_VALUES = "partition_values"


def partition_fields(context: TableContext) -> tuple[DataField, ...]:
    """Return the field of the typed values, a ROW of the partition columns; () without partition columns."""
    fields = context.schema.partition_fields
    if not fields:
        return ()
    kind = row_of([Child(f.name, f.type.with_nullable(True), f.id) for f in fields])
    return (DataField(0, PARTITION_VALUES, kind.with_nullable(False)),)


def partition_makers(context: TableContext, partitions: Sequence[bytes]) -> Makers:
    """Return the columns ``partition``, such as ``{2024-01-31, x}``, and ``partition_values`` of serialized partitions.

    Each distinct partition is decoded once.
    """
    places: dict[bytes, int] = {}
    indices = np.fromiter((places.setdefault(p, len(places)) for p in partitions), np.int64, len(partitions))
    return coded_partition_makers(context, indices, list(places))


def coded_partition_makers(context: TableContext, indices: npt.NDArray[np.int64], distinct: Sequence[bytes]) -> Makers:
    """Return the columns of ``partition_makers``; a row has the partition at its index in ``distinct``."""
    fields = context.schema.partition_fields
    types = [f.type for f in fields]

    def values() -> pa.Array:
        columns = decoded_columns(distinct, types)
        return pa.StructArray.from_arrays(columns, names=[f.name for f in fields]).take(pa.array(indices))

    return {
        "partition": lambda: row_texts(distinct, types).take(pa.array(indices)),
        PARTITION_VALUES: values,
    }
