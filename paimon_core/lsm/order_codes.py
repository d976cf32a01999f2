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

from paimon_core.lsm.gather import contiguous

Ints = npt.NDArray[Any]
"""One integer per row."""
Codes = npt.NDArray[Any]
"""One comparable value per row: integers, or fixed-width bytes (dtype S)."""

WIDEST_TEXT = 64
"""Texts of at most this many bytes are converted to padded words; for longer texts, the column is sorted for ranks."""
_LARGEST_BUFFER = 2**31 - 1
_CANONICAL_NAN = 0x7FF8000000000000
_WORD = 8
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
    array = contiguous(column)
    flags: list[Ints] = []
    if array.null_count:
        flags = [pc.is_valid(array).cast(pa.uint8()).to_numpy(zero_copy_only=False)]
        if array.null_count == len(array):
            return flags
    values = _values(array)
    return flags + ([np.invert(part) for part in values] if descending else values)


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
        word = _reduced(part, low).astype(">u8").view(np.uint8).reshape(rows, _WORD)
        image[:, start : start + width] = word[:, _WORD - width :]
        start += width
    return image.view(f"S{start}").reshape(rows)


def leading_word(columns: Sequence[Ints], rows: int) -> tuple[Ints, list[Ints]]:
    """Return one integer per row, and the arrays that decide between rows which are equal in this integer.

    ``columns``: integer arrays, most significant first. The leading integer has as many bits of the first arrays as fit
    into 64 bits, so that it alone decides between most rows. Constant arrays are left out, and a single array is
    returned unchanged.
    """
    if len(columns) == 1 and columns[0].dtype.kind in "iu":
        return columns[0], []
    varying = _varying(columns, rows)
    if not varying:
        return np.zeros(rows, np.uint8), []
    if len(varying) == 1:
        return varying[0][0], []
    (part, low, used), *others = varying
    code = _reduced(part, low)
    for number, (part, low, bits) in enumerate(others):
        room = 8 * _WORD - used
        if bits <= room:
            code = (code << np.uint64(bits)) | _reduced(part, low)
            used += bits
            continue
        if room:
            code = (code << np.uint64(room)) | (_reduced(part, low) >> np.uint64(bits - room))
        return code, [left for left, _, _ in others[number:]]
    return code, []


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
        if used > 8 * _WORD:
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
    return part.astype(np.uint64) - np.uint64(low % 2**64)


def _values(array: pa.Array) -> list[Ints]:
    """Return the integer arrays of the values.

    The integers of a null are arbitrary: the array of validity flags, which comes before them, decides.
    """
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _text(array.cast(pa.binary()))
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


def _text(array: pa.Array) -> list[Ints]:
    """Return the zero-padded bytes as big-endian words, and the lengths, which distinguish padding from zero bytes.

    A common prefix of all texts does not make the codes longer, because ``pack`` leaves out constant words and bits.
    """
    if array.null_count:
        array = pc.fill_null(array, b"")
    lengths = pc.binary_length(array).to_numpy()
    width = int(lengths.max(initial=0))
    padded = -(-width // _WORD) * _WORD
    if width > WIDEST_TEXT or padded * len(array) > _LARGEST_BUFFER:
        return [_rank(array)]
    if width == 0:
        return []
    if _WORD <= width == int(lengths.min()):
        return _fixed_text(array, width)
    # Arrow pads only text, but the kernel works on bytes; this view avoids the check for valid UTF-8.
    text = pa.Array.from_buffers(pa.string(), len(array), array.buffers(), offset=array.offset)
    image = pc.ascii_rpad(text, padded, "\0").buffers()[2]
    words = np.frombuffer(image, ">u8", count=len(array) * padded // _WORD).reshape(len(array), -1)
    columns: list[Ints] = [words[:, i].astype(np.uint64) for i in range(words.shape[1])]
    columns[-1] >>= np.uint64(8 * (padded - width))
    return [*columns, lengths]


def _fixed_text(array: pa.Array, width: int) -> list[Ints]:
    """Return the words of texts that all have ``width`` bytes, 8 or more; the last word has the remaining bytes."""
    start = int(np.frombuffer(array.buffers()[1], np.int32, 1, 4 * array.offset)[0])

    def word(at: int) -> Ints:
        return np.ndarray((len(array),), ">u8", array.buffers()[2], start + at, (width,)).astype(np.uint64)

    words = [word(at) for at in range(0, width - _WORD + 1, _WORD)]
    if rest := width % _WORD:
        words.append(word(width - _WORD) & np.uint64(2 ** (8 * rest) - 1))
    return words
