"""Pushdown: the parts of the filter of a read, and where each part is tested.

``where`` is the filter of the user. The filter is a conjunction of three parts, and each part has the same name in all
modules of the read:

- ``fixed`` tests values that are equal in all rows of a split or file: the partition, the bucket and the path of the
  file. This part is tested once, before a file is opened.
- ``early`` is tested while rows are decoded, so that the other columns are decoded only for selected rows. Before a
  merge, ``early`` may test only key columns: either all rows of a key pass the test, or no row (format 8.8).
- ``late`` is tested on the rows that were read or merged. A part that needs metadata columns is tested after the
  columns are added (``read.row_reader``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.codec.binary_row.rows import decode_row, to_array
from paimon_core.metadata.context import TableContext
from paimon_core.plan.split import Split
from paimon_core.predicate import BoundPredicate, Predicate
from paimon_core.predicate.bound import BoundAnd
from paimon_core.predicate.row_mask import row_mask
from paimon_core.schema import TRACKING_NAMES, DataField
from paimon_core.types import TIMESTAMP_ROOTS


@dataclass(frozen=True, slots=True)
class Pushdown:
    """The columns to decode for a split, and the parts of the filter."""

    matches: bool
    """False: the partition of the split does not pass the filter, and no row is read."""
    fields: tuple[DataField, ...]
    """The columns to decode for the result and for the filter."""
    constants: dict[str, pa.Scalar]
    """The partition columns of the result that need not be decoded."""
    early: BoundPredicate | None
    """The part that is tested while rows are decoded."""
    late: BoundPredicate | None
    """The part that is tested on the rows that were read or merged."""

    @property
    def tested(self) -> BoundPredicate | None:
        """``early`` and ``late`` together: the filter without its fixed part; None when both are None."""
        return _joined([p for p in (self.early, self.late) if p is not None])

    def completed(self, rows: pa.Table) -> pa.Table:
        """Return the rows with the columns of ``constants`` appended."""
        for name, value in self.constants.items():
            rows = rows.append_column(name, pa.repeat(value, len(rows)))
        return rows


def pushdown(context: TableContext, split: Split, columns: Sequence[str], where: Predicate | None) -> Pushdown:
    """Return how to read ``columns`` of the rows of a split that ``where`` selects.

    Raises SchemaMismatch for a filter that does not fit the schema, CorruptTable for a partition that does not decode.
    """
    schema = context.schema
    bound = None if where is None else where.bind(schema.fields)
    values = {} if context.evolves else _partition_values(schema.partition_fields, split.partition)
    row = pa.RecordBatch.from_pydict({"": pa.nulls(1), **values})
    fixed, rest = _parted(bound, lambda used: used <= values.keys())
    if fixed is not None and not row_mask(fixed, row).all():
        return Pushdown(False, (), {}, None, None)
    tested = rest.columns if rest is not None else frozenset()
    constants = {name: row[name][0] for name in columns if name in values and name not in tested}
    needed = dict.fromkeys([*(c for c in columns if c not in constants), *sorted(tested)])
    if context.evolves:
        return Pushdown(True, schema.select(list(needed)), constants, None, rest)
    keys = {f.name for f in schema.key_fields}
    tracked = set(TRACKING_NAMES) if context.tracks_rows else set()
    early, late = _parted(rest, lambda used: used.isdisjoint(tracked) if split.raw else used <= keys)
    return Pushdown(True, schema.select(list(needed)), constants, early, late)


def _partition_values(fields: Sequence[DataField], partition: bytes) -> dict[str, pa.Array]:
    """Return the values of the partition columns by name, each as an array of one value.

    Timestamps are left out, because a file may be read with another unit than the partition has.
    """
    if not fields:
        return {}
    values = zip(fields, decode_row(partition, [f.type for f in fields]), strict=True)
    return {f.name: to_array([value], f.type) for f, value in values if f.type.root not in TIMESTAMP_ROOTS}


def _parted(
    where: BoundPredicate | None, is_first: Callable[[frozenset[str]], bool]
) -> tuple[BoundPredicate | None, BoundPredicate | None]:
    """Split ``where`` into two conjunctions: one of the predicates whose columns pass ``is_first``, and one of the
    other predicates.
    """
    parts = where.conjuncts() if where is not None else ()
    first = [p for p in parts if is_first(p.columns)]
    return _joined(first), _joined([p for p in parts if not is_first(p.columns)])


def _joined(parts: Sequence[BoundPredicate]) -> BoundPredicate | None:
    return None if not parts else parts[0] if len(parts) == 1 else BoundAnd(tuple(parts))
