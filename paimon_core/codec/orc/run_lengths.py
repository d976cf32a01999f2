"""Run lengths: computes the sum and the maximum of the unsigned integers in an ORC stream, versions 1 and 2.

The lengths of texts and lists are stored in such streams. A run of a few bytes can have up to 512 numbers, so sum and
maximum are computed without decoding every number. Functions raise ValueError or IndexError for bytes that do not
decode.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import numpy as np

_SHORT_REPEAT, _DIRECT, _PATCHED = range(3)
_WIDTHS = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
_WIDEST = 70


class Lengths(NamedTuple):
    """The count, the sum and the maximum of the numbers of a stream; ``longest`` may be too high."""

    number: int
    total: int
    longest: int


def lengths(data: bytes, most: int, *, version: int) -> Lengths:
    """Return the sum and the maximum of the first numbers in a stream, up to the run that reaches ``most`` numbers."""
    read = _run if version == 2 else _first_run
    count = total = longest = at = 0
    while at < len(data) and count < most:
        run, at = read(data, at)
        count += run.number
        total += run.total
        if run.longest > longest:
            longest = run.longest
    return Lengths(count, total, longest)


def _line(count: int, first: int, step: int) -> Lengths:
    last = first + (count - 1) * step
    if last < 0:
        raise ValueError(f"a stream of lengths contains the negative length {last}")
    return Lengths(count, (first + last) * count // 2, max(first, last))


def _first_run(data: bytes, at: int) -> tuple[Lengths, int]:
    head, at = data[at], at + 1
    if head < 128:
        step, at = (data[at] ^ 0x80) - 0x80, at + 1
        first, at = _varint(data, at)
        return _line(head + 3, first, step), at
    found = []
    for _ in range(256 - head):
        value, at = _varint(data, at)
        found.append(value)
    return Lengths(len(found), sum(found), max(found)), at


def _run(data: bytes, at: int) -> tuple[Lengths, int]:
    head = data[at]
    kind = head >> 6
    if kind == _SHORT_REPEAT:
        width, count = (head >> 3 & 7) + 1, (head & 7) + 3
        return _line(count, _big_endian(data, at + 1, width), 0), at + 1 + width
    code = head >> 1 & 31
    count = ((head & 1) << 8 | data[at + 1]) + 1
    if kind == _DIRECT:
        found, at = _packed(data, at + 2, count, _WIDTHS[code])
        return Lengths(count, sum(found), max(found)), at
    if kind == _PATCHED:
        return _patched_run(data, at, count, _WIDTHS[code])
    first, at = _varint(data, at + 2)
    step, at = _varint(data, at)
    step = step >> 1 ^ -(step & 1)
    if not code:
        return _line(count, first, step), at
    steps, at = _packed(data, at, max(0, count - 2), _WIDTHS[code])
    found = list(accumulate((step, *(steps if step >= 0 else [-s for s in steps])), initial=first))[:count]
    if min(found) < 0:
        raise ValueError(f"a stream of lengths contains the negative length {min(found)}")
    return Lengths(count, sum(found), max(found)), at


def _patched_run(data: bytes, at: int, count: int, width: int) -> tuple[Lengths, int]:
    base_bytes, patch_width = (data[at + 2] >> 5) + 1, _WIDTHS[data[at + 2] & 31]
    gap_width, patches = (data[at + 3] >> 5) + 1, data[at + 3] & 31
    base = _big_endian(data, at + 4, base_bytes)  # an unsigned number, because a length is never negative
    found, at = _packed(data, at + 4 + base_bytes, count, width)
    entry = next(w for w in (*_WIDTHS, 72) if w >= min(72, gap_width + patch_width))
    size = -(-patches * entry // 8)
    number = _big_endian(data, at, size) >> (8 * size - patches * entry)
    total, highest = sum(found) + count * base, 0
    for _ in range(patches):
        patch = (number & (1 << patch_width) - 1) << width
        number >>= entry
        total += patch
        highest = max(highest, patch)
    return Lengths(count, total, max(found) + highest + base), at + size


def _packed(data: bytes, at: int, count: int, width: int) -> tuple[list[int], int]:
    """Return ``count`` numbers of ``width`` bits each, and the position after the last number."""
    size = -(-count * width // 8)
    if at + size > len(data):
        raise ValueError("a stream of lengths is truncated")
    bits = np.unpackbits(np.frombuffer(data, np.uint8, size, at))[: count * width].reshape(count, width)
    found: list[int] = (bits @ (np.uint64(1) << np.arange(width - 1, -1, -1, dtype=np.uint64))).tolist()
    return found, at + size


def _big_endian(data: bytes, at: int, size: int) -> int:
    if at + size > len(data):
        raise ValueError("a stream of lengths is truncated")
    return int.from_bytes(data[at : at + size], "big")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > _WIDEST:
            raise ValueError("a number in a stream of lengths does not end")
