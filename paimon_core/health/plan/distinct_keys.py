"""Distinct keys: how many rows a merge of files leaves, estimated from the row counts and key ranges of the files.

Each run has each key at most once. If the keys are whole numbers, the share of the numbers in the range of a file that
are keys of the file is known. Where the ranges of several files overlap, their keys are taken as chosen independently
of each other: of 1,000 numbers, a file with 500 and another with 500 keys have 750 together. For other keys nothing is
known, and all keys are taken as different.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.metadata.data_file import DataFile
from paimon_core.schema import DataField
from paimon_core.types import TypeRoot

_WHOLE = {TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT}


def distinct_keys(files: Sequence[DataFile], fields: Sequence[DataField], buckets: int = 1) -> float:
    """Return the estimated number of different keys of ``files``, whose key has the columns ``fields``.

    ``buckets``: a hash distributes the keys to so many buckets, and the files are those of one of them.
    """
    total = float(sum(f.row_count for f in files))
    if len(files) < 2 or len(fields) != 1 or fields[0].type.root not in _WHOLE:
        return total
    types = [f.type for f in fields]
    low = np.array([decode_row(f.min_key, types)[0] for f in files], float)
    high = np.array([decode_row(f.max_key, types)[0] for f in files], float) + 1
    density = np.minimum(1.0, buckets * np.array([f.row_count for f in files]) / (high - low))
    bounds = np.unique(np.concatenate([low, high]))
    # The logarithms of 1 - density are added where a file begins and subtracted where it ends. A dense file counts as
    # almost dense, because the logarithm of 0 is not finite.
    logs = np.log1p(-np.minimum(density, 1 - 1e-9))
    change = np.zeros(len(bounds))
    np.add.at(change, np.searchsorted(bounds, low), logs)
    np.add.at(change, np.searchsorted(bounds, high), -logs)
    covered = -np.expm1(np.minimum(0.0, change.cumsum()[:-1]))
    return min(total, float((covered * np.diff(bounds)).sum()) / buckets)
