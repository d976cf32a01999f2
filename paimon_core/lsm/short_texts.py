"""Short texts: takes texts of a few bytes at positions in scattered order.

Arrow takes a text by its two offsets and a copy of a length that the processor cannot foresee. A *view* of Arrow has 16
bytes, which contain a text of up to 12 bytes. Views are taken as numbers of one width, and then become texts again in
the order of the result. For long texts, and for positions in about the order of the rows, this is not faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_VIEWS = {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()}
_VIEW_BYTES = 16
_INLINE_BYTES = 12
"""The largest number of bytes of a text that its view contains."""
_LEAST_ROWS = 1 << 16
"""Fewer texts than this fit into the processor's cache."""
_SAMPLE_ROWS = 1 << 10
_NEAR_BITS = 6
"""Positions are near each other if they differ only in so many low bits."""


def are_scattered(texts: pa.Array, positions: npt.NDArray[Any] | pa.Array) -> bool:
    """Whether ``take_scattered`` is faster than Arrow: many short texts are taken in scattered order.

    The first positions tell about the order of all.
    """
    if texts.type not in _VIEWS or min(len(texts), len(positions)) < _LEAST_ROWS:
        return False
    data = texts.buffers()[2]
    if data is None or data.size > _INLINE_BYTES * (len(texts) + texts.offset):
        return False
    sample = positions[:_SAMPLE_ROWS]
    if isinstance(sample, pa.Array):
        sample = sample.fill_null(0).to_numpy()
    return 2 * len(np.unique(sample >> sample.dtype.type(_NEAR_BITS))) > len(sample)


def take_scattered(texts: pa.Array, positions: pa.Array) -> pa.Array:
    """Return the texts, which are string or binary, at the positions; a null position gives null."""
    held = texts.cast(_VIEWS[texts.type])
    validity, views, *data = held.buffers()
    numbers = pa.Array.from_buffers(pa.binary(_VIEW_BYTES), len(held), [validity, views], offset=held.offset)
    validity, views = pc.take(numbers, positions, boundscheck=False).buffers()
    found = pa.Array.from_buffers(_VIEWS[texts.type], len(positions), [validity, views, *data])
    return found.cast(texts.type)
