"""Changes: convert the changes in events to rows with a row kind.

An update that changes the key becomes two rows: a -D with the old key, and after it a +I. All other columns of the -D
have the new values. A delete may lack the values of columns that are not in the key, because PostgreSQL does not send
them. If such a column is NOT NULL, the row -D gets a zero, an empty text or a similar value, which no reader sees.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import DataType
from paimon_lake.protocol import KIND
from paimon_lake.sources.files.columns import exact_type, zero_of
from paimon_lake.sources.files.events.dialects import DELETE, INSERT, UPDATE
from paimon_lake.sources.files.events.event_columns import EventColumn
from paimon_lake.sources.files.events.images import Bad, Images
from paimon_lake.sources.files.row_builder import RowBuilder, one_chunk
from paimon_lake.sources.files.text.json_values import Unfit


@dataclass(frozen=True)
class Written:
    """The rows of some events that fit the table."""

    positions: np.ndarray
    """The position of the record of each row, ascending."""
    rows: pa.RecordBatch
    moved: int
    """The number of updates that changed the key; each such update is two rows."""


class ChangeBuilder:
    """Converts changes to rows of one table; ``schema`` has the columns of the rows in the files."""

    def __init__(self, schema: pa.Schema, required: Collection[str], key: Sequence[str], order: Sequence[str]) -> None:
        """``key`` and ``order`` are the columns in which even the row of a delete must have its own value."""
        self.schema, self.required, self.key = schema, required, key
        self._kinds = [exact_type(field) for field in schema]
        self._filled = [name in required and name not in {*key, *order} for name in schema.names]
        self._order = order
        self._all = pa.schema(
            [
                *schema,
                (KIND, pa.string()),
                ("", pa.int64()),
                *(schema.field(name).with_name(f"old {name}") for name in key),
            ]
        )

    def written(self, images: Images, columns: Iterable[EventColumn], bad: Bad) -> Written:
        """Return the rows of the changes; adds the changes that do not fit to ``bad``."""
        by_name = {column.name: column for column in columns}
        builder = RowBuilder(self._all, self.required, len(images.positions))
        deletes = pc.equal(images.kinds, DELETE)
        for at, name in enumerate(self.schema.names):
            values, unfit, reason = by_name[name].convert(images.rows[at])
            if name in self._order:
                lost = pc.and_(deletes, values.is_null()).to_numpy(zero_copy_only=False)
                lost = lost if unfit is None else lost & ~unfit
                builder.reject(lost, name, lambda row: "null in a delete, which the column orders")
            elif self._filled[at] and values.null_count:
                values = _filled(values, deletes, self._kinds[at])
            builder.add(values, unfit, reason)
        builder.add(images.kinds, None, str)
        builder.add(pa.array(images.positions, pa.int64()), None, str)
        for name, old in zip(self.key, images.old, strict=True):
            builder.add(*by_name[name].convert(old))
        bad += [(int(images.positions[one.row]), Unfit(one.column, one.reason)) for one in builder.rejects]
        return self._with_old_keys(builder.rows())

    def _with_old_keys(self, built: pa.RecordBatch) -> Written:
        """Return the rows; each update of a key becomes two rows."""
        count = len(self.schema)
        rows = pa.RecordBatch.from_arrays(built.columns[: count + 1], schema=self.rows_schema)
        at_key = [self.schema.names.index(name) for name in self.key]
        changed = pa.repeat(pa.scalar(False), len(rows))
        for at, old in zip(at_key, built.columns[count + 2 :], strict=True):
            changed = pc.or_(changed, pc.fill_null(pc.not_equal(rows[at], old), False))
        changed = pc.and_(changed, pc.equal(rows[count], UPDATE))
        moved = np.flatnonzero(changed.to_numpy(zero_copy_only=False))
        places = np.asarray(built[count + 1].to_numpy(zero_copy_only=False))
        if not len(moved):
            return Written(places, rows, 0)
        taken = built.take(pa.array(moved))
        removed = taken.columns[: count + 1]
        for at, old in zip(at_key, taken.columns[count + 2 :], strict=True):
            removed[at] = pc.coalesce(old, removed[at])
        removed[count] = pa.repeat(pa.scalar(DELETE), len(moved))
        kept = [*rows.columns[:count], pc.if_else(changed, pa.scalar(INSERT), rows[count])]
        both = [pa.concat_arrays([one, other]) for one, other in zip(kept, removed, strict=True)]
        order = np.argsort(np.concatenate([np.arange(len(rows)) * 2 + 1, moved * 2]), kind="stable")
        merged = pa.RecordBatch.from_arrays(both, schema=self.rows_schema).take(pa.array(order))
        return Written(np.concatenate([places, places[moved]])[order], merged, len(moved))

    @property
    def rows_schema(self) -> pa.Schema:
        """The columns of ``schema``, and then the column ``KIND``."""
        return pa.schema([*self.schema, (KIND, pa.string())])

    def in_order(self, parts: Sequence[Written]) -> pa.RecordBatch:
        """Return the rows of all parts in the order of their records."""
        if len(parts) == 1:
            return parts[0].rows
        batches = [part.rows for part in parts]
        table = pa.Table.from_batches(batches, self.rows_schema)
        rows = pa.RecordBatch.from_arrays([one_chunk(column) for column in table.columns], schema=self.rows_schema)
        positions = np.concatenate([part.positions for part in parts]) if parts else np.zeros(0, np.int64)
        if np.all(positions[1:] >= positions[:-1]):
            return rows
        return rows.take(pa.array(np.argsort(positions, kind="stable")))


def _filled(values: pa.Array, deletes: pa.Array, kind: DataType) -> pa.Array:
    """Return the values with the zero of the type in place of the nulls of deletes; a ROW has no zero."""
    zero = zero_of(kind)
    if zero is None:
        return values
    return pc.if_else(pc.and_(deletes, values.is_null()), zero, values)
