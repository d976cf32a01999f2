"""Nested key: the key of the rows in an array of rows (options nested-key and nested-key-null-strategy)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.aggregates.collections.entries import Entries
from paimon_core.lsm.aggregates.collections.value_codes import Numbers, is_valid, same_object
from paimon_core.lsm.gather import Flags


@dataclass(frozen=True, slots=True)
class NestedKey:
    """The key consists of ``fields`` of the rows in column ``column``.

    ``nulls``: rows with a null in the key are merged like other rows (merge), left out (ignore) or refused (error).
    """

    column: str
    fields: tuple[str, ...]
    nulls: str = "merge"

    def rows(self, found: Entries) -> Entries:
        """Return the entries without null elements and, unless ``nulls`` is merge, without rows with a null in the key.

        Raises InvalidRequest naming the column for a null in a key if ``nulls`` is error, except in a retract before
        any add.
        """
        counts = is_valid(found.values)
        if self.nulls == "merge":
            return found.keep(counts)
        incomplete = counts & self._incomplete(found.values)
        if self.nulls == "error" and (incomplete & (found.begun | ~found.retracted)).any():
            raise InvalidRequest(
                f"column {self.column!r}: a row has a null in its nested key {', '.join(self.fields)}, and option "
                f"fields.{self.column}.nested-key-null-strategy is error",
                column=self.column,
                option=f"fields.{self.column}.nested-key-null-strategy",
            )
        return found.keep(counts & ~incomplete)

    def numbers(self, rows: pa.Array) -> Numbers:
        """Return one number per row; rows with equal keys have equal numbers."""
        columns = self._columns(rows)
        return same_object(pa.StructArray.from_arrays(columns, list(self.fields)))

    def _columns(self, rows: pa.Array) -> list[pa.Array]:
        return [pc.struct_field(rows, [name]) for name in self.fields]

    def _incomplete(self, rows: pa.Array) -> Flags:
        incomplete = np.zeros(len(rows), np.bool_)
        for column in self._columns(rows):
            incomplete |= ~is_valid(column)
        return incomplete
