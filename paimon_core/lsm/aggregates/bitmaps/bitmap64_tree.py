"""Table format of a 64-bit roaring bitmap: a radix tree over the high 48 bits, then the containers (format 9.6).

A tree node consists of a kind, a number of children, a common prefix and the byte that leads to each child. A leaf
contains all six bytes of its key and the number of its container.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import groupby

from paimon_core.lsm.aggregates.bitmaps.bitmap64 import BITS, RUNS, VALUES, Container, body_bytes

_NODE4, _NODE16, _NODE48, _NODE256, _LEAF = range(5)
_INNER_BYTES = {_NODE4: 4, _NODE16: 16, _NODE48: 256, _NODE256: 32}
_KEY_BYTES = 6
_LEAF_BYTES = _KEY_BYTES + 8
_UNTRIMMED = 0xFE


def read_tree(data: bytes) -> list[Container]:
    """Return the containers of a bitmap in ascending order of their high bits. Loops over nodes and containers.

    Raises ValueError or struct.error for bytes that are not a bitmap in this format. The bodies of the containers are
    not checked.
    """
    if data == b"\0":
        return []
    if data[:1] != b"\1":
        raise ValueError("its first byte is neither 0 nor 1")
    (count,) = struct.unpack_from("<q", data, 1)
    leaves, at = _leaves(data, 9)
    if len(leaves) != count:
        raise ValueError(f"it has {len(leaves)} keys, but its header states {count}")
    bodies = _bodies(data, at)
    try:
        return [Container(key, *bodies[place]) for key, place in sorted(leaves)]
    except KeyError as error:
        raise ValueError(f"it has no container {error}") from None


def _leaves(data: bytes, at: int) -> tuple[list[tuple[int, int]], int]:
    """Return key and container number of each leaf below the node at ``at``, and the position of the tree's end."""
    leaves = []
    waiting = 1
    while waiting:
        kind, children, prefix = struct.unpack_from("<BHB", data, at)
        at += 4 + prefix
        if kind == _LEAF:
            key, (place,) = data[at : at + _KEY_BYTES], struct.unpack_from("<Q", data, at + _KEY_BYTES)
            leaves.append((int.from_bytes(key, "big"), place))
            at += _LEAF_BYTES
            waiting -= 1
        elif kind in _INNER_BYTES and children:
            at += _INNER_BYTES[kind]
            waiting += children - 1
        else:
            raise ValueError(f"it has a tree node of kind {kind} with {children} children")
    return leaves, at


def _bodies(data: bytes, at: int) -> dict[int, tuple[int, int, bytes]]:
    """Return a dict from the number of each container to its kind, number of values and body."""
    bodies = {}
    (arrays,) = struct.unpack_from("<I", data, at)
    at += 4
    for upper in range(arrays):
        _, size = struct.unpack_from("<BI", data, at)
        at += 5
        for lower in range(size):
            (present,) = struct.unpack_from("<B", data, at)
            at += 1
            if not present:
                continue
            kind, count = struct.unpack_from("<BI", data, at)
            end = at + 5 + body_bytes(data, at + 5, kind, count)
            if kind not in (RUNS, BITS, VALUES) or end > len(data):
                raise ValueError(f"it has a container of kind {kind} and {count} values")
            bodies[upper << 32 | lower] = (kind, count, data[at + 5 : end])
            at = end
    return bodies


def write_tree(containers: Sequence[Container]) -> bytes:
    """Return the table format of the containers, whose high bits must ascend. Loops over nodes and containers."""
    if not containers:
        return b"\0"
    keys = [c.high.to_bytes(_KEY_BYTES, "big") for c in containers]
    out = [b"\1", struct.pack("<q", len(keys))]
    _write_node(keys, 0, len(keys), 0, out)
    out.append(struct.pack("<IBI", 1, _UNTRIMMED, len(containers)))
    for container in containers:
        out += (struct.pack("<BBI", 1, container.kind, container.count), container.body)
    out.append(struct.pack("<qii", len(containers), 0, len(containers) - 1))
    return b"".join(out)


def _write_node(keys: Sequence[bytes], start: int, end: int, depth: int, out: list[bytes]) -> None:
    """Append the node over ``keys[start:end]``, which are equal in their first ``depth`` bytes."""
    if end - start == 1:
        out += (struct.pack("<BHB", _LEAF, 0, 0), keys[start], struct.pack("<Q", start))
        return
    prefix = keys[start][depth : _first_difference(keys[start], keys[end - 1])]
    depth += len(prefix)
    groups = [(byte, len(list(g))) for byte, g in groupby(keys[start:end], key=lambda key: key[depth])]
    leads = bytes(byte for byte, _ in groups)
    kind = next(k for k, room in ((_NODE4, 4), (_NODE16, 16), (_NODE48, 48), (_NODE256, 256)) if len(leads) <= room)
    out += (struct.pack("<BHB", kind, len(leads), len(prefix)), prefix, _leads(kind, leads))
    for _, size in groups:
        _write_node(keys, start, start + size, depth + 1, out)
        start += size


def _first_difference(one: bytes, other: bytes) -> int:
    return next(at for at in range(_KEY_BYTES) if one[at] != other[at])


def _leads(kind: int, leads: bytes) -> bytes:
    """Return the bytes that lead to the children in the form of the node kind; words are little-endian."""
    if kind == _NODE256:
        return sum(1 << byte for byte in leads).to_bytes(32, "little")
    if kind == _NODE48:
        places = bytearray(b"\xff" * 256)
        for place, byte in enumerate(leads):
            places[byte] = place
        leads = bytes(places)
    padded = leads.ljust(_INNER_BYTES[kind], b"\0")
    word = 4 if kind == _NODE4 else 8
    return b"".join(padded[at : at + word][::-1] for at in range(0, len(padded), word))
