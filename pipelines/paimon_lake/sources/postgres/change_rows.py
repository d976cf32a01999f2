"""Change rows: convert the last changes of rows from texts to rows of a table with kinds, and rejects.

A row whose new values do not fit the table is a reject and is removed from the table. So the table has exactly the rows
of the source that fit. ``line`` of a reject is the LSN of its transaction, as a number.

The log may not repeat a large value that an update did not change. The row then keeps the value that it has in the
table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import DataType
from paimon_lake.protocol import KIND
from paimon_lake.sources.database_rows import DatabaseRows, Reason, either, with_text
from paimon_lake.sources.database_texts import values_of
from paimon_lake.sources.files.columns import exact_type, zero_of
from paimon_lake.sources.files.rejects import Parsed
from paimon_lake.sources.files.row_builder import RowBuilder, batch_of
from paimon_lake.sources.files.typed_values import convert_typed
from paimon_lake.sources.postgres.pgoutput import UNCHANGED, Key, LastChange

_SLICE_ROWS = 16_384
"""How many changes are converted at once."""
CurrentRows = Callable[[pa.Table, Sequence[str]], tuple[pa.Table, np.ndarray]]
"""Returns some columns of the rows with given keys, one row for each key, and flags for keys that the table has."""
_LOST = "the log does not repeat this large value, and the row is not in the table: load the table with reload"


def batch_of_changes(changes: Mapping[Key, LastChange], width: int, key: Sequence[int]) -> pa.RecordBatch:
    """Return changes as one batch of texts; ``width``: the number of columns, ``key``: the places of the key's columns.

    The batch has the columns ``lsn`` and ``deleted``, and the texts in ``v0``, ``v1`` and so on. When values are
    unchanged, the columns ``u0`` and so on mark these values, and for the columns of the key, ``k0`` and so on contain
    the key that the row has in the table.
    """
    rows = list(changes.values())
    found = {
        "lsn": pa.array([row.lsn for row in rows], pa.int64()),
        "deleted": pa.array([row.is_delete for row in rows], pa.bool_()),
    }
    columns = list(zip(*(row.values for row in rows), strict=True)) or [()] * width
    if any(row.root is not None for row in rows):
        for place, column in enumerate(columns):
            found[f"u{place}"] = pa.array([value is UNCHANGED for value in column], pa.bool_())
            columns[place] = tuple(None if value is UNCHANGED else value for value in column)
        for part, place in enumerate(key):
            roots = [None if row.root is None else row.root[part] for row in rows]
            found[f"k{place}"] = pa.array(roots, pa.binary())
    found |= {f"v{place}": pa.array(column, pa.binary()) for place, column in enumerate(columns)}
    return pa.RecordBatch.from_pydict(found)


@dataclass(frozen=True)
class ChangeRows:
    """Converts the changes of a table of PostgreSQL to rows of a table and rejects."""

    rows: DatabaseRows
    key: tuple[str, ...]
    """The columns of the primary key."""

    def in_slices(self, batch: pa.RecordBatch, current: CurrentRows) -> Iterator[Parsed]:
        """Yield the results of ``parsed`` for slices of a batch."""
        for start in range(0, len(batch), _SLICE_ROWS):
            yield self.parsed(batch.slice(start, _SLICE_ROWS), current)

    def parsed(self, batch: pa.RecordBatch, current: CurrentRows) -> Parsed:
        """Return a batch of ``batch_of_changes`` as rows with the column ``KIND``, and rejects."""
        schema, required = self.rows.schema, self.rows.required
        deleted = np.asarray(batch["deleted"])
        builder, seen = RowBuilder(schema, required, len(batch)), []
        kept, missing = self._unchanged(batch, current)
        bad_key = np.zeros(len(batch), bool)
        for at, field in enumerate(schema):
            kind = exact_type(field)
            column, values, bad = self._column(batch.column(f"v{at}"), at, kind)
            if at in kept:
                mask = batch[f"u{at}"]
                values = pc.if_else(mask, kept[at].cast(values.type), values)
                bad = either(bad, _true(np.asarray(mask) & missing))
            if field.name in self.key:
                bad_key |= np.asarray(values.is_null().to_numpy(zero_copy_only=False))
            elif deleted.any():
                values = pc.if_else(pa.array(deleted), absent(field, kind, required), values)
            seen.append(column)
            reason = Reason(column, kind)
            builder.add(values, bad, _Lost(np.asarray(batch[f"u{at}"]), reason) if at in kept else reason)
        return self._divided(builder, bad_key, deleted, batch["lsn"].to_pylist(), seen)

    def _column(self, texts: pa.Array, at: int, kind: DataType) -> tuple[pa.Array, pa.Array, np.ndarray | None]:
        """Return the column for rejects, its values, and flags for the rows that do not fit."""
        column, bad = values_of(texts, self.rows.types[at])
        values, unfit = convert_typed(column, kind, self.rows.schema.field(at).name)
        if pa.types.is_list(column.type):
            column = texts.cast(pa.string())
        return with_text(column, bad), values, either(bad, unfit)

    def _unchanged(self, batch: pa.RecordBatch, current: CurrentRows) -> tuple[dict[int, pa.Array], np.ndarray]:
        """Return the columns with unchanged values as the table has them, and flags for rows that the table lacks."""
        schema, names = self.rows.schema, batch.schema.names
        places = [at for at in range(len(schema)) if f"u{at}" in names and pc.any(batch[f"u{at}"]).as_py()]
        if not places:
            return {}, np.zeros(len(batch), bool)
        keys = {}
        for name in self.key:
            at = schema.get_field_index(name)
            keys[name] = self._column(batch[f"k{at}"], at, exact_type(schema.field(at)))[1]
        found, exist = current(pa.table(keys), [schema.field(at).name for at in places])
        columns = [column.combine_chunks() for column in found.columns]
        return dict(zip(places, columns, strict=True)), ~exist

    def _divided(
        self, builder: RowBuilder, bad_key: np.ndarray, deleted: np.ndarray, lsns: list[int], seen: list[pa.Array]
    ) -> Parsed:
        schema, required = builder.schema, self.rows.required
        bad = np.zeros(builder.count, bool)
        bad[[reject.row for reject in builder.rejects]] = True
        columns = builder.columns
        if (bad & ~bad_key).any():
            mask = pa.array(bad)
            for at, field in enumerate(schema):
                if field.name not in self.key:
                    columns[at] = pc.if_else(mask, absent(field, exact_type(field), required), columns[at])
        keep = pa.array(~bad_key)
        kinds = pa.array(np.where(deleted | bad, "-D", "+U"), pa.string()).filter(keep)
        rows = batch_of([pc.filter(column, keep) for column in columns], schema).append_column(KIND, kinds)
        rejects = self.rows.rejects(builder.rejects, seen, lsns)
        return Parsed(rows, rejects, len(rows) + len(rejects), removals=int((bad & ~bad_key).sum()))


@dataclass(frozen=True)
class _Lost:
    unchanged: np.ndarray
    reason: Reason

    def __call__(self, row: int) -> str:
        return _LOST if self.unchanged[row] else self.reason(row)


def _true(flags: np.ndarray) -> np.ndarray | None:
    return flags if flags.any() else None


def absent(field: pa.Field, kind: DataType, required: frozenset[str]) -> pa.Scalar:
    """Return the value of a column in a row that deletes: null, or the zero of its type where null is not allowed."""
    zero = zero_of(kind) if field.name in required else None
    return pa.scalar(None, field.type) if zero is None else zero.cast(field.type)
