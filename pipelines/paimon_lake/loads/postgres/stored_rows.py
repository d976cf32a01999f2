"""Stored rows: read rows of a table by key, at the snapshot on which a load builds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core import col
from paimon_core.predicate import Predicate
from paimon_core.spark.reference import TableReference
from paimon_core.table.view import TableView
from paimon_lake.loads.lookup.lookups import WaitingRows
from paimon_lake.sources.postgres.change_rows import CurrentRows


@dataclass(frozen=True)
class StoredRows:
    """The rows of a table at ``snapshot`` (None: no row). This object is sent to tasks."""

    reference: TableReference
    snapshot: int | None

    def __call__(self, keys: pa.Table, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
        """Return some columns of the rows with these keys, in the order of the keys, and flags for existing rows.

        A null in a key has no row. The values of these rows, and the batches of one scan, are in memory.
        """
        context = self.reference.open()  # with the columns of this load, which the schema of the snapshot may lack
        if self.snapshot is None:
            empty = TableView(context).arrow_schema.empty_table().select(columns)
            return _taken(empty, np.full(len(keys), -1))
        wanted: Predicate | None = None
        for name in keys.column_names:
            one = col(name).is_in([value for value in keys[name].unique().to_pylist() if value is not None])
            wanted = one if wanted is None else wanted & one
        names = [*keys.column_names, *columns]
        view = TableView(context, context.snapshots.read(self.snapshot))
        found = view.scan(names, where=wanted).to_arrow()
        return _taken(found.select(columns), _places(found.select(keys.column_names), keys))


@dataclass(frozen=True)
class NewestRows:
    """The newest rows of a table and its waiting rows: a waiting row is newer than the table's row with its key."""

    stored: CurrentRows
    waiting: StoredRows

    @staticmethod
    def of(stored: CurrentRows, waiting: WaitingRows | None) -> CurrentRows:
        """Return the rows of a table, with the rows that wait when its load begins, if rows can wait."""
        if waiting is None or waiting.snapshot is None:
            return stored
        return NewestRows(stored, StoredRows(waiting.reference, waiting.snapshot))

    def __call__(self, keys: pa.Table, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
        """Return some columns of the rows with these keys, as ``StoredRows`` does."""
        found, exist = self.stored(keys, columns)
        later, waits = self.waiting(keys, columns)
        if not waits.any():
            return found, exist
        mask = pa.array(waits)
        newest = [pc.if_else(mask, later[name].cast(found[name].type), found[name]) for name in columns]
        return pa.table(newest, list(columns)), exist | waits


def _taken(found: pa.Table, places: np.ndarray) -> tuple[pa.Table, np.ndarray]:
    return found.take(pa.array(places, mask=places < 0)), places >= 0


def _places(found: pa.Table, keys: pa.Table) -> np.ndarray:
    """Return for each of ``keys`` its row in ``found``; -1 if there is none."""
    codes = np.zeros(len(found) + len(keys), np.int64)
    for name in keys.column_names:
        both = pa.chunked_array([*found[name].chunks, *keys[name].cast(found.schema.field(name).type).chunks])
        column = both.combine_chunks().dictionary_encode().indices
        numbers = np.asarray(column.fill_null(-1)).astype(np.int64) + 1
        codes = np.unique(codes * (numbers.max(initial=0) + 1) + numbers, return_inverse=True)[1]
    rows = np.full(int(codes.max(initial=-1)) + 1, -1)
    rows[codes[: len(found)]] = np.arange(len(found))
    return rows[codes[len(found) :]]
