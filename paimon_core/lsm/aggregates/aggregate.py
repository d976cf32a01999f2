"""Aggregate: the interface of functions that combine the values of a column into one value per key (format 9.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.key_groups import Groups
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField

Retracts = npt.NDArray[np.bool_]
"""One boolean per row of the table: true for rows of kind -U and -D."""


class Aggregate(Protocol):
    """Combines the values of each group, from the first to the last row, starting from null."""

    @property
    def can_retract(self) -> bool:
        """Whether the function can retract values, for rows of kind -U and -D."""

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return one value per group, of the column's type; null for an empty group.

        ``retracts`` None: no row is a retract. Callers pass retracts only when ``can_retract`` is true. Raises
        InvalidRequest, which names the column, for values for which Java would fail, such as a sum that overflows.
        """


Factory = Callable[[DataField, FieldOptions], Aggregate]
"""Creates the function for a column; raises InvalidOption naming the column for an unsupported type or option."""


@dataclass(frozen=True, slots=True)
class IgnoreRetract:
    """A function that ignores retracts (option ``fields.<f>.ignore-retract``)."""

    inner: Aggregate
    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the result of ``inner`` for the rows that are not retracts."""
        return self.inner(column, groups if retracts is None else groups.where(~retracts), None)
