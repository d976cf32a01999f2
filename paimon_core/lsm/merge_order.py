"""Merge order: the order of the rows of one key; the last row is the newest (format 8.6).

Rows of a key are ordered by the ``sequence.field`` columns, then by ``_SEQUENCE_NUMBER``, then retracts before adds.
Rows that are equal in all these values keep the order in which they were given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.gather import contiguous
from paimon_core.lsm.order_codes import Ints, parts
from paimon_core.options import TableOptions
from paimon_core.schema import SEQUENCE_NUMBER, VALUE_KIND


@dataclass(frozen=True, slots=True)
class MergeOrder:
    """The ``sequence.field`` columns and their direction; null is the smallest in both directions."""

    sequence_fields: tuple[str, ...] = ()
    descending: bool = False

    @staticmethod
    def of(options: TableOptions) -> MergeOrder:
        """Return the order that the table's options define."""
        fields = options["sequence.field"] or ()
        return MergeOrder(tuple(fields), options["sequence.field.sort-order"] == "descending")

    def ranks(self, rows: pa.Table) -> list[Ints]:
        """Return integer arrays, most significant first: of the rows of a key, the row with the larger values comes
        later.
        """
        columns = [p for name in self.sequence_fields for p in parts(rows[name], descending=self.descending)]
        return [*columns, sequence_numbers(rows), is_add(rows).view(np.uint8)]


def sequence_numbers(rows: pa.Table) -> npt.NDArray[np.int64]:
    """The ``_SEQUENCE_NUMBER`` column."""
    return np.asarray(contiguous(rows[SEQUENCE_NUMBER]).to_numpy())


def has_retracts(rows: pa.Table) -> bool:
    """Whether a row is of kind -U or -D; rows without the column ``_VALUE_KIND`` are not."""
    return VALUE_KIND in rows.column_names and not is_add(rows).all()


def only_inserts(rows: pa.Table) -> bool:
    """Whether all rows are of kind +I; rows without the column ``_VALUE_KIND`` are."""
    return VALUE_KIND not in rows.column_names or not contiguous(rows[VALUE_KIND]).to_numpy().any()


def is_add(rows: pa.Table) -> npt.NDArray[np.bool_]:
    """True for rows of kind +I (0) and +U (2), false for the retracts -U (1) and -D (3)."""
    kinds = contiguous(rows[VALUE_KIND]).to_numpy()
    return np.asarray((kinds & 1) == 0)
