"""Aggregate: the rule that folds a column's values of one key into one (format 9.5)."""

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
    """Folds each group's values, first to last, starting from null."""

    @property
    def can_retract(self) -> bool:
        """Whether rows of kind -U and -D can be taken back."""

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """One value per group, of the column's type; an empty group gives null. ``retracts`` None: no row is one.

        Never called with retracts unless ``can_retract``. Raises InvalidRequest naming the function where Java would
        fail, such as a sum that overflows.
        """


Factory = Callable[[DataField, FieldOptions], Aggregate]
"""Makes the function for a column; raises InvalidOption naming the column for a type or option that does not fit."""


@dataclass(frozen=True, slots=True)
class IgnoreRetract:
    """A function that does not see retracts (option ``fields.<f>.ignore-retract``)."""

    inner: Aggregate
    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """The fold of the rows that are added."""
        return self.inner(column, groups if retracts is None else groups.where(~retracts), None)
