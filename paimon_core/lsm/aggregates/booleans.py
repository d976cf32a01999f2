"""Aggregate functions bool_and and bool_or over BOOLEAN; they ignore nulls (format 9.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.aggregate import Retracts
from paimon_core.lsm.aggregates.values import skipping_nulls
from paimon_core.lsm.key_groups import Groups


@dataclass(frozen=True, slots=True)
class Connective:
    """The function bool_and (``every``), which is true if all values are, or bool_or, which is true if any value is."""

    every: bool
    can_retract: bool = False

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the conjunction or disjunction of each group's values."""
        return skipping_nulls(column, groups, None, self._step)

    def _step(self, array: pa.Array, groups: Groups, retracts: Retracts | None) -> pa.Array:
        values = array.fill_null(False).to_numpy(zero_copy_only=False)[groups.order]
        reduce = np.logical_and.reduceat if self.every else np.logical_or.reduceat
        return pa.array(reduce(values, groups.starts) if len(values) else values, pa.bool_())
