"""Avro container files: reads and writes manifests (format 4.1) and Avro data files.

Records are dicts by the field names of the writer's schema. Values are plain: a value of a logical type stays the
stored number. CorruptTable is raised, before much memory is used, for a file that is truncated, contains garbage, is
nested too deeply or unpacks to far more bytes than its size.

Avro has no checksums, so this module writes checksums in places that other readers ignore: zstd frames have a content
checksum, snappy blocks always have a CRC32, and a deflate stream is followed by a CRC32. Uncompressed blocks are
written as deflate streams of level 0, which store the bytes unchanged. A member of the header contains the CRC32 of the
header.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import fastavro

from paimon_core.codec.avro.block_codecs import (
    CODECS,
    ZSTD_LEVEL,
    pack_checked_deflate,
    pack_zstandard,
    unpack_checked_deflate,
)
from paimon_core.codec.avro.plain_schema import array_schema, nests_records
from paimon_core.codec.avro.value_counts import count_values
from paimon_core.errors import CorruptTable, InvalidOption, InvalidRequest, PaimonError, UnsupportedFeature
from paimon_core.limits import (
    AVRO_BLOCK_BYTES,
    AVRO_HEADER_BYTES,
    AVRO_RATIO,
    AVRO_RECORDS,
    AVRO_UNCOUNTED_BYTES,
    AVRO_VALUES,
    ENTRY_BYTES,
    MANIFEST_BYTES,
    MANIFEST_ENTRIES,
    VALUES_PER_BYTE,
    VALUES_RATIO,
    check_limit,
)

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_CHECKSUM = "paimon-core.crc32"
"""The key in the file header whose value is the checksum; when a file has it, deflate blocks have checksums too."""
_BLOCK_BYTES = 64_000
_RECORDS_PER_WRITE = 64

_PAIMON_NAMES = {"zstd": "zstandard", "none": "null"}
_FOREIGN_CODECS = ("lz4",)


def write_avro(schema: dict[str, Any], records: Iterable[dict[str, Any]], codec: str = "zstandard") -> bytes:
    """Return the container file of ``records``; ``codec`` is zstandard (zstd), null (none) or another of ``CODECS``.

    Raises InvalidOption for another codec, InvalidRequest for more unpacked bytes or records than readers accept.
    """
    out = io.BytesIO()
    writer = AvroWriter(out, schema, codec)
    source = iter(records)
    count = 0
    while chunk := list(islice(source, _RECORDS_PER_WRITE)):
        writer.write(chunk)
        count += len(chunk)
    writer.finish()
    check_limit("an Avro file", writer.unpacked_bytes, max(MANIFEST_BYTES, AVRO_RATIO * out.tell()), "unpacked bytes")
    check_limit("an Avro file", count, most_entries(out.tell()), "records")
    return out.getvalue()


def most_entries(size: int) -> int:
    """Return the maximum number of records of a manifest of ``size`` bytes."""
    return max(MANIFEST_ENTRIES, size // ENTRY_BYTES)


class AvroWriter:
    """Writes records to a container file, in blocks of ``_BLOCK_BYTES`` bytes plus at most one ``write`` call.

    ``schema`` is written to the header. ``encoding`` is the schema with which fastavro encodes, by default ``schema``;
    it must produce the same bytes. Raises InvalidOption for an unsupported codec.
    """

    def __init__(
        self,
        sink: Any,
        schema: dict[str, Any],
        codec: str,
        *,
        level: int = ZSTD_LEVEL,
        encoding: dict[str, Any] | None = None,
    ) -> None:
        codec = _PAIMON_NAMES.get(codec.lower(), codec.lower())
        if codec not in CODECS:
            raise InvalidOption(f"Avro codec {codec!r} is not one of {', '.join(CODECS)}", codec=codec)
        self._sink = sink
        packers: dict[str, Callable[[bytes], bytes]] = {
            "zstandard": partial(pack_zstandard, level=level),
            "deflate": pack_checked_deflate,
            "null": partial(pack_checked_deflate, level=0),
        }
        self._pack = packers.get(codec, CODECS[codec].pack)
        codec = "deflate" if codec == "null" else codec
        self._sync = os.urandom(_SYNC_BYTES)
        self._array = array_schema(json.dumps(encoding or schema).encode(), AVRO_RECORDS)
        self._block = bytearray()
        self._pending = 0
        self.unpacked_bytes = 0
        """Bytes of the blocks written so far, before compression."""
        meta = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode()}
        meta[_CHECKSUM] = _header_checksum(meta, self._sync)
        out = [_MAGIC, _long(len(meta))]
        for key, value in meta.items():
            out += [_long(len(key)), key.encode(), _long(len(value)), value]
        sink.write(b"".join([*out, _long(0), self._sync]))

    @property
    def held_bytes(self) -> int:
        """Bytes of the unfinished block, before compression."""
        return len(self._block)

    def write(self, records: list[dict[str, Any]]) -> None:
        """Add records to the current block; a call must not pass more records than fit into one block."""
        body = io.BytesIO()
        fastavro.schemaless_writer(body, self._array, records)
        # An Avro array is encoded as its count, its items and a zero; here the items are the records of a block.
        self._block += body.getbuffer()[len(_long(len(records))) : -1]
        self._pending += len(records)
        if len(self._block) >= _BLOCK_BYTES:
            self.finish()

    def finish(self) -> None:
        """Write the pending records as a block; the sink stays open.

        Raises InvalidRequest for a block that is larger, or has more values, than readers accept.
        """
        if self._pending:
            packed = self._pack(bytes(self._block))
            self.unpacked_bytes += len(self._block)
            check_limit(
                "a block of an Avro file, which is one row or more,",
                len(self._block),
                max(AVRO_BLOCK_BYTES, AVRO_RATIO * len(packed)),
                "bytes",
            )
            if len(self._block) > AVRO_UNCOUNTED_BYTES:
                try:
                    count_values(self._array["items"], bytes(self._block), self._pending, _most_values(len(packed)))
                except ValueError as error:
                    raise InvalidRequest(f"a row for an Avro file is too large: {error}") from None
            self._sink.write(b"".join((_long(self._pending), _long(len(packed)), packed, self._sync)))
            self._pending, self._block = 0, bytearray()


def _most_values(packed: int) -> int:
    """Return the maximum number of values of a block or a manifest of ``packed`` bytes, if its values are counted."""
    return max(AVRO_VALUES, VALUES_PER_BYTE * packed)


def read_avro(data: bytes, path: str, holding: Collection[bytes] | None = None) -> list[dict[str, Any]]:
    """Return the records of a container file; ``path`` is used in error messages.

    ``holding``: only blocks that contain at least one of the texts are decoded. Raises CorruptTable for a file that
    does not decode, UnsupportedFeature for an unsupported codec.
    """
    with decoding(path):
        reader = AvroReader(io.BytesIO(data), len(data))
        array = array_schema(reader.schema)
        values, unpacked, nests = _most_values(len(data)), 0, nests_records(reader.schema)
        records: list[dict[str, Any]] = []
        for block in _blocks(reader):
            unpacked += len(block.data)
            if nests or unpacked > most_uncounted(len(data)):
                values -= count_values(array["items"], block.data, block.count, values)
            if holding is not None and not any(text in block.data for text in holding):
                continue
            records += block.records(array)
        return records


def _blocks(reader: AvroReader) -> Iterator[AvroBlock]:
    """Yield the blocks of a manifest; raises an error when they exceed the limits."""
    budget, stated = max(MANIFEST_BYTES, AVRO_RATIO * reader.size), 0
    while (block := reader.next_block(budget)) is not None:
        budget -= len(block.data)
        stated += block.count
        check_stated(stated, reader.size)
        yield block


def check_stated(records: int, size: int) -> None:
    """Raise ValueError for more records than a manifest of ``size`` bytes may have."""
    if records > most_entries(size):
        raise ValueError(f"it states more than {most_entries(size)} records in {size} bytes")


def most_uncounted(size: int) -> int:
    """Return the number of unpacked bytes from which the values of a manifest of ``size`` bytes are counted."""
    return max(AVRO_UNCOUNTED_BYTES, VALUES_RATIO * size)


def unpacked_blocks(data: bytes, path: str) -> list[bytes]:
    """Return the unpacked blocks of a container file, to search for names; raises errors as ``read_avro`` does.

    The records are not decoded, so invalid records raise no error.
    """
    with decoding(path):
        return [block.data for block in _blocks(AvroReader(io.BytesIO(data), len(data)))]


@contextlib.contextmanager
def decoding(path: str) -> Iterator[None]:
    """Convert any decoding error of the Avro file at ``path`` to CorruptTable; storage errors pass unchanged."""
    try:
        yield
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"{path}: {error.message}", path=path, **error.facts) from None
    except Exception as error:  # each of the six decoders raises other exceptions for invalid bytes
        if isinstance(error, PaimonError) or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise CorruptTable(
            f"{path} is not a complete Avro file: {str(error) or type(error).__name__}",
            path=path,
            reason=type(error).__name__,
        ) from error


@dataclass(frozen=True, slots=True)
class AvroBlock:
    """The unpacked bytes of a block, and the record count that the block states."""

    count: int
    data: bytes
    packed_bytes: int

    def records(self, array: Any) -> list[dict[str, Any]]:
        """Return the records as dicts. Raises ValueError when their number is not the count, or a record is null.

        ``array`` is ``array_schema`` of the file's schema, or of a schema with the same encoding. A long block with
        more values than the limits allow also raises ValueError.
        """
        self.check_values(array["items"])
        found = self.decoded(array)
        if isinstance(array["items"], list) and None in found:
            raise ValueError("one of its records is null")
        return found

    def check_values(self, schema: Any) -> None:
        """Raise ValueError for a long block with more values than the limits; ``schema`` describes the records."""
        if len(self.data) > AVRO_UNCOUNTED_BYTES:
            count_values(schema, self.data, self.count, _most_values(self.packed_bytes))

    def decoded(self, array: Any) -> list[dict[str, Any]]:
        """Return the records; ``array`` is fastavro's schema of their array. Raises ValueError for a wrong count."""
        source = io.BytesIO(b"".join((_long(self.count), self.data, b"\0")))
        found: list[dict[str, Any]] = fastavro.schemaless_reader(source, array, None) if self.count else []
        if len(found) != self.count or source.read(1 if self.count else 0):
            raise ValueError(f"a block of {len(self.data)} bytes contains more than its stated {self.count} records")
        return found


