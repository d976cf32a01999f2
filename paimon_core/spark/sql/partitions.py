"""Partitions: the values of PARTITION (...) and of arguments as values and predicates of the partition columns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa

from paimon_core.errors import InvalidRequest
from paimon_core.predicate import Predicate, col
from paimon_core.table.table import Table


def partition_predicate(table: Table, spec: Mapping[str, object]) -> Predicate | None:
    """Return the predicate that selects the partitions of a spec; null and the default partition name select null.

    Raises InvalidRequest for a column that is not a partition column and for a value of another type.
    """
    tests = []
    for name, value in spec.items():
        typed = typed_value(table, name, value)
        tests.append(col(name).is_null() if typed is None else col(name) == typed)
    return reduce(and_, tests) if tests else None


def typed_value(table: Table, name: str, value: object) -> Any:
    """Return the value of a partition column in the column's type; None for null and the default partition name.

    Raises InvalidRequest for a column that is not a partition column and for a value of another type.
    """
    if name not in table.schema.partition_keys:
        known = ", ".join(table.schema.partition_keys) or "none"
        raise InvalidRequest(f"table {table.name}: {name!r} is not a partition column; there are: {known}", column=name)
    if value is None or value == table.options["partition.default-name"]:
        return None
    kind = table.schema.by_name[name].type
    written = str(value).lower() if isinstance(value, bool) else str(value)
    try:
        return pa.array([written]).cast(kind.to_arrow())[0].as_py()
    except (pa.ArrowException, ValueError):
        raise InvalidRequest(
            f"{written!r:.60} is not a value of type {kind} for partition column {name!r}", column=name
        ) from None
