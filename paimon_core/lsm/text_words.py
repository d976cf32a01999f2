"""Text words: texts of a bounded width as numpy values that compare as the bytes of the texts (format 7.3).

An image is an array of fixed-width bytes (dtype S), one per row, with zero bytes behind short texts. Texts that all
have one width are not copied: the image is their memory. ``words`` converts an image to integers, word by word, so that
a caller who needs only the first words does not pay for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.gather import scratch

WIDEST_TEXT = 64
"""The largest number of bytes of a text in an image."""
WORD = 8
"""The number of bytes of a word."""
_LARGEST_BUFFER = 2**31 - 1

Images = npt.NDArray[np.bytes_]
"""One text per row, padded to a fixed width."""


def is_image(values: npt.NDArray[Any]) -> bool:
    """Whether the values are an image, and not integers."""
    return values.dtype.kind == "S"


def images(array: pa.Array) -> list[npt.NDArray[Any]] | None:
    """Return an image of a binary array without nulls, and the lengths of its texts if they differ.

    The lengths, which distinguish padding from zero bytes, decide between texts that are equal in the image. Texts of
    less than ``WORD`` bytes become an array of integers instead of an image; empty texts need no array. None: a text is
    longer than ``WIDEST_TEXT``, or the image is too large for one array of Arrow.
    """
    lengths = pc.binary_length(array).to_numpy()
    width = int(lengths.max(initial=0))
    padded = max(WORD, width)
    if width > WIDEST_TEXT or padded * len(array) > _LARGEST_BUFFER:
        return None
    if width == 0:
        return []
    if padded == width == int(lengths.min()):
        start = int(np.frombuffer(array.buffers()[1], np.int32, 1, 4 * array.offset)[0])
        return [np.ndarray((len(array),), f"S{width}", array.buffers()[2], start)]
    # Arrow pads only text, but the kernel works on bytes; this view avoids the check for valid UTF-8.
    text = pa.Array.from_buffers(pa.string(), len(array), array.buffers(), offset=array.offset)
    image = np.ndarray((len(array),), f"S{padded}", pc.ascii_rpad(text, padded, "\0").buffers()[2])
    return [image if width == padded else next(words(image)) >> np.uint64(8 * (WORD - width)), lengths]


def words(image: Images) -> Iterator[npt.NDArray[np.uint64]]:
    """Yield the words of an image, the most significant first; the last word has only the remaining bytes."""
    width = image.dtype.itemsize
    for at in range(0, width, WORD):
        rest = min(WORD, width - at)
        word = scratch(len(image), np.uint64)
        word[:] = np.ndarray((len(image),), ">u8", image, at + rest - WORD, (width,))
        if rest < WORD:
            word &= np.uint64(2 ** (8 * rest) - 1)
        yield word


def different(image: Images, one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return for each pair of rows whether their texts differ; few of them should."""
    mine, theirs = (image.take(rows).view(np.uint8) for rows in (one, other))
    found = np.zeros(len(one), np.bool_)
    found[np.flatnonzero(mine != theirs) // image.dtype.itemsize] = True
    return found
