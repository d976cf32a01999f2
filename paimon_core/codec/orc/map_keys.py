"""Map keys: finds out whether an ORC file contains a map with a null key.

Java Paimon writes such maps to ORC files. Arrow does not support null keys: reading a null key from an ORC file ends
the process.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa

from paimon_core.codec.orc.length_checks import lengths_of
from paimon_core.codec.orc.metadata_checks import Metadata, Stripe, unpacked
from paimon_core.codec.orc.protobuf import one

_LIST, _MAP = 10, 11
_PRESENT = 0
_SHORTEST_RUN = 3


def column_with_null_key(source: pa.NativeFile, metadata: Metadata, wanted: Collection[str]) -> str | None:
    """Return the first of the columns ``wanted`` that contains a map with a null key; None if no column does.

    Raises ValueError for streams that do not decode.
    """
    root = metadata.types[0]
    for name, column in zip(root.get(3, []), root.get(2, []), strict=True):
        if name.decode() in wanted and any(_null_keys(source, metadata, s, column, s.rows) for s in metadata.stripes):
            return str(name.decode())
    return None


def _null_keys(source: pa.NativeFile, metadata: Metadata, stripe: Stripe, column: int, count: int) -> bool:
    """Whether ``count`` values of a column contain a map with a null key, at any depth."""
    kind, children = one(metadata.types[column], 1), metadata.types[column].get(2, [])
    if not any(_key_columns(metadata, column, stripe)):
        return False
    if kind in (_LIST, _MAP):
        count = lengths_of(source, metadata, stripe, column, count).total
        if kind == _MAP and (children[0], _PRESENT) in stripe.streams:
            stream = stripe.streams[children[0], _PRESENT]
            bits = unpacked(source.read_at(stream.length, stream.start), metadata.codec, metadata.block)
            if has_zero(bits, count):
                return True
    return any(_null_keys(source, metadata, stripe, child, count) for child in children)


def _key_columns(metadata: Metadata, column: int, stripe: Stripe) -> Iterator[bool]:
    """Yield True for each map in the column whose keys have a stream that states which keys are null."""
    children = metadata.types[column].get(2, [])
    if one(metadata.types[column], 1) == _MAP and (children[0], _PRESENT) in stripe.streams:
        yield True
    for child in children:
        yield from _key_columns(metadata, child, stripe)


def has_zero(data: bytes, count: int) -> bool:
    """Whether one of the first ``count`` bits of a stream is 0; raises ValueError if the stream has fewer bits.

    The stream consists of runs; a run is one repeated byte, or a sequence of bytes (ORC's boolean run length encoding).
    """
    at = 0
    while count > 0:
        if at + 1 >= len(data):
            raise ValueError("a stream that says which values are null is truncated")
        head = data[at]
        if head < 128:
            bits, size, at = data[at + 1 : at + 2], head + _SHORTEST_RUN, at + 2
        else:
            size = 256 - head
            bits, at = data[at + 1 : at + 1 + size], at + 1 + size
        whole, rest = divmod(min(count, 8 * size), 8)
        if head < 128:
            bits *= whole + 1
        if bits[:whole] != b"\xff" * whole or (rest and bits[whole] >> (8 - rest) != (1 << rest) - 1):
            return True
        count -= 8 * size
    return False
