"""64-bit roaring bitmaps: containers of values, and the portable format, which C libraries read.

A container has the values that share their high 48 bits. All formats of a bitmap have the same containers and differ
only in the bytes around the containers (format 9.6). So a bitmap is converted to another format without reading its
values.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

RUNS, BITS, VALUES = range(3)
"""Container kinds: runs of values, one bit per value, single values. DO NOT CHANGE, on disk."""

BITS_BYTES = 8192
_MOST_VALUES = 4096
_PLAIN_COOKIE, _RUNS_COOKIE = 12346, 12347
_OFFSETS_FROM = 4


@dataclass(frozen=True, slots=True)
class Container:
    """The values of one bitmap that share their high 48 bits; ``count`` is their number."""

    high: int
    kind: int
    count: int
    body: bytes


def body_bytes(data: bytes, at: int, kind: int, count: int) -> int:
    """Return the bytes of the container body at ``at``; raises struct.error if the number of runs is missing."""
    if kind == RUNS:
        (runs,) = struct.unpack_from("<H", data, at)
        return int(2 + 4 * runs)
    return BITS_BYTES if kind == BITS else 2 * count


def to_portable(containers: Sequence[Container]) -> bytes:
    """Return the portable format of containers whose high bits ascend. Loops over the containers."""
    parts = [list(group) for _, group in groupby(containers, key=lambda c: c.high >> 16)]
    out = [struct.pack("<Q", len(parts))]
    for part in parts:
        out.append(struct.pack("<I", part[0].high >> 16))
        out += _portable32(part)
    return b"".join(out)


def _portable32(part: Sequence[Container]) -> Iterator[bytes]:
    runs = [c.kind == RUNS for c in part]
    if any(runs):
        flags = sum(run << n for n, run in enumerate(runs))
        head = struct.pack("<I", _RUNS_COOKIE | (len(part) - 1) << 16) + flags.to_bytes((len(part) + 7) // 8, "little")
    else:
        head = struct.pack("<II", _PLAIN_COOKIE, len(part))
    head += b"".join(struct.pack("<HH", c.high & 0xFFFF, c.count - 1) for c in part)
    yield head
    if not any(runs) or len(part) >= _OFFSETS_FROM:
        at = len(head) + 4 * len(part)
        for container in part:
            yield struct.pack("<I", at)
            at += len(container.body)
    yield from (c.body for c in part)


def from_portable(data: bytes) -> list[Container]:
    """Return the containers of a valid portable format, in order. Loops over the containers."""
    (count,) = struct.unpack_from("<Q", data)
    at = 8
    out: list[Container] = []
    for _ in range(count):
        (high,) = struct.unpack_from("<I", data, at)
        at = _read32(data, at + 4, high << 16, out)
    return out


def _read32(data: bytes, at: int, high: int, out: list[Container]) -> int:
    """Append the containers of the 32-bit bitmap at ``at`` to ``out``; return the position of its end."""
    (cookie,) = struct.unpack_from("<I", data, at)
    at += 4
    flags = 0
    has_runs = cookie & 0xFFFF == _RUNS_COOKIE
    if has_runs:
        count = (cookie >> 16) + 1
        width = (count + 7) // 8
        flags = int.from_bytes(data[at : at + width], "little")
        at += width
    else:
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
    heads = list(struct.iter_unpack("<HH", data[at : at + 4 * count]))
    at += 4 * count
    if not has_runs or count >= _OFFSETS_FROM:
        at += 4 * count
    for number, (low, less_one) in enumerate(heads):
        kind = RUNS if flags >> number & 1 else BITS if less_one >= _MOST_VALUES else VALUES
        end = at + body_bytes(data, at, kind, less_one + 1)
        out.append(Container(high | low, kind, less_one + 1, data[at:end]))
        at = end
    return at
