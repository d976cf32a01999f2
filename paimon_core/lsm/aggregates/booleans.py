"""Aggregate functions bool_and and bool_or over BOOLEAN; they ignore nulls (format 9.5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.aggregate import Retracts
from paimon_core.lsm.aggregates.positions import valid_rows
from paimon_core.lsm.aggregates.reductions import reduced
from paimon_core.lsm.gather import contiguous, taken
from paimon_core.lsm.key_groups import Groups


@dataclass(frozen=True, slots=True)
class Connective:
    """The function bool_and (``every``), which is true if all values are, or bool_or, which is true if any value is."""

    every: bool
    can_retract: bool = False

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the conjunction or disjunction of each group's values."""
        values = contiguous(column).fill_null(False).to_numpy(zero_copy_only=False)
        operation = np.logical_and if self.every else np.logical_or
        results, known = reduced(operation, partial(taken, values), groups, valid_rows(column))
        nulls = None if known is None else ~known
        return pa.chunked_array([pa.array(results, pa.bool_(), mask=nulls)])