class AvroReader:
    """Reads an open container file: the header first, then one block at a time.

    Raises ValueError for bytes that are not a container file, UnsupportedFeature for an unsupported codec.
    """

    def __init__(self, source: Any, size: int) -> None:
        self._cursor = cursor = _Cursor(source, size)
        if cursor.take(len(_MAGIC)) != _MAGIC:
            raise ValueError("it does not start with Avro's magic")
        meta = _metadata(cursor)
        self._sync = cursor.take(_SYNC_BYTES)
        codec = meta.get("avro.codec", b"null").decode()
        if codec in _FOREIGN_CODECS:
            raise UnsupportedFeature(f"Avro codec {codec} is not supported", codec=codec)
        if codec not in CODECS:
            raise ValueError(f"codec {codec!r} is unknown")
        if "avro.schema" not in meta:
            raise ValueError("it has no schema")
        is_checked = _CHECKSUM in meta
        if is_checked and meta[_CHECKSUM] != _header_checksum(meta, self._sync):
            raise ValueError("its header does not match the recorded checksum")
        self._unpack = unpack_checked_deflate if is_checked and codec == "deflate" else CODECS[codec].unpack
        self.schema = meta["avro.schema"]
        self.size = size

    def next_block(self, limit: int) -> AvroBlock | None:
        """Return the next block; None at the end. Raises ValueError if it unpacks to more than ``limit`` bytes."""
        cursor = self._cursor
        if cursor.at >= cursor.size:
            return None
        count = cursor.long()
        packed = cursor.take(cursor.long())
        block = self._unpack(packed, limit)
        self._check_sync()
        # Each record takes at least one byte, so the count cannot exceed the number of bytes.
        if not 0 <= count <= len(block) or bool(count) != bool(block):
            raise ValueError(f"a block of {len(block)} bytes states {count} records")
        return AvroBlock(count, block, len(packed))

    def skip_block(self) -> int | None:
        """Skip the next block without unpacking it; return the record count that the block states, or None at the
        end.
        """
        cursor = self._cursor
        if cursor.at >= cursor.size:
            return None
        count = cursor.long()
        cursor.skip(cursor.long())
        self._check_sync()
        return count

    def _check_sync(self) -> None:
        if self._cursor.take(_SYNC_BYTES) != self._sync:
            raise ValueError(f"the block before byte {self._cursor.at} does not end in the sync marker")


