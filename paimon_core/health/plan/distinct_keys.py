"""Distinct keys: how many rows a merge of files leaves, estimated from the row counts and key ranges of the files.

Each run has each key at most once. If the keys are whole numbers, or texts of digits, the share of the numbers in the
range of a file that are keys of the file is known. Where the ranges of several files overlap, their keys are taken as
chosen independently of each other: of 1,000 numbers, a file with 500 and another with 500 keys have 750 together. For
other keys nothing is known, and all keys are taken as different; ``sampled_keys`` reads some for chosen work.

After a compaction of a bucket, the number of keys from which its runs were chosen is known for any kind of key, if
updates are spread over all keys. It is recorded as ``key_domain`` of the outcome, and the next forecast uses it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.metadata.data_file import DataFile
from paimon_core.schema import DataField

_DIGITS = 15
"""The decimal digits that a floating-point number always holds."""


def distinct_keys(files: Sequence[DataFile], fields: Sequence[DataField], buckets: int = 1) -> float:
    """Return the estimated number of different keys of ``files``, whose key has the columns ``fields``.

    ``buckets``: a hash distributes the keys to so many buckets, and the files are those of one of them.
    """
    total = float(sum(f.row_count for f in files))
    if len(files) < 2 or len(fields) != 1:
        return total
    types = [fields[0].type]
    bounds_of = [_numbers([decode_row(key, types)[0] for key in keys]) for keys in _bounds(files)]
    if bounds_of[0] is None or bounds_of[1] is None:
        return total
    low, high = bounds_of[0], bounds_of[1] + 1
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


def ranges_tell(files: Sequence[DataFile], fields: Sequence[DataField]) -> bool:
    """Whether the key ranges of files say how many different keys they have: for numbers in one column."""
    if len(fields) != 1 or not files:
        return False
    types = [fields[0].type]
    return all(_numbers([decode_row(key, types)[0] for key in keys]) is not None for keys in _bounds(files))


def _bounds(files: Sequence[DataFile]) -> tuple[list[bytes], list[bytes]]:
    return [f.min_key for f in files], [f.max_key for f in files]


def _numbers(keys: Sequence[object]) -> npt.NDArray[np.float64] | None:
    """Return keys that are whole numbers, or texts of digits of one length, as numbers; None for other keys."""
    if all(type(key) is int for key in keys):
        return np.array(keys, float)
    texts = [key for key in keys if isinstance(key, str) and key.isascii() and key.isdecimal()]
    if len(texts) < len(keys) or len({len(text) for text in texts}) != 1 or len(texts[0]) > _DIGITS:
        return None
    return np.array([int(text) for text in texts], float)


def rows_of_runs(files: Sequence[DataFile]) -> list[int]:
    """Return the rows of each sorted run: each file of level 0, and all files of a higher level together."""
    by_level: dict[int, int] = {}
    for file in files:
        if file.level > 0:
            by_level[file.level] = by_level.get(file.level, 0) + file.row_count
    return [f.row_count for f in files if f.level == 0] + list(by_level.values())


def distinct_of(runs: Sequence[int], domain: float) -> float:
    """Return the expected number of different keys of runs that were chosen at random from ``domain`` keys."""
    if math.isinf(domain):
        return float(sum(runs))
    size = max(domain, *runs, 1)
    return size * -math.expm1(sum(math.log1p(-min(n / size, 1 - 1e-12)) for n in runs))


def domain_of(runs: Sequence[int], distinct: int) -> float | None:
    """Return the number of keys from which the runs seem to be chosen, since they have ``distinct`` different keys.

    Infinity if all keys are different; None if nothing can be said: one run, or fewer keys than the largest run has,
    because rows were deleted.
    """
    total = sum(runs)
    if len(runs) < 2 or distinct < max(runs):
        return None
    if distinct >= total:
        return math.inf
    low, high = float(max(runs)), float(max(runs))
    while distinct_of(runs, high) < distinct:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if distinct_of(runs, middle) < distinct else (low, middle)
    return high
