"""Avro object container files, the container of manifests (format 4.1): bytes to records and back.

Records are dicts by the writer schema's field names, in plain values: a logical type stays the number it is stored as.
zstd frames are written with a content checksum, so a flipped bit in them is found. A file that is torn, holds garbage,
nests without end or unpacks to far more than its size raises CorruptTable before memory is spent on it.
"""

from __future__ import annotations

import io
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import fastavro
import pyarrow as pa

from paimon_core.errors import CorruptTable, InvalidOption, UnsupportedFeature

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_BLOCK_BYTES = 64_000
_RECORDS_A_STEP = 64
_ZSTD_LEVEL = 1
_HEADER_LIMIT = 1 << 20
_UNPACKED_LIMIT = 64 << 20
_UNPACKED_RATIO = 256
_NESTING_LIMIT = 32
_NAMES_LIMIT = 64

_PAIMON_NAMES = {"zstd": "zstandard", "none": "null"}
_FOREIGN_CODECS = ("bzip2", "xz", "lz4")
_SIZES = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8, "bytes": 1, "string": 1}


def write_avro(schema: dict[str, Any], records: Iterable[dict[str, Any]], codec: str = "zstandard") -> bytes:
    """The container file of ``records``; ``codec`` is zstandard (zstd), deflate, snappy or null (none).

    Raises InvalidOption for another codec.
    """
    codec = _PAIMON_NAMES.get(codec.lower(), codec.lower())
    if codec not in _CODECS:
        raise InvalidOption(f"Avro codec {codec!r} is not one of {', '.join(_CODECS)}", codec=codec)
    header = json.dumps(schema).encode()
    sync = os.urandom(_SYNC_BYTES)
    out = [_MAGIC, _long(2)]
    for key, value in ((b"avro.schema", header), (b"avro.codec", codec.encode())):
        out += [_long(len(key)), key, _long(len(value)), value]
    out += [_long(0), sync]
    array = _array_schema(header)
    pending, block = 0, bytearray()
    source = iter(records)
    while chunk := list(islice(source, _RECORDS_A_STEP)):
        body = io.BytesIO()
        fastavro.schemaless_writer(body, array, chunk)
        # An Avro array is its count, its items and a zero: the items alone are a block's records.
        block += body.getbuffer()[len(_long(len(chunk))) : -1]
        pending += len(chunk)
        if len(block) >= _BLOCK_BYTES:
            out += _block(pending, bytes(block), codec, sync)
            pending, block = 0, bytearray()
    if pending:
        out += _block(pending, bytes(block), codec, sync)
    return b"".join(out)


def _block(count: int, records: bytes, codec: str, sync: bytes) -> list[bytes]:
    packed = _CODECS[codec].pack(records)
    return [_long(count), _long(len(packed)), packed, sync]


def read_avro(data: bytes, path: str) -> list[dict[str, Any]]:
    """The records of a container file; ``path`` names it in errors.

    Raises CorruptTable for a file that does not decode, UnsupportedFeature for a codec that is not built here.
    """
    try:
        return _read(data)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"{path}: {error.message}", path=path, **error.facts) from None
    except Exception as error:  # garbage meets six decoders, each with errors of its own
        raise CorruptTable(
            f"{path} is not a whole Avro file: {str(error) or type(error).__name__}",
            path=path,
            reason=type(error).__name__,
        ) from error


def _read(data: bytes) -> list[dict[str, Any]]:
    cursor = _Cursor(data)
    if cursor.take(len(_MAGIC)) != _MAGIC:
        raise ValueError("it does not start with Avro's magic")
    meta = _metadata(cursor)
    sync = cursor.take(_SYNC_BYTES)
    codec = meta.get("avro.codec", b"null").decode()
    if codec in _FOREIGN_CODECS:
        raise UnsupportedFeature(f"Avro codec {codec} is not supported", codec=codec)
    if codec not in _CODECS:
        raise ValueError(f"codec {codec!r} is unknown")
    if "avro.schema" not in meta:
        raise ValueError("it has no schema")
    array = _array_schema(meta["avro.schema"])
    budget = max(_UNPACKED_LIMIT, _UNPACKED_RATIO * len(data))
    records: list[dict[str, Any]] = []
    while cursor.at < len(data):
        count = cursor.long()
        block = _CODECS[codec].unpack(cursor.take(cursor.long()), budget)
        budget -= len(block)
        if cursor.take(_SYNC_BYTES) != sync:
            raise ValueError(f"the block before byte {cursor.at} does not end in the sync marker")
        # Every record takes a byte or more, so a count beyond the bytes is a lie.
        if not 0 <= count <= len(block) or bool(count) != bool(block):
            raise ValueError(f"a block of {len(block)} bytes claims {count} records")
        if count:
            source = io.BytesIO(b"".join((_long(count), block, b"\0")))
            found = fastavro.schemaless_reader(source, array, None)
            if len(found) != count or source.read(1):
                raise ValueError(f"a block of {len(block)} bytes holds more than the {count} records it claims")
            records += found
    return records


