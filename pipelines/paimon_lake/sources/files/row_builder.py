"""Row builder: combine converted columns into rows, and move rows with a bad value to the rejects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import labelled
from paimon_lake.sources.files.columns import accepted_values
from paimon_lake.sources.files.rejects import Reject

Reason = Callable[[int], str]
"""Returns the reason why the value of a column in a row is bad."""


@dataclass
class RowBuilder:
    """The columns of one block, in the order of the table; each added column may add to ``rejects``."""

    schema: pa.Schema
    required: Collection[str]
    count: int
    columns: list[pa.Array] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    _bad: np.ndarray | None = None

    def add(self, values: pa.Array, bad: np.ndarray | None, reason: Reason) -> None:
        """Add the next column; ``bad`` marks the rows whose value does not fit the type, and None means no row."""
        field_ = self.schema.field(len(self.columns))
        if bad is not None:
            self.reject(bad, field_.name, reason)
        if field_.name in self.required and values.null_count:
            nulls = np.asarray(values.is_null().to_numpy(zero_copy_only=False))
            if bad is not None:
                nulls &= ~bad
            self.reject(nulls, field_.name, lambda row: "null in a column that must not be null")
        if (accepted := accepted_values(field_)) is not None:
            others = pc.and_(values.is_valid(), pc.invert(pc.is_in(values, pa.array(accepted, values.type))))
            if bad is not None:
                others = pc.and_(others, pa.array(~bad))
            rule = f"is not one of {', '.join(accepted)}"
            self.reject(np.asarray(others), field_.name, lambda row: f"{values[row].as_py()!r:.80} {rule}")
        self.columns.append(values)

    def reject(self, bad: np.ndarray, column: str, reason: Reason) -> None:
        """Reject the rows that ``bad`` marks, unless they are rejected already."""
        new = bad if self._bad is None else bad & ~self._bad
        self.rejects += [Reject(row, column, reason(row)) for row in np.flatnonzero(new).tolist()]
        self._bad = bad.copy() if self._bad is None else self._bad | bad

    def rows(self) -> pa.RecordBatch:
        """Return the rows that were not rejected."""
        columns = self.columns
        if self._bad is not None and self._bad.any():
            keep = pa.array(~self._bad)
            columns = [pc.filter(column, keep) for column in columns]
        elif not columns:
            return pa.RecordBatch.from_pylist([], self.schema)
        return batch_of(columns, self.schema)


def batch_of(columns: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of exactly this schema.

    The nullability and names of nested members of ``columns`` may differ from ``schema``.
    """
    exact = [labelled(column, f.type) for column, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(exact, schema=schema)


def one_chunk(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return the column as one array."""
    if isinstance(column, pa.Array):
        return column
    return (
        column.chunk(0)
        if column.num_chunks == 1
        else pa.concat_arrays(column.chunks)
        if column.num_chunks
        else pa.array([], column.type)
    )
