"""row_mask: the rows that a bound predicate selects, as a numpy array."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.predicate.bound import BoundPredicate

Mask = npt.NDArray[np.bool_]


def row_mask(where: BoundPredicate, rows: pa.RecordBatch | pa.Table) -> Mask:
    """Return for each row whether ``where`` is true; ``rows`` must have the columns that ``where`` names."""
    found = where.mask(rows)
    return np.asarray(pc.fill_null(found, False) if found.null_count else found, np.bool_)
