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
from typing import Any

import pyarrow as pa

from paimon_core.codec.binary_row.rows import row_decoder, to_array
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
    constants: tuple[DataField, ...]
    """The partition columns of the result that need not be decoded."""
    values: tuple[Any, ...]
    """The storage values of ``constants``."""
    early: BoundPredicate | None
    """The part that is tested while rows are decoded."""
    late: BoundPredicate | None
    """The part that is tested on the rows that were read or merged."""

    @property
    def tested(self) -> BoundPredicate | None:
        """``early`` and ``late`` together: the filter without its fixed part; None when both are None."""
        return _joined([p for p in (self.early, self.late) if p is not None])

    def completed(self, rows: pa.Table) -> pa.Table:
        """Return the rows with the columns of ``constants`` appended; they replace columns that were decoded."""
        for field, value in zip(self.constants, self.values, strict=True):
            if field.name in rows.schema.names:  # of a table that has partition columns only
                rows = rows.drop_columns([field.name])
            rows = rows.append_column(field.name, pa.repeat(to_array([value], field.type)[0], len(rows)))
        return rows


def pushdown(context: TableContext, split: Split, columns: Sequence[str], where: Predicate | None) -> Pushdown:
    """Return how to read ``columns`` of the rows of a split that ``where`` selects.

    Raises SchemaMismatch for a filter that does not fit the schema, CorruptTable for a partition that does not decode.
    """
    return Pushdowns(context, columns, where).of(split)


class Pushdowns:
    """How to read ``columns`` of the rows that ``where`` selects, for any split of a table.

    The values of timestamps come from the files, because a file may be read with another unit than the partition has.
    Raises SchemaMismatch for a filter that does not fit the schema.
    """

    def __init__(self, context: TableContext, columns: Sequence[str], where: Predicate | None) -> None:
        schema = context.schema
        bound = None if where is None else where.bind(schema.fields)
        partition = () if context.evolves else schema.partition_fields
        self._decode = row_decoder(tuple(f.type for f in partition)) if partition else None
        known = {f.name: at for at, f in enumerate(partition) if f.type.root not in TIMESTAMP_ROOTS}
        self._fixed, self._rest = _parted(bound, lambda used: used <= known.keys())
        self._tested_fields = [(known[f.name], f) for f in partition if f.name in known] if self._fixed else []
        tested = self._rest.columns if self._rest is not None else frozenset()
        names = [name for name in columns if name in known and name not in tested]
        self.constants = tuple(partition[known[name]] for name in dict.fromkeys(names))
        """The partition columns of the result that are not decoded, in the order of ``Pushdown.values``."""
        self._constants_at = [known[f.name] for f in self.constants]
        needed = dict.fromkeys([*(c for c in columns if c not in names), *sorted(tested)])
        self._fields = schema.select(list(needed))
        keys = {f.name for f in schema.key_fields}
        tracked = set(TRACKING_NAMES) if context.tracks_rows else set()
        is_whole = not context.evolves  # with data evolution, no file has all columns of a row
        self._raw = _parted(self._rest, lambda used: is_whole and used.isdisjoint(tracked))
        self._merged = _parted(self._rest, lambda used: is_whole and used <= keys)

    def of(self, split: Split) -> Pushdown:
        """Return how to read a split; raises CorruptTable for a partition that does not decode."""
        values = () if self._decode is None else self._decode(split.partition)
        if self._fixed is not None:
            tested = {f.name: to_array([values[at]], f.type) for at, f in self._tested_fields}
            row = pa.RecordBatch.from_pydict({"": pa.nulls(1), **tested})
            if not row_mask(self._fixed, row).all():
                return Pushdown(False, (), (), (), None, None)
        early, late = self._raw if split.raw else self._merged
        return Pushdown(True, self._fields, self.constants, tuple(values[at] for at in self._constants_at), early, late)


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
