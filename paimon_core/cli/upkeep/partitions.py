"""Partitions: the partitions that the arguments name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.output import Output
from paimon_core.errors import InvalidRequest
from paimon_core.predicate import Predicate, Where, col

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.table import Table


def mark_done(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Mark partitions as complete."""
    table = table_of(catalog, args)
    files = table.maintenance.mark_done(
        *({k: partition_value(table, k, v) for k, v in spec.items()} for spec in args.partition)
    )
    out.say("\n".join(files), list(files))
    return 0


def partition_filter(table: Table, args: argparse.Namespace) -> Where | None:
    """Return the filter for the partitions in the arguments (None: all); the default partition name stands for null."""
    if args.where is not None:
        return str(args.where)
    specs: Sequence[Mapping[str, str]] | None = args.partition
    default = table.context.options["partition.default-name"]

    def condition(column: str, text: str) -> Predicate:
        _check_key(table, column, text)
        return col(column).is_null() if text == default else col(column) == partition_value(table, column, text)

    return reduce(or_, [reduce(and_, [condition(*item) for item in spec.items()]) for spec in specs]) if specs else None


def partition_value(table: Table, column: str, text: str) -> Any:
    """Parse the value of a partition column; raises InvalidRequest for text that is not of the column's type.

    Raises the errors of ``_check_key``.
    """
    _check_key(table, column, text)
    (field,) = table.schema.select([column])
    try:
        return pa.array([text]).cast(field.type.to_arrow())[0].as_py()
    except (pa.ArrowException, ValueError):
        raise InvalidRequest(
            f"{text!r:.60} is not a value of type {field.type} for partition column {column!r}", column=column
        ) from None


def _check_key(table: Table, column: str, text: str) -> None:
    """Raise InvalidRequest for a table without partitions, and for a column that is not a partition column."""
    keys = table.schema.partition_keys
    if not keys:
        raise InvalidRequest(
            f"table {table.name} is not partitioned (it was created without partition_by), so it has no partition "
            f"{column}={text:.60}: leave the partition out",
            table=table.name,
        )
    if column not in keys:
        raise InvalidRequest(
            f"table {table.name}: {column!r:.60} is not a partition column (partition columns: {', '.join(keys)})",
            column=column,
        )