def _metadata(cursor: _Cursor) -> dict[str, bytes]:
    meta: dict[str, bytes] = {}
    while count := cursor.long():
        if count < 0:
            cursor.long()
        for _ in range(abs(count)):
            key = cursor.take(cursor.long()).decode()
            meta[key] = cursor.take(cursor.long())
            if cursor.at > _HEADER_LIMIT:
                raise ValueError(f"its header is longer than {_HEADER_LIMIT} bytes")
    return meta


@dataclass(slots=True)
class _Cursor:
    """A place in the file that moves forward."""

    data: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.at:
            raise ValueError(f"{size} bytes at {self.at} leave the {len(self.data)} that are there")
        self.at += size
        return self.data[self.at - size : self.at]

    def long(self) -> int:
        value = shift = 0
        while shift < 64:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7
        raise ValueError(f"the number before byte {self.at} does not end")


def _long(value: int) -> bytes:
    """A non-negative number as Avro writes a long: zigzag, then 7 bits a byte."""
    out = bytearray()
    value <<= 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# -- schemas -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _array_schema(text: bytes) -> Any:
    """fastavro's schema for an array of the records: a block is read and written in one call."""
    schema = json.loads(text)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise ValueError("its schema is no record")
    record, _ = _plain(schema, 0, {})
    return fastavro.parse_schema({"type": "array", "items": record})


def _plain(schema: Any, depth: int, known: dict[str, int]) -> tuple[Any, int]:
    """The schema without logical types, and the least bytes of a value; refuses what a decoder could not bound."""
    if depth > _NESTING_LIMIT:
        raise ValueError(f"its schema nests deeper than {_NESTING_LIMIT}")
    if isinstance(schema, list):
        return [_plain(s, depth + 1, known)[0] for s in schema], 1
    if isinstance(schema, str):
        size = _SIZES[schema] if schema in _SIZES else known.get(schema.rpartition(".")[2])
        if size is None:  # a name is known once its definition is complete
            raise ValueError(f"type {schema} is unknown, or contains itself")
        return schema, size
    kind = schema["type"]
    out = {k: v for k, v in schema.items() if k != "logicalType"}
    match kind:
        case "record":
            fields = [(f, *_plain(f["type"], depth + 1, known)) for f in schema["fields"]]
            out["fields"] = [{**f, "type": plain} for f, plain, _ in fields]
            return out, _define(schema, sum(size for _, _, size in fields), known)
        case "array" | "map":
            member = "items" if kind == "array" else "values"
            out[member], size = _plain(schema[member], depth + 1, known)
            if size == 0:
                raise ValueError(f"the {member} of an {kind} take no bytes")
            return out, 1
        case "enum":
            return out, _define(schema, 1, known)
        case "fixed":
            return out, _define(schema, int(schema["size"]), known)
    out["type"], size = _plain(kind, depth + 1, known)
    return out, size


def _define(schema: dict[str, Any], size: int, known: dict[str, int]) -> int:
    if size < 1:
        raise ValueError(f"type {schema['name']} takes no bytes")
    known[schema["name"].rpartition(".")[2]] = size
    if len(known) > _NAMES_LIMIT:
        raise ValueError(f"its schema has more than {_NAMES_LIMIT} named types")
    return size


# -- codecs ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Codec:
    """``pack`` a block; ``unpack(packed, limit)`` it, raising when there are more than ``limit`` bytes."""

    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes, int], bytes]


def _bounded(block: bytes, whole: bool, limit: int) -> bytes:
    if len(block) > limit:
        raise ValueError(f"its blocks unpack to more than {limit} bytes")
    if not whole:
        raise ValueError("a packed block is cut short")
    return block


def _pack_zstandard(block: bytes) -> bytes:
    parameter = zstd.CompressionParameter
    return zstd.compress(block, options={parameter.compression_level: _ZSTD_LEVEL, parameter.checksum_flag: 1})


def _unpack_zstandard(packed: bytes, limit: int) -> bytes:
    stream = zstd.ZstdDecompressor()
    return _bounded(stream.decompress(packed, max_length=limit + 1), stream.eof and not stream.unused_data, limit)


def _pack_deflate(block: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(block) + stream.flush()


def _unpack_deflate(packed: bytes, limit: int) -> bytes:
    # Some writers leave part of zlib's trailer behind the stream: bytes after its end are not an error.
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    return _bounded(stream.decompress(packed, limit + 1), stream.eof, limit)


def _pack_snappy(block: bytes) -> bytes:
    return bytes(pa.Codec("snappy").compress(block, asbytes=True)) + zlib.crc32(block).to_bytes(4, "big")


def _unpack_snappy(packed: bytes, limit: int) -> bytes:
    body, checksum = packed[:-4], packed[-4:]
    size = shift = 0
    for byte in body[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > limit:
        raise ValueError(f"its blocks unpack to more than {limit} bytes")
    block = bytes(pa.Codec("snappy").decompress(body, size, asbytes=True))
    if zlib.crc32(block).to_bytes(4, "big") != checksum:
        raise ValueError("a block does not match its checksum")
    return block


def _unpack_null(packed: bytes, limit: int) -> bytes:
    return packed


_CODECS = {
    "zstandard": _Codec(_pack_zstandard, _unpack_zstandard),
    "deflate": _Codec(_pack_deflate, _unpack_deflate),
    "snappy": _Codec(_pack_snappy, _unpack_snappy),
    "null": _Codec(lambda block: block, _unpack_null),
}
