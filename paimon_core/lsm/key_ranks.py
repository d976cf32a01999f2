"""ranks_of_keys: numbers that have the order of serialized keys, so that keys of many files are compared as columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from paimon_core.codec.binary_row.row_columns import RowBytes, key_ranks
from paimon_core.lsm.key_order import key_order
from paimon_core.types import DataType

Numbers = npt.NDArray[np.int64]


def ranks_of_keys(lows: RowBytes, highs: RowBytes, types: Sequence[DataType]) -> tuple[Numbers, Numbers]:
    """Return a number for each key of ``lows`` and of ``highs``, keys of columns with these ``types``.

    Compared with each other, the numbers of both arrays have the same order as the keys. Raises CorruptTable for keys
    that do not decode.
    """
    ranks = key_ranks(lows, highs, types)
    if ranks is not None:
        return ranks
    order = key_order(types)
    keys = [_texts(rows) for rows in (lows, highs)]
    known = {key: order(key) for key in {*keys[0], *keys[1]}}
    numbers = {key: number for number, key in enumerate(sorted(set(known.values())))}
    low, high = (np.array([numbers[known[key]] for key in some], np.int64) for some in keys)
    return low, high


def _texts(rows: RowBytes) -> list[bytes]:
    data = rows.buffer.data
    return [bytes(data[a:b]) for a, b in zip(rows.starts.tolist(), (rows.starts + rows.lengths).tolist(), strict=True)]
