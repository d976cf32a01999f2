"""Names of numpy array types that several layers use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
"""One bool per row."""
Positions = npt.NDArray[np.int64]
"""Row positions in ascending order, without duplicates."""
