"""file_requests: the requests to an object store that a read of all columns of a file makes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from paimon_core.storage.object_stores.remote_file import AHEAD_BYTES, TAIL_BYTES

REPEATS: Mapping[str, float] = MappingProxyType({"orc": 1.4})
"""By format: how often a range of a file is read that does not fit into one request; 1 for other formats.

ORC files are read once for their checksum, in larger ranges, and then for their columns. The factor is a mean of
measured reads.
"""


def file_requests(sizes: npt.NDArray[np.int64], file_format: str) -> npt.NDArray[np.int64]:
    """Return the requests of a full read of files of ``sizes`` bytes.

    The first request reads the end of a file, which is all of a small file; the next requests read ``AHEAD_BYTES``.
    """
    ranges = np.ceil(np.maximum(sizes - TAIL_BYTES, 0) / AHEAD_BYTES)
    repeated = np.rint(ranges * REPEATS.get(file_format, 1.0))
    counts: npt.NDArray[np.int64] = 1 + np.where(ranges > 1, repeated, ranges).astype(np.int64)
    return counts
