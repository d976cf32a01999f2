"""Row hashes: equal rows have equal hashes; different rows have different hashes except by chance.

Columns may have any type. A hash is a sum of mixed words, one word for each column. The word of a column is itself a
sum of mixed words: one for each eight bytes of a text, each field and each element. Words at different positions are
mixed with different keys. A hash has ``width`` numbers; each number is a separate sum with separate keys. Memory: 10
times the bytes of ``_BLOCK_ROWS`` fixed-size values or of ``_STEP_WORDS`` words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.gather import offsets_of
from paimon_core.schema import DataField

Hashes = npt.NDArray[np.uint64]
_Ints = npt.NDArray[np.int64]

_BLOCK_ROWS = 1 << 15
_STEP_WORDS = 1 << 16
"""The number of words of texts that are mixed at once."""
_MOST_WIDTH = 2
_KEY_BITS = 12
_FAR = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_MASKS: Hashes = np.array([0, *((1 << 8 * n) - 1 for n in range(1, 8))], np.uint64)
"""The mask of the last word of a text, by the number of bytes of the text in this word; index 0 is not used."""


@cache
def _all_keys() -> Hashes:
    """Return the keys by position, for each number of a hash: random numbers that are the same in all processes.

    ``numpy.random`` is imported at the first call.
    """
    return np.random.default_rng(0x7061696D6F6E).integers(0, 1 << 64, (_MOST_WIDTH, 1 << _KEY_BITS), np.uint64)


def _null(width: int) -> Hashes:
    """Return the hash of null: the last key."""
    return _all_keys()[:width, -1:]


def row_hashes(rows: pa.Table | pa.RecordBatch, fields: Sequence[DataField]) -> Hashes:
    """Return one hash of 64 bits per row over the columns ``fields``, uint64[rows].

    -0.0 and 0.0 have the same hash, all NaN have the same hash, and the order of the entries of a map has no effect.
    """
    hashes: Hashes = _hashed(rows, fields, _Hasher(1, signed_zeros=False))[0]
    return hashes


def wide_row_hashes(rows: pa.Table | pa.RecordBatch, fields: Sequence[DataField]) -> Hashes:
    """Return hashes of 128 bits, uint64[2, rows]: rows with equal hashes count as equal (decision 0045).

    All NaN have the same hash, -0.0 and 0.0 have different hashes, and the order of the entries of a map has no effect.
    """
    return _hashed(rows, fields, _Hasher(2, signed_zeros=True))


def _hashed(rows: pa.Table | pa.RecordBatch, fields: Sequence[DataField], hasher: _Hasher) -> Hashes:
    chosen = rows.select([f.name for f in fields])
    batches = chosen.to_batches(_BLOCK_ROWS) if isinstance(chosen, pa.Table) else _sliced(chosen)
    blocks = [hasher.joined(batch.columns, len(batch)) for batch in batches]
    return np.concatenate([np.zeros((hasher.width, 0), np.uint64), *blocks], axis=1)


def _sliced(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [batch.slice(start, _BLOCK_ROWS) for start in range(0, len(batch), _BLOCK_ROWS)]


class _Hasher:
    """Computes codes, uint64[width, n] for an array of n elements; equal elements have equal codes."""

    def __init__(self, width: int, *, signed_zeros: bool) -> None:
        self.width, self._signed_zeros = width, signed_zeros

    def joined(self, columns: Sequence[pa.Array], count: int) -> Hashes:
        """Return one code for each row of several columns."""
        out = np.zeros((self.width, count), np.uint64)
        for place, column in enumerate(columns):
            codes = self.codes(column)
            for number in range(self.width):
                out[number] += _mixed(codes[number] ^ _key(number, place))
        return out

    def codes(self, array: pa.Array) -> Hashes:
        """Return one code for each element."""
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        kind = array.type
        if pa.types.is_null(kind):
            return np.broadcast_to(_null(self.width), (self.width, len(array)))
        if pa.types.is_dictionary(kind):
            values = self.codes(array.dictionary) if len(array.dictionary) else _null(self.width)
            found = values[:, array.indices.fill_null(0).to_numpy(zero_copy_only=False)]
        elif pa.types.is_struct(kind):
            found = self.joined(array.flatten(), len(array))
        elif pa.types.is_map(kind):
            found = self._of_lists(array, pa.StructArray.from_arrays([array.keys, array.items], ["k", "v"]))
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            found = self._of_lists(array, array.values, in_order=True)
        elif pa.types.is_fixed_size_list(kind):
            return self.codes(array.cast(pa.list_(kind.value_type)))
        elif pa.types.is_decimal(kind):
            halves = _buffer(array, np.uint64, 2)
            found = _sum_of([_mixed(halves[:, at] ^ _keys(self.width, at)) for at in (0, 1)])
        elif _is_text(kind):
            found = self._of_texts(array)
        else:
            found = np.broadcast_to(self._bits(array), (self.width, len(array)))
        return found if array.null_count == 0 else np.where(_nulls(array), _null(self.width), found)

    def _bits(self, array: pa.Array) -> Hashes:
        kind = array.type
        if pa.types.is_boolean(kind):
            return _buffer(array.cast(pa.uint8()), np.uint8).astype(np.uint64)
        if pa.types.is_floating(kind):
            values = _buffer(array, np.dtype(f"f{kind.bit_width // 8}")).astype(np.float64)
            values = values if self._signed_zeros else values + 0.0
            return np.where(np.isnan(values), np.nan, values).view(np.uint64)
        return _buffer(array, np.dtype(f"i{kind.bit_width // 8}")).astype(np.int64).view(np.uint64)

    def _of_lists(self, array: pa.Array, values: pa.Array, *, in_order: bool = False) -> Hashes:
        ends = _offsets(array)
        codes = self.codes(values.slice(ends[0], ends[-1] - ends[0]))
        lengths = np.diff(ends)
        place = _places(lengths) if in_order else np.zeros(int(lengths.sum()), np.int64)
        return self._summed(lengths, np.stack([_mixed(codes[n] ^ _key(n, place)) for n in range(self.width)]))

    def _summed(self, lengths: _Ints, words: Hashes) -> Hashes:
        """Return, for each element, the sum of its words; ``lengths`` has the number of words of each element."""
        out = np.zeros((self.width, len(lengths)), np.uint64)
        some = np.flatnonzero(lengths)
        if len(some):
            out[:, some] = np.add.reduceat(words, offsets_of(lengths)[some], axis=1)
        return out + lengths.view(np.uint64) * _FAR

    def _of_texts(self, array: pa.Array) -> Hashes:
        if pa.types.is_fixed_size_binary(array.type):
            array = array.cast(pa.binary())
        ends, data = _offsets(array), array.buffers()[2]
        lengths = np.diff(ends)
        out = np.broadcast_to(lengths.view(np.uint64) * _FAR, (self.width, len(lengths))).copy()
        some = np.flatnonzero(lengths)
        counts = (lengths[some] + 7) >> 3
        upto = np.cumsum(counts)
        for start in range(0, int(upto[-1]) if len(some) else 0, _STEP_WORDS):
            end = min(start + _STEP_WORDS, int(upto[-1]))
            first, last = np.searchsorted(upto, [start, end - 1], side="right")
            own = slice(first, last + 1)
            skipped = np.maximum(start - (upto[own] - counts[own]), 0)
            words = np.minimum(upto[own], end) - (upto[own] - counts[own]) - skipped
            at = some[own]
            place = _places(words) + np.repeat(skipped, words)
            left = np.repeat(lengths[at], words) - 8 * place
            found = _words(data, np.repeat(ends[at], words) + 8 * place, left)
            starts = offsets_of(words)[:-1]
            for number in range(self.width):
                out[number, at] += np.add.reduceat(_mixed(found ^ _key(number, place)), starts)
        return out


def _sum_of(parts: Sequence[Hashes]) -> Hashes:
    """Return the sum of codes modulo 2^64."""
    out = parts[0]
    for part in parts[1:]:
        out = out + part
    return out


def _mixed(words: Hashes) -> Hashes:
    """Mix the bits of the words, in place, and return them; different words give different results."""
    words ^= words >> np.uint64(32)
    words *= _FIRST
    words ^= words >> np.uint64(29)
    words *= _SECOND
    words ^= words >> np.uint64(32)
    return words


def _key(number: int, place: int | _Ints) -> Hashes:
    """Return the key of a position; positions beyond the table of keys get a computed key."""
    at = np.asarray(place, np.int64)
    keys: Hashes = _all_keys()[number][at & ((1 << _KEY_BITS) - 1)]
    far = (at >> _KEY_BITS).view(np.uint64)
    return keys + far * _FAR if far.any() else keys


def _keys(width: int, place: int) -> Hashes:
    return _all_keys()[:width, place : place + 1]


def _places(lengths: _Ints) -> _Ints:
    """Return the numbers 0, 1, ... of the items inside each run, for runs of the given ``lengths``."""
    starts = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) - np.repeat(starts, lengths)


def _words(data: pa.Buffer, at: _Ints, left: _Ints) -> Hashes:
    """Return the 8-byte words at the positions ``at`` of a buffer; bytes after the first ``left`` bytes are 0."""
    if data.size < 8:
        data = pa.py_buffer(data.to_pybytes().ljust(8, b"\0"))
    each = np.ndarray((data.size - 7,), "<u8", buffer=data, strides=(1,))
    inside = np.minimum(at, data.size - 8)
    words: Hashes = each[inside] >> (8 * (at - inside)).view(np.uint64)
    ends = np.flatnonzero(left < 8)
    words[ends] &= _MASKS[left[ends]]
    return words


def _is_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in tests) or pa.types.is_fixed_size_binary(kind)


def _offsets(array: pa.Array) -> _Ints:
    """Return the start of each element in the values, and the end of the last element."""
    kind = np.int64 if pa.types.is_large_list(array.type) or str(array.type).startswith("large") else np.int32
    found = np.frombuffer(array.buffers()[1], kind)[array.offset : array.offset + len(array) + 1]
    return found.astype(np.int64) if len(found) else np.zeros(1, np.int64)


def _buffer(array: pa.Array, kind: npt.DTypeLike, each: int = 1) -> npt.NDArray[Any]:
    """Return the values of a fixed-size type; each value has ``each`` numbers; the numbers of a null are arbitrary."""
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros((len(array), each) if each > 1 else len(array), kind)
    found = np.frombuffer(data, kind)[array.offset * each : (array.offset + len(array)) * each]
    return found.reshape(-1, each) if each > 1 else found


def _nulls(array: pa.Array) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return found
