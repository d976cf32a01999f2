"""Partitions: tests whether a predicate selects a partition, for overwrites, deletes and compactions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.binary_row.rows import decode_row, to_array
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.plan.prune import PartitionPruner
from paimon_core.predicate import Predicate, Where, parse_where


def partitions_with_matches(context: TableContext, where: Predicate | None) -> Callable[[bytes], bool]:
    """Return a test of serialized partitions: False where no row can match ``where``, which may use any column."""
    fields = context.schema.partition_fields
    pruner = None if where is None else PartitionPruner.of(where.bind(context.schema.fields), fields)
    return (lambda partition: True) if pruner is None else pruner.keeps


def matching_partitions(context: TableContext, where: Where) -> Callable[[bytes], bool]:
    """Return a test of serialized partitions: whether ``where`` is true for the partition's values.

    Raises InvalidRequest when ``where`` is None or uses a column that is not a partition column, SchemaMismatch for
    literals that do not fit the type of their column.
    """
    keys = context.schema.partition_keys
    predicate = parse_where(where, context.schema.fields)
    if predicate is None:
        raise InvalidRequest(f"table {context.name}: where selects partitions and cannot be None")
    bound = predicate.bind(context.schema.fields)
    for column in sorted(predicate.columns):
        if column not in keys:
            rule = f"which is not a partition column (partition columns: {', '.join(keys)})"
            if not keys:
                rule = f"but it selects partitions, and table {context.name} is not partitioned (no partition_by)"
            raise InvalidRequest(f"table {context.name}: where uses {column!r}, {rule}", column=column)
    if not bound.columns:
        return lambda partition: bound.may_match({}, 1)
    fields = context.schema.partition_fields
    types = [f.type for f in fields]

    @cache
    def matches(partition: bytes) -> bool:
        values = decode_row(partition, types)
        columns = [to_array([value], kind) for value, kind in zip(values, types, strict=True)]
        row = pa.Table.from_arrays(columns, names=[f.name for f in fields])
        return bool(pc.fill_null(bound.mask(row), False)[0].as_py())

    return matches
