"""Order codes: key columns as one numpy array that sorts and compares as Paimon orders keys (format 7.3).

``order_codes`` guarantees for rows i and j of the given columns: ``codes[i] < codes[j]`` exactly when row i comes
before row j, and ``codes[i] == codes[j]`` exactly when the columns are equal. Codes from different calls cannot be
compared: a code has only as many bits as the values of its call need, so that most keys fit into one 64-bit word.

The order is: null first, false before true, numbers and times by value, text and binary by unsigned bytes, floats with
-0.0 before 0.0 and NaN last (all NaNs are equal, independent of their bits).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.gather import contiguous, scratch
from paimon_core.lsm.text_words import WORD, images, is_image, words

Ints = npt.NDArray[Any]
"""One integer per row."""
Codes = npt.NDArray[Any]
"""One comparable value per row: integers, or fixed-width bytes (dtype S)."""

_CANONICAL_NAN = 0x7FF8000000000000
_LEAST_ROOM = 8
"""A leading word with less room than this number of bits gets no bits of the array that does not fit."""
_FEW_ROWS = 4096
_Part = tuple[Ints, int, int]
"""An array with one integer per row, the smallest of these integers, and the number of bits of their range."""


def order_codes(columns: Sequence[pa.Array | pa.ChunkedArray]) -> Codes:
    """Return one code per row; the first column is the most significant. Columns have equal length."""
    return pack([part for column in columns for part in parts(column)], len(columns[0]))


def parts(column: pa.Array | pa.ChunkedArray, *, descending: bool = False) -> list[Ints]:
    """Return integer arrays whose lexicographic order is the order of the column.

    The first array is the most significant. ``descending`` reverses the order of all values except null.
    """
    values = [word for part in key_parts(column) for word in (words(part) if is_image(part) else (part,))]
    if not descending:
        return values
    flags = 1 if column.null_count else 0
    return values[:flags] + [np.invert(part) for part in values[flags:]]


def key_parts(column: pa.Array | pa.ChunkedArray) -> list[Codes]:
    """Return arrays as ``parts`` does, but for texts an image (``lsm.text_words``), which need not be a copy."""
    array = contiguous(column)
    flags: list[Codes] = []
    if array.null_count:
        flags = [pc.is_valid(array).cast(pa.uint8()).to_numpy(zero_copy_only=False)]
        if array.null_count == len(array):
            return flags
    return flags + _values(array)


def pack(columns: Sequence[Ints], rows: int) -> Codes:
    """Combine integer arrays, most significant first, into one code per row.

    Constant arrays are left out, and a single remaining array is returned unchanged. Arrays that need at most 64 bits
    together become one uint64 array. If the arrays need more bits, only the leading arrays become one uint64 array,
    provided that rows that are equal in the leading arrays are equal in all arrays. Otherwise the result is big-endian
    bytes of a fixed width. numpy treats trailing zero bytes as padding, which does not change a comparison of values of
    equal width.
    """
    varying = _varying(columns, rows)
    if not varying:
        return np.zeros(rows, np.uint8)
    if len(varying) == 1:
        return varying[0][0]
    leading, rest = _leading_word(varying)
    if not rest or _decides(leading, rest):
        return leading
    widths = [-(-bits // 8) for _, _, bits in varying]
    image = np.empty((rows, sum(widths)), np.uint8)
    start = 0
    for (part, low, _), width in zip(varying, widths, strict=True):
        word = _reduced(part, low).astype(">u8").view(np.uint8).reshape(rows, WORD)
        image[:, start : start + width] = word[:, WORD - width :]
        start += width
    return image.view(f"S{start}").reshape(rows)


def leading_word(columns: Sequence[Codes], rows: int) -> tuple[Ints, list[Codes]]:
    """Return one integer per row, and the arrays that decide between rows which are equal in this integer.

    ``columns``: arrays of ``key_parts``, most significant first. The leading integer has as many bits of the first
    arrays as fit into 64 bits, so that it alone decides between most rows. Constant arrays are left out, and a single
    array is returned unchanged. The words of an image that are not needed are not read.
    """
    if len(columns) == 1 and columns[0].dtype.kind in "iu":
        return columns[0], []
    first: _Part | None = None
    code: Ints = np.zeros(rows, np.uint8)
    used = 0
    for number, column in enumerate(columns):
        for part in words(column) if is_image(column) else (column,):
            room = 8 * WORD - used
            if room < _LEAST_ROOM:
                return code, _not_constant(columns[number:])
            (varying,) = _varying([part], rows) or (None,)
            if varying is None:
                continue
            _, low, bits = varying
            if first is None:
                first, code, used = varying, part, bits
                continue
            if code is first[0]:
                code = _reduced(code, first[1])
            taken = min(bits, room)
            np.left_shift(code, np.uint64(taken), out=code)
            more = _reduced(part, low)
            code |= np.right_shift(more, np.uint64(bits - taken), out=more)
            used += taken
            if taken < bits:
                return code, _not_constant(columns[number:])
    return code, []


def _not_constant(columns: Sequence[Codes]) -> list[Codes]:
    """Return the images, and the other arrays that are not constant."""
    return [column for column in columns if is_image(column) or column.min() != column.max()]


def _varying(columns: Sequence[Ints], rows: int) -> list[_Part]:
    """Return the arrays that are not constant."""
    varying: list[_Part] = []
    for part in columns:
        low, high = (int(part.min()), int(part.max())) if rows else (0, 0)
        if low != high:
            varying.append((part, low, (high - low).bit_length()))
    return varying


def _leading_word(varying: list[_Part]) -> tuple[Ints, list[Ints]]:
    """Combine as many of the first parts as fit into 64 bits; return one number per row, and the remaining arrays."""
    (part, low, used), *others = varying
    code = _reduced(part, low)
    for number, (part, low, bits) in enumerate(others):
        used += bits
        if used > 8 * WORD:
            return code, [left for left, _, _ in others[number:]]
        code = (code << np.uint64(bits)) | _reduced(part, low)
    return code, []


def _decides(leading: Ints, rest: list[Ints]) -> bool:
    """Whether rows that are equal in ``leading`` are equal in all other arrays.

    A few rows are checked first, because they usually show a difference.
    """
    for rows in (slice(_FEW_ROWS), slice(None)):
        some = leading[rows]
        order = np.argsort(some, kind="stable")
        equal = some[order][1:] == some[order][:-1]
        one, other = order[:-1][equal], order[1:][equal]
        if not all(np.array_equal(part[rows][one], part[rows][other]) for part in rest):
            return False
    return True


def float_code(bits: Ints) -> Ints:
    """Convert doubles, given as int64 bits, to integers of the same order: -0.0 below 0.0, the canonical NaN last."""
    code: Ints = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    return code


def _reduced(part: Ints, low: int) -> npt.NDArray[np.uint64]:
    """Return a copy of the integers, less the smallest of them."""
    found = scratch(len(part), np.uint64)
    np.copyto(found, part, casting="unsafe")
    found -= np.uint64(low % 2**64)
    return found


def _values(array: pa.Array) -> list[Codes]:
    """Return the arrays of the values.

    The integers of a null are arbitrary: the array of validity flags, which comes before them, decides.
    """
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        found = images(pc.fill_null(array.cast(pa.binary()), b"") if array.null_count else array.cast(pa.binary()))
        return [_rank(array)] if found is None else found
    if pa.types.is_integer(kind):
        return [_numpy(array)]
    if pa.types.is_boolean(kind):
        return [_numpy(array.cast(pa.uint8()))]
    if pa.types.is_timestamp(kind):
        return [_numpy(array.cast(pa.int64()))]
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return [_numpy(array.cast(pa.int32()))]
    if pa.types.is_floating(kind):
        floats = _numpy(array).astype(np.float64)
        return [float_code(np.where(np.isnan(floats), np.int64(_CANONICAL_NAN), floats.view(np.int64)))]
    if pa.types.is_decimal128(kind):
        return _decimal(array)
    return [_rank(array)]


def _numpy(array: pa.Array) -> Ints:
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(0, array.type))
    values: Ints = array.to_numpy(zero_copy_only=False)
    return values


def _decimal(array: pa.Array) -> list[Ints]:
    """Return the unscaled values: one signed word for up to 18 digits, else a signed high and an unsigned low word."""
    words = np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset :][: 2 * len(array)].reshape(-1, 2)
    if array.null_count:
        words = np.where(pc.is_valid(array).to_numpy(zero_copy_only=False)[:, None], words, 0)
    low = np.ascontiguousarray(words[:, 0])
    if array.type.precision <= 18:
        return [low]
    return [np.ascontiguousarray(words[:, 1]), low.view(np.uint64)]


def _rank(array: pa.Array) -> Ints:
    """Return the dense rank of each value (this needs a sort); the rank of a null is arbitrary."""
    ranks = pc.rank(array.drop_null() if array.null_count else array, tiebreaker="dense").to_numpy()
    if not array.null_count:
        return np.asarray(ranks)
    out = np.zeros(len(array), np.uint64)
    out[pc.is_valid(array).to_numpy(zero_copy_only=False)] = ranks
    return out
