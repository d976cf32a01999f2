"""Length checks: computes from the lengths of texts and lists how many rows of an ORC file may be decoded at a time.

Arrow allocates the memory for the texts of a batch before it reads their bytes. So this module refuses lengths that are
too large for the stripe. Files of more than ``CHECKED_BYTES`` bytes are not checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa

from paimon_core.codec.orc.metadata_checks import PLAIN, Metadata, Stripe, unpacked
from paimon_core.codec.orc.protobuf import one
from paimon_core.codec.orc.run_lengths import Lengths, lengths
from paimon_core.limits import ROW_VALUES, VALUES_PER_PACKED_BYTE

CHECKED_BYTES = 1 << 20
_TEXTS, _LISTS = (7, 8, 16, 17), (10, 11)
_DATA, _LENGTH, _DICTIONARY_DATA = 1, 2, 3
_DICTIONARIES, _SECOND_VERSIONS = (1, 3), (2, 3)
_NUMBER_BYTES = 16
"""The maximum size in bytes of a number in memory, with its null bit and its offset."""
_HEAD_BYTES = 3
_QUEUED = 32
"""The number of batches that Arrow decodes ahead; ``batch_readahead`` does not change it."""


def rows_within(source: pa.NativeFile, metadata: Metadata, wanted: Collection[str], size: int) -> int:
    """Return the number of rows (at least 1) of the columns ``wanted`` to decode at a time.

    With this number of rows, all batches that Arrow holds in memory take about ``size`` bytes. Raises ValueError for
    lengths that do not match the streams of a stripe.
    """
    if source.size() > CHECKED_BYTES:
        return size
    root = metadata.types[0]
    names = [name.decode() for name in root.get(3, [])]
    chosen = [child for name, child in zip(names, root.get(2, []), strict=True) if name in wanted]
    most = size
    for stripe in metadata.stripes:
        sums = [_column(source, metadata, stripe, column, stripe.rows) for column in chosen]
        if sum(total for total, _ in sums) > size:
            most = min(most, size // _QUEUED // max(1, sum(longest for _, longest in sums)))
    return max(1, most)


def _column(source: pa.NativeFile, metadata: Metadata, stripe: Stripe, column: int, rows: int) -> tuple[int, int]:
    """Return upper bounds of the bytes of ``rows`` values of a column in a stripe, and of the bytes of one value."""
    kind, children = one(metadata.types[column], 1), metadata.types[column].get(2, [])
    if kind in _TEXTS:
        return _texts(source, metadata, stripe, column, rows)
    if kind in _LISTS:
        found = lengths_of(source, metadata, stripe, column, rows)
        if found.longest > max(ROW_VALUES, VALUES_PER_PACKED_BYTE * stripe.length):
            raise ValueError(f"a stripe of {stripe.length} bytes has a list of {found.longest} values")
        inner = [_column(source, metadata, stripe, child, found.total) for child in children]
        total = sum(t for t, _ in inner)
        return total + _NUMBER_BYTES * rows, _NUMBER_BYTES + min(total, found.longest * sum(most for _, most in inner))
    inner = [_column(source, metadata, stripe, child, rows) for child in children]
    return _NUMBER_BYTES * rows + sum(t for t, _ in inner), _NUMBER_BYTES + sum(most for _, most in inner)


def _texts(source: pa.NativeFile, metadata: Metadata, stripe: Stripe, column: int, rows: int) -> tuple[int, int]:
    encoding = stripe.encodings[column]
    repeats = encoding.kind in _DICTIONARIES
    count = encoding.size if repeats else rows
    found = lengths_of(source, metadata, stripe, column, count)
    held = sum(_parts(source, metadata, stripe, column, _DICTIONARY_DATA if repeats else _DATA))
    if found.total > held:
        raise ValueError(
            f"the texts of a column have {found.total} bytes by their lengths, and the stream with them has {held}"
        )
    if repeats and found.number < count:
        raise ValueError(f"a dictionary of {count} texts has {found.number} lengths")
    total = found.longest * rows if repeats else found.total
    return total + _NUMBER_BYTES * rows, found.longest + _NUMBER_BYTES


def lengths_of(source: pa.NativeFile, metadata: Metadata, stripe: Stripe, column: int, most: int) -> Lengths:
    """Return sum and maximum of the first ``most`` lengths of a column's texts, lists or maps.

    Raises ValueError for a stream that does not decode.
    """
    stream = stripe.streams.get((column, _LENGTH))
    if stream is None:
        return Lengths(0, 0, 0)
    data = unpacked(source.read_at(stream.length, stream.start), metadata.codec, metadata.block)
    version = 2 if stripe.encodings[column].kind in _SECOND_VERSIONS else 1
    try:
        return lengths(data, most, version=version)
    except IndexError:
        raise ValueError("a stream of lengths is truncated") from None


def _parts(source: pa.NativeFile, metadata: Metadata, stripe: Stripe, column: int, kind: int) -> Iterator[Any]:
    """Yield for each packed part of a stream its maximum size in bytes after unpacking."""
    stream = stripe.streams.get((column, kind))
    if stream is None:
        return
    if metadata.codec == PLAIN:
        yield stream.length
        return
    data, at = source.read_at(stream.length, stream.start), 0
    while at < len(data):
        head = int.from_bytes(data[at : at + _HEAD_BYTES], "little")
        yield head >> 1 if head & 1 else metadata.block
        at += _HEAD_BYTES + (head >> 1)
