"""fold: one row per group, each column by its rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from paimon_core.lsm.gather import take
from paimon_core.lsm.groups import Groups

Rule = Callable[[pa.ChunkedArray, Groups], pa.ChunkedArray]
"""A column of some rows and their groups, to one value per group."""


def fold(rows: pa.Table, groups: Groups, rules: Mapping[str, Rule]) -> pa.Table:
    """One row per group: each named column of ``rows`` through its rule."""
    schema = pa.schema([rows.schema.field(name) for name in rules])
    return pa.Table.from_arrays([rule(rows[name], groups) for name, rule in rules.items()], schema=schema)


def first(column: pa.ChunkedArray, groups: Groups) -> pa.ChunkedArray:
    """The value of each group's first row."""
    return take(column, groups.first)


def last(column: pa.ChunkedArray, groups: Groups) -> pa.ChunkedArray:
    """The value of each group's last row."""
    return take(column, groups.last)