def _header_checksum(meta: Mapping[str, bytes], sync: bytes) -> bytes:
    """Return the CRC32 of schema, codec and sync marker, as hexadecimal digits."""
    return b"%08x" % zlib.crc32(b"\0".join((meta["avro.schema"], meta.get("avro.codec", b""), sync)))


def _metadata(cursor: _Cursor) -> dict[str, bytes]:
    meta: dict[str, bytes] = {}
    while count := cursor.long():
        if count < 0:
            cursor.long()
        for _ in range(abs(count)):
            key = cursor.take(cursor.long()).decode()
            meta[key] = cursor.take(cursor.long())
            if cursor.at > AVRO_HEADER_BYTES:
                raise ValueError(f"its header is longer than {AVRO_HEADER_BYTES} bytes")
    return meta


class _Cursor:
    """A read position in an open file that only moves forward. Raises ValueError at the end of the file."""

    def __init__(self, source: Any, size: int) -> None:
        self._source = source
        self.size = size
        self.at = 0

    def take(self, size: int) -> bytes:
        self._check(size)
        self.at += size
        data: bytes = self._source.read(size)
        if len(data) != size:
            raise ValueError(f"the file ends before byte {self.at}")
        return data

    def skip(self, size: int) -> None:
        self._check(size)
        self.at += size
        self._source.seek(self.at)

    def _check(self, size: int) -> None:
        if not 0 <= size <= self.size - self.at:
            raise ValueError(f"{size} bytes at {self.at} exceed the {self.size} bytes of the file")

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
    """Encode a non-negative number as an Avro long: zigzag, then 7 bits per byte."""
    out = bytearray()
    value <<= 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
