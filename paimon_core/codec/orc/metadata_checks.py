"""Metadata checks: validates the metadata of an ORC file before Arrow reads it; Arrow crashes on some invalid metadata.

PostScript, footer and stripe footers must decode and be consistent: the types are a tree, stripes do not overlap, the
rows of the stripes add up to the rows of the file, and the streams of a stripe belong to its columns and fill the
stripe. The checks matter most for files without the checksum of ``file_checksum``. In a file that passes the checks,
values and statistics may still be wrong.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from paimon_core.codec.avro.block_codecs import CODECS
from paimon_core.codec.orc.protobuf import BYTES, NUMBER, NUMBERS, Fields, one, parse
from paimon_core.limits import STORED_DEPTH

# The field types of the messages in orc_proto.proto, by field number.
_POST_SCRIPT = {1: NUMBER, 2: NUMBER, 3: NUMBER, 4: NUMBERS, 5: NUMBER, 6: NUMBER, 7: NUMBER, 8000: BYTES}
_STRIPE = {1: NUMBER, 2: NUMBER, 3: NUMBER, 4: NUMBER, 5: NUMBER, 6: NUMBER, 7: BYTES}
_PAIR = {1: BYTES, 2: BYTES}
_TYPE = {1: NUMBER, 2: NUMBERS, 3: BYTES, 4: NUMBER, 5: NUMBER, 6: NUMBER, 7: _PAIR}
_FOOTER: Fields = {1: NUMBER, 2: NUMBER, 3: _STRIPE, 4: _TYPE, 5: _PAIR, 6: NUMBER, 7: BYTES, 8: NUMBER, 10: BYTES}
_STRIPE_FOOTER = {1: {1: NUMBER, 2: NUMBER, 3: NUMBER}, 2: {1: NUMBER, 2: NUMBER, 3: NUMBER}, 3: BYTES, 4: BYTES}

PLAIN, _ZLIB, _SNAPPY, _LZO, _LZ4, _ZSTD = range(6)
_AVRO_NAMES = {_ZLIB: "deflate", _ZSTD: "zstandard"}
_LIST, _MAP, _STRUCT, _UNION = range(10, 14)
_ONE_ENCODING, _TEXTS = (0, 1, 5, 6, _STRUCT, _UNION), (7, 16, 17)
_DIRECT, _DIRECT_V2, _LAST_ENCODING = 0, 2, 3
_LAST_KIND, _LAST_STREAM = 18, 8
_INDEX_STREAMS = range(6, 9)
_DECIMAL, _MOST_PRECISION = 14, 38
_MAGIC = b"ORC"
_MOST_BLOCK_BYTES = 1 << 23
_METADATA_BYTES = 64 << 20
"""The largest size of an unpacked footer."""
_MOST_POST_SCRIPT = 256


class Stream(NamedTuple):
    """A stream of a stripe: its position and length in the file."""

    start: int
    length: int


class Encoding(NamedTuple):
    """How a stripe encodes a column; ``size`` is the number of texts in its dictionary."""

    kind: int
    size: int


class Stripe(NamedTuple):
    """The parts of a stripe that ``length_checks`` uses."""

    rows: int
    length: int
    encodings: list[Encoding]
    streams: dict[tuple[int, int], Stream]
    """The streams by column and kind of stream."""


class Metadata(NamedTuple):
    """The metadata of a file: its types, its stripes, and the compression of its streams."""

    types: list[dict[int, list[Any]]]
    stripes: list[Stripe]
    codec: int
    block: int


@dataclass(frozen=True, slots=True)
class Tail:
    """The footer of an ORC file by field number, and the packed statistics of its stripes."""

    footer: dict[int, list[Any]]
    statistics: bytes
    body: int
    """The number of bytes of the file before the statistics and the footer."""
    codec: int
    block: int

    def unpacked(self, packed: bytes) -> bytes:
        """Return the unpacked bytes of a part of the metadata."""
        return unpacked(packed, self.codec, self.block)


def check_metadata(source: pa.NativeFile) -> Metadata | None:
    """Return the metadata of a file; None when it is packed with LZO. Raises ValueError for invalid metadata.

    Reads the end of the file and the footer of each stripe.
    """
    tail = read_tail(source)
    if tail is None:
        return None
    footer, body = tail.footer, tail.body
    kinds = _check_types(footer.get(4, []))
    if len(footer.get(7, [])) not in (0, len(kinds)) or 10 in footer:
        raise ValueError(f"its footer has {len(footer.get(7, []))} statistics of {len(kinds)} types, or is encrypted")
    rows, before, stripes = 0, len(_MAGIC), list[Stripe]()
    for stripe in footer.get(3, []):
        start, index, data, tail_bytes, count = (one(stripe, n, 0) for n in range(1, 6))
        if start < before or index + data + tail_bytes > body - start or tail_bytes > _METADATA_BYTES:
            raise ValueError(f"its footer has a stripe of {index + data + tail_bytes} bytes at {start}")
        before, rows = start + index + data + tail_bytes, rows + count
        packed = source.read_at(tail_bytes, before - tail_bytes)
        found = parse(tail.unpacked(packed), _STRIPE_FOOTER)
        stripes.append(_check_stripe(found, kinds, (start, index, data), count))
    if rows != one(footer, 6, 0):
        raise ValueError(f"its footer states {one(footer, 6, 0)} rows, and its stripes have {rows}")
    return Metadata(footer.get(4, []), stripes, tail.codec, tail.block)


def read_tail(source: pa.NativeFile) -> Tail | None:
    """Return the metadata at the end of a file; None when it is packed with LZO. Raises ValueError when invalid."""
    size = source.size()
    tail = source.read_at(min(size, _MOST_POST_SCRIPT), max(0, size - _MOST_POST_SCRIPT))
    if len(tail) < 2 or tail[-1] >= len(tail):
        raise ValueError("it does not end as an ORC file does")
    end = size - 1 - tail[-1]
    post_script = parse(tail[-1 - tail[-1] : -1], _POST_SCRIPT)
    length, statistics = one(post_script, 1), one(post_script, 5, 0) + one(post_script, 7, 0)
    codec, block = one(post_script, 2), one(post_script, 3, _MOST_BLOCK_BYTES)
    if codec > _ZSTD or not 0 < block <= _MOST_BLOCK_BYTES or one(post_script, 8000) != _MAGIC:
        raise ValueError(f"its PostScript has the codec {codec} with blocks of {block} bytes, or no magic bytes")
    body = end - length - statistics
    if body < len(_MAGIC) or length > _METADATA_BYTES:
        raise ValueError(f"its PostScript has a footer of {length} bytes and statistics of {statistics}")
    if codec == _LZO:
        return None  # this library cannot unpack LZO
    footer = parse(unpacked(source.read_at(length, end - length), codec, block), _FOOTER)
    stripes = source.read_at(one(post_script, 5, 0), end - length - one(post_script, 5, 0))
    return Tail(footer, stripes, body, codec, block)


def _check_types(types: list[dict[int, Any]]) -> list[int]:
    """Return the kind of each type; raises ValueError unless the types are a tree with each type before its members."""
    depths: dict[int, int] = {0: 0}
    for number, found in enumerate(types):
        kind, children, names = one(found, 1), found.get(2, []), found.get(3, [])
        if number not in depths or depths[number] > STORED_DEPTH:
            raise ValueError(f"its footer has a type {number} without a parent or more than {STORED_DEPTH} levels deep")
        count = {_LIST: 1, _MAP: 2, _STRUCT: len(names), _UNION: len(children)}.get(kind, 0)
        if kind > _LAST_KIND or len(children) != count or (names and kind != _STRUCT):
            raise ValueError(f"its footer has a type of the kind {kind} with {len(children)} members")
        precision, scale = one(found, 5, _MOST_PRECISION), one(found, 6, 0)
        if kind == _DECIMAL and not (scale <= precision <= _MOST_PRECISION and precision):
            raise ValueError(f"its footer has a DECIMAL({precision}, {scale})")
        for name in names:
            name.decode()
        if any(child <= number or child in depths for child in children) or children != sorted(children):
            raise ValueError(f"its footer has a type {number} with the members {children}, which is not a tree")
        depths.update(dict.fromkeys(children, depths[number] + 1))
    if len(depths) != len(types) or one(types[0], 1) != _STRUCT:
        raise ValueError(f"its footer has {len(types)} types, {len(depths)} in the tree, or the first is not a row")
    return [one(found, 1) for found in types]


def _check_stripe(footer: dict[int, list[Any]], kinds: list[int], place: tuple[int, int, int], rows: int) -> Stripe:
    start, index, data = place
    encodings = [one(c, 1) for c in footer.get(2, [])]
    if len(encodings) != len(kinds):
        raise ValueError(f"a stripe has {len(encodings)} encodings for {len(kinds)} types")
    versions = set()
    for kind, encoding in zip(kinds, encodings, strict=True):
        if kind in _ONE_ENCODING:
            is_known = encoding == _DIRECT
        else:
            versions.add(encoding >= _DIRECT_V2)
            is_known = encoding in ((_DIRECT, _DIRECT_V2) if kind not in _TEXTS else range(_LAST_ENCODING + 1))
        if not is_known or len(versions) > 1:
            raise ValueError(f"a stripe has the encoding {encoding} for the kind {kind}, or encodings of two versions")
    sizes, streams, at = [0, 0], dict[tuple[int, int], Stream](), start
    for stream in footer.get(1, []):
        kind, column, length = one(stream, 1, 0), one(stream, 2, 0), one(stream, 3, 0)
        if kind > _LAST_STREAM or column >= len(kinds) or (column, kind) in streams:
            raise ValueError(f"a stripe has an invalid or repeated stream of the kind {kind} for column {column}")
        streams[column, kind] = Stream(at, length)
        at += length
        sizes[kind in _INDEX_STREAMS] += length
    if sizes != [data, index]:
        raise ValueError(f"a stripe has streams of {sizes[0]} bytes and {sizes[1]} of indexes, not {data} and {index}")
    sized = [Encoding(kind, one(c, 2, 0)) for kind, c in zip(encodings, footer.get(2, []), strict=True)]
    return Stripe(rows, index + data, sized, streams)


def unpacked(packed: bytes, codec: int, block: int) -> bytes:
    """Return the unpacked bytes of a stream; raises ValueError if they do not unpack or are too long."""
    if codec == PLAIN:
        return packed
    out, at, size = [], 0, 0
    while at < len(packed):
        head = int.from_bytes(packed[at : at + 3], "little")
        chunk = packed[at + 3 : at + 3 + (head >> 1)]
        at += 3 + (head >> 1)
        if at > len(packed):
            raise ValueError("a packed part of its metadata is truncated")
        out.append(chunk if head & 1 else _unpack(chunk, codec, block))
        size += len(out[-1])
        if size > _METADATA_BYTES:
            raise ValueError(f"its metadata unpacks to more than {_METADATA_BYTES} bytes")
    return b"".join(out)


def _unpack(chunk: bytes, codec: int, block: int) -> bytes:
    try:
        if codec in _AVRO_NAMES:
            return CODECS[_AVRO_NAMES[codec]].unpack(chunk, block)
        decoder = pa.Codec("snappy" if codec == _SNAPPY else "lz4_raw")
        # The codec does not store the unpacked size, so the smallest size for which unpacking succeeds is searched.
        size = bisect_left(range(block), True, key=lambda size: _fits(decoder, chunk, size))
        return bytes(decoder.decompress(chunk, size, asbytes=True))
    except Exception as error:  # each decoder raises errors of its own
        raise ValueError(f"its metadata does not unpack: {error}") from error


def _fits(decoder: pa.Codec, chunk: bytes, size: int) -> bool:
    try:
        decoder.decompress(chunk, size)
    except (pa.ArrowException, OSError):
        return False
    return True
