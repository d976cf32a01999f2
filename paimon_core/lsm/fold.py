"""fold: one row per group, each column by its rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from paimon_core.lsm.gather import take
from paimon_core.lsm.key_groups import Groups

FEW_ROWS = 4096
"""Up to which the last rows of groups are taken as whole rows."""
Rule = Callable[[pa.ChunkedArray, Groups], pa.ChunkedArray]
"""A column of some rows and their groups, to one value per group."""


def fold(rows: pa.Table, groups: Groups, rules: Mapping[str, Rule]) -> pa.Table:
    """One row per group: each named column of ``rows`` through its rule."""
    if 0 < len(rows) <= FEW_ROWS and all(rule is last for rule in rules.values()):
        return _last_rows(rows.select(list(rules)), groups)
    schema = pa.schema([rows.schema.field(name) for name in rules])
    return pa.Table.from_arrays([rule(rows[name], groups) for name, rule in rules.items()], schema=schema)


def _last_rows(rows: pa.Table, groups: Groups) -> pa.Table:
    """The last row of each group, all columns in one call: of a few rows, calls cost more than the rows."""
    (batch,) = rows.combine_chunks().to_batches()
    return pa.Table.from_batches([batch.take(pa.array(groups.last))], schema=rows.schema)


def first(column: pa.ChunkedArray, groups: Groups) -> pa.ChunkedArray:
    """The value of each group's first row."""
    return take(column, groups.first)


def last(column: pa.ChunkedArray, groups: Groups) -> pa.ChunkedArray:
    """The value of each group's last row."""
    return take(column, groups.last)
