"""32-bit roaring bitmaps in the portable format: sets of row positions (format 12.1, 13).

Many bitmaps are encoded at once with numpy; a loop runs only over containers of 65,536 positions. Containers are of the
kind that Java's ``runOptimize`` selects, so that the bytes are equal. Bytes that are read are untrusted: every length
and every position is checked.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]

_PLAIN_COOKIE, _RUNS_COOKIE = 12346, 12347
_OFFSETS_FROM = 4
"""The number of containers from which a bitmap with runs stores the offsets of its containers."""
_MOST_VALUES = 4096
_BITS_BYTES = 8192
_SPAN = 1 << 16


def encode(rows: npt.NDArray[Any]) -> bytes:
    """Return the bitmap of ascending positions."""
    return encode_groups(rows, np.array([0, len(rows)]))[0].tobytes()


def encode_groups(rows: npt.NDArray[Any], starts: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint8], Positions]:
    """Return the bytes of n bitmaps one after the other, and their n + 1 offsets.

    Bitmap i has the positions ``rows[starts[i]:starts[i + 1]]``, which ascend.
    """
    rows, starts = rows.astype(np.int64), starts.astype(np.int64)
    groups = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    high, low = rows >> 16, rows & 0xFFFF
    new = _changes(groups) | _changes(high)
    first = np.flatnonzero(new)
    cards = np.diff(np.append(first, len(rows)))
    begins = new.copy()
    begins[1:] |= np.diff(rows) != 1
    run_at = np.flatnonzero(begins)
    run_of = np.cumsum(new)[run_at] - 1
    runs = np.bincount(run_of, minlength=len(first))
    plain = np.where(cards > _MOST_VALUES, _BITS_BYTES, 2 * cards)
    is_run = 2 + 4 * runs < plain
    sizes = np.where(is_run, 2 + 4 * runs, plain)
    out, at, offsets = _with_headers(groups[first], high[first], cards, is_run, sizes, len(starts) - 1)
    container = np.cumsum(new) - 1
    values = ~is_run[container] & (cards[container] <= _MOST_VALUES)
    inner = np.arange(len(rows)) - first[container]
    _put(out, at[container[values]] + 2 * inner[values], low[values], 2)
    _put(out, at[is_run], runs[is_run], 2)
    lengths = np.diff(np.append(run_at, len(rows)))
    nth = np.arange(len(run_at)) - (np.cumsum(runs) - runs)[run_of]
    kept = is_run[run_of]
    spot = at[run_of[kept]] + 2 + 4 * nth[kept]
    _put(out, spot, low[run_at[kept]], 2)
    _put(out, spot + 2, lengths[kept] - 1, 2)
    for number in np.flatnonzero(~is_run & (cards > _MOST_VALUES)).tolist():
        bits = np.zeros(_SPAN, np.bool_)
        bits[low[first[number] : first[number] + cards[number]]] = True
        out[at[number] : at[number] + _BITS_BYTES] = np.packbits(bits, bitorder="little")
    return out, offsets


def _changes(values: Positions) -> Mask:
    """Return where a value differs from the one before it; True for the first."""
    out = np.ones(len(values), np.bool_)
    out[1:] = values[1:] != values[:-1]
    return out


def _with_headers(
    group: Positions, high: Positions, cards: Positions, is_run: Mask, sizes: Positions, count: int
) -> tuple[npt.NDArray[np.uint8], Positions, Positions]:
    """Return a buffer with the headers of ``count`` bitmaps, the position of each container, and the bitmaps' offsets.

    The arrays describe the containers, ordered by bitmap (``group``).
    """
    n = np.bincount(group, minlength=count)
    runs = np.bincount(group, weights=is_run, minlength=count) > 0
    body = np.bincount(group, weights=sizes, minlength=count).astype(np.int64)
    flags = np.where(runs, (n + 7) // 8, 0)
    with_offsets = ~runs | (n >= _OFFSETS_FROM)
    heads = np.where(runs, 4 + flags, 8) + 4 * n
    header = heads + np.where(with_offsets, 4 * n, 0)
    offsets = np.concatenate(([0], np.cumsum(header + body)))
    out = np.zeros(int(offsets[-1]), np.uint8)
    base = offsets[:-1]
    _put(out, base, np.where(runs, _RUNS_COOKIE | ((n - 1) << 16), _PLAIN_COOKIE), 4)
    _put(out, base[~runs] + 4, n[~runs], 4)
    nth = np.arange(len(group)) - (np.cumsum(n) - n)[group]
    np.bitwise_or.at(out, (base[group] + 4 + nth // 8)[is_run], (1 << (nth % 8))[is_run].astype(np.uint8))
    keys = base[group] + (heads - 4 * n)[group] + 4 * nth
    _put(out, keys, high, 2)
    _put(out, keys + 2, cards - 1, 2)
    within = np.cumsum(sizes) - sizes
    before = np.concatenate(([0], np.cumsum(body)))[:-1]
    inside = header[group] + within - before[group]
    stored = with_offsets[group]
    _put(out, (base[group] + heads[group] + 4 * nth)[stored], inside[stored], 4)
    return out, base[group] + inside, offsets


def _put(out: npt.NDArray[np.uint8], at: Positions, values: npt.NDArray[Any], width: int) -> None:
    """Store little-endian values of ``width`` bytes at byte positions."""
    for byte in range(width):
        out[at + byte] = (values >> (8 * byte)) & 0xFF


def decode(data: memoryview, at: int, row_count: int) -> tuple[Mask, int]:
    """Return the bitmap at ``at`` as one bool per row, and the position of its end; raises as ``positions``."""
    rows, end = positions(data, at, row_count)
    mask = np.zeros(row_count, np.bool_)
    mask[rows] = True
    return mask, end


def positions(data: memoryview, at: int, row_count: int) -> tuple[Positions, int]:
    """Return the ascending positions of the bitmap at ``at``, and the position of its end.

    Raises ValueError or struct.error for bytes that are not a bitmap of positions below ``row_count``.
    """
    (cookie,) = struct.unpack_from("<I", data, at)
    at += 4
    flags = 0
    has_runs = cookie & 0xFFFF == _RUNS_COOKIE
    if has_runs:
        count = (cookie >> 16) + 1
        width = (count + 7) // 8
        flags = int.from_bytes(_slice(data, at, width), "little")
        at += width
    elif cookie == _PLAIN_COOKIE:
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
    else:
        raise ValueError(f"a bitmap begins with {cookie}")
    if count > _SPAN:
        raise ValueError(f"a bitmap has {count} containers")
    heads = list(struct.iter_unpack("<HH", _slice(data, at, 4 * count)))
    at += 4 * count
    if not has_runs or count >= _OFFSETS_FROM:
        _slice(data, at, 4 * count)
        at += 4 * count
    found: list[Positions] = []
    before = -1
    for number, (high, less_one) in enumerate(heads):
        if high <= before:
            raise ValueError("the containers of a bitmap do not ascend")
        before = high
        rows, at = _container(data, at, less_one + 1, is_run=bool(flags >> number & 1))
        rows += high << 16
        if rows[-1] >= row_count:
            raise ValueError(f"a bitmap has row {rows[-1]} of {row_count}")
        found.append(rows)
    return found[0] if len(found) == 1 else np.concatenate([np.zeros(0, np.int64), *found]), at


def _container(data: memoryview, at: int, card: int, *, is_run: bool) -> tuple[Positions, int]:
    """Return the ascending values of a container of ``card`` values, and the position of its end."""
    if is_run:
        (runs,) = struct.unpack_from("<H", data, at)
        pairs = np.frombuffer(_slice(data, at + 2, 4 * runs), "<u2").astype(np.int64).reshape(-1, 2)
        lengths = pairs[:, 1] + 1
        if lengths.sum() != card:
            raise ValueError(f"the runs of a container have {lengths.sum()} values, not {card}")
        before = np.cumsum(lengths) - lengths
        values = np.arange(card) + np.repeat(pairs[:, 0] - before, lengths)
        at += 2 + 4 * runs
    elif card > _MOST_VALUES:
        bits = np.unpackbits(np.frombuffer(_slice(data, at, _BITS_BYTES), np.uint8), bitorder="little")
        values = np.flatnonzero(bits)
        at += _BITS_BYTES
    else:
        values = np.frombuffer(_slice(data, at, 2 * card), "<u2").astype(np.int64)
        at += 2 * card
    if len(values) != card or (values[1:] <= values[:-1]).any() or values[-1] >= _SPAN:
        raise ValueError(f"a container of {card} values is not valid")
    return values, at


def _slice(data: memoryview, at: int, size: int) -> memoryview:
    found = data[at : at + size]
    if at < 0 or size < 0 or len(found) != size:
        raise ValueError(f"{size} bytes at {at} exceed the {len(data)} bytes of the index")
    return found
