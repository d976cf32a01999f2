"""Fold: combines the rows of each group into one row; each column has a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from paimon_core.arrow.byte_budget import BATCH_BYTES
from paimon_core.lsm.gather import take
from paimon_core.lsm.key_groups import Groups
from paimon_core.schema import KEY_PREFIX

FEW_ROWS = 4096
"""Up to this number of rows, the last rows of groups are taken as full rows instead of column by column.

If the rows have more than BATCH_BYTES bytes together, columns are taken one by one, because taking full rows copies
all rows.
"""
Rule = Callable[[pa.ChunkedArray, Groups], pa.ChunkedArray]
"""Maps a column and the groups of its rows to one value per group."""


def fold(rows: pa.Table, groups: Groups, rules: Mapping[str, Rule]) -> pa.Table:
    """Return one row per group, with the columns named in ``rules``, each computed by its rule.

    A value column that is the same memory as its key column, as in rows to write, is not computed again.
    """
    if 0 < len(rows) <= FEW_ROWS and all(rule is last for rule in rules.values()) and rows.nbytes <= BATCH_BYTES:
        return _last_rows(rows.select(list(rules)), groups)
    schema = pa.schema([rows.schema.field(name) for name in rules])
    found: dict[str, pa.ChunkedArray] = {}
    for name, rule in rules.items():
        column, twin = rows[name], f"{KEY_PREFIX}{name}"
        same = rules.get(twin) is rule and twin in found and _is_same(column, rows[twin])
        found[name] = found[twin] if same else rule(column, groups)
    return pa.Table.from_arrays(list(found.values()), schema=schema)


def _is_same(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Whether two columns are the same memory, as a key column and its value column are in rows to write."""
    if one.type != other.type or pa.types.is_nested(one.type) or pa.types.is_dictionary(one.type):
        return False  # the buffers of a chunk do not tell all of such values
    return list(map(_place, one.chunks)) == list(map(_place, other.chunks))


def _place(chunk: pa.Array) -> tuple[int, ...]:
    return (len(chunk), chunk.offset, *(0 if buffer is None else buffer.address for buffer in chunk.buffers()))


def _last_rows(rows: pa.Table, groups: Groups) -> pa.Table:
    """Return the last row of each group, with one call for all columns: for few rows, one call per column is slower."""
    (batch,) = rows.combine_chunks().to_batches()
    return pa.Table.from_batches([batch.take(pa.array(groups.last))], schema=rows.schema)


def first(column: pa.ChunkedArray, groups: Groups) -> pa.ChunkedArray:
    """Return the value of each group's first row."""
    return take(column, groups.first)


def last(column: pa.ChunkedArray, groups: Groups) -> pa.ChunkedArray:
    """Return the value of each group's last row."""
    return take(column, groups.last)
