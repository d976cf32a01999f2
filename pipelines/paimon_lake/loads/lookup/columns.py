"""Columns: fill the looked-up columns of a batch, and decide which rows are rejected and which rows wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.schema import DataField
from paimon_lake.loads.lookup.dimension import CachedRows
from paimon_lake.loads.lookup.lookups import JoinRule, Lookups
from paimon_lake.protocol import KIND
from paimon_lake.sources.files.columns import zero_of
from paimon_lake.sources.files.rejects import shown

Mask = npt.NDArray[np.bool_]
"""One boolean for each row of a batch."""


@dataclass
class Joined:
    """A batch with its looked-up columns, and which rows are rejected or wait."""

    columns: dict[str, pa.Array]
    """The columns of the source, and the looked-up columns."""
    waits: Mask
    """The rows that wait, unless they are rejected."""
    reasons: dict[int, tuple[str, str]] = field(default_factory=dict)
    """The column and the reason of each rejected row."""
    late: set[int] = field(default_factory=set)
    """The rejected rows that have waited for too long."""
    without: dict[str, Mask] = field(default_factory=dict)
    """For each looked-up table, by name: the rows that get nulls because the table has no matching row."""

    @property
    def rejected(self) -> Mask:
        """The rejected rows."""
        found = np.zeros(len(self.waits), bool)
        found[list(self.reasons)] = True
        return found

    def reject(self, rows: Mask, column: str, reason: str) -> None:
        """Reject rows for one reason, unless they are rejected already."""
        for row in np.flatnonzero(rows).tolist():
            self.reasons.setdefault(row, (column, reason))


def joined(
    lookups: Lookups, cached: Sequence[CachedRows], rows: pa.RecordBatch, waited_ms: npt.NDArray[np.int64]
) -> Joined:
    """Look up the columns of rows of the source; ``waited_ms`` is the time for which each row has waited.

    A row that deletes is never rejected and never waits.
    """
    found = Joined(dict(zip(rows.schema.names, rows.columns, strict=True)), np.zeros(len(rows), bool))
    acts = ~_deletes(rows)
    for rule, one in zip(lookups.rules, cached, strict=True):
        keys = [
            found.columns[name].cast(key.type.to_arrow()) for name, key in zip(rule.on, rule.dimension.key, strict=True)
        ]
        segment, row = one.find(keys)
        for column, name in rule.columns.items():
            found.columns[column] = one.values(name, segment, row)
        _decide(found, rule, keys, (row < 0) & acts, waited_ms)
    fields = {one.name: one for one in lookups.fields}
    for column in sorted(lookups.targets):
        _fill(found, fields[column], acts)
    return found


def rows_of(found: Joined, fields: Sequence[DataField]) -> pa.RecordBatch:
    """Return the rows with the columns of the table, and with the column ``KIND`` if the batch has it."""
    names = [one.name for one in fields] + ([KIND] if KIND in found.columns else [])
    return pa.RecordBatch.from_arrays([found.columns[name] for name in names], names)


def _deletes(rows: pa.RecordBatch) -> Mask:
    if KIND not in rows.schema.names:
        return np.zeros(len(rows), bool)
    return np.asarray(pc.equal(rows[KIND], "-D").fill_null(False).to_numpy(zero_copy_only=False), bool)


def _decide(
    found: Joined, rule: JoinRule, keys: Sequence[pa.Array], missing: Mask, waited_ms: npt.NDArray[np.int64]
) -> None:
    """Decide whether rows without a matching row in a dimension are written, rejected or wait."""
    name = rule.dimension.name
    nulls = np.logical_or.reduce([key.is_null().to_numpy(zero_copy_only=False) for key in keys])
    waits = missing & ~nulls & (waited_ms < rule.max_wait_ms) if rule.missing == "wait" else np.zeros_like(missing)
    rejects = missing & ~waits
    if rule.missing == "null" or (rule.missing == "wait" and rule.after_wait == "null"):
        rejects = np.zeros_like(missing)
    elif rule.missing == "wait":
        rejects &= ~nulls
    found.waits |= waits
    found.without[name] = found.without.get(name, False) | (missing & ~waits & ~rejects)
    late = f", and the row has waited for {rule.max_wait_ms / 1000:,} s" if rule.missing == "wait" else ""
    if rule.missing == "wait":
        found.late |= set(np.flatnonzero(rejects).tolist()) - found.reasons.keys()
    for row in np.flatnonzero(rejects).tolist():
        values = ", ".join(
            f"{key.name} = {_text(array[row])}" for key, array in zip(rule.dimension.key, keys, strict=True)
        )
        found.reasons.setdefault(row, (rule.on[0], f"{name} has no row with {values}{late}"))


def _text(value: pa.Scalar) -> str:
    return shown(value.as_py()) if value.is_valid else "null"


def _fill(found: Joined, target: DataField, acts: Mask) -> None:
    """Reject rows with null in the column ``target``, if it must not be null; rows that delete get a zero instead."""
    column = found.columns[target.name]
    if target.type.nullable or not column.null_count:
        return
    nulls = column.is_null().to_numpy(zero_copy_only=False)
    found.reject(
        nulls & acts & ~found.waits, target.name, "the looked-up value is null, and the column must not be null"
    )
    zero = zero_of(target.type)
    found.columns[target.name] = column if zero is None else column.fill_null(zero)
