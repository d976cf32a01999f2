"""Avro codecs: compress and decompress Avro blocks, up to a limit of unpacked bytes that the caller sets."""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ZSTD_LEVEL = 1
_CRC_BYTES = 4
_XZ_MEMORY_BYTES = 256 << 20
"""The maximum memory that an xz block may state as necessary to unpack it; level 9 needs 65 MB."""
_SNAPPY_RATIO = 64
"""An upper bound of the ratio of unpacked to packed bytes: a copy of at most 64 bytes takes at least two bytes."""


@dataclass(frozen=True, slots=True)
class Codec:
    """``pack(block)`` compresses; ``unpack(packed, limit)`` decompresses, and fails for more than ``limit`` bytes."""

    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes, int], bytes]


def _checked(block: bytes, whole: bool, limit: int) -> bytes:
    """Return the unpacked ``block``; raises ValueError when it is longer than the limit or not ``whole``."""
    if len(block) > limit:
        raise ValueError(f"its blocks unpack to more than {limit} bytes")
    if not whole:
        raise ValueError("a packed block is truncated")
    return block


def pack_zstandard(block: bytes, level: int = ZSTD_LEVEL) -> bytes:
    """Return the block as a zstd frame with a content checksum, so that a flipped bit is detected."""
    parameter = zstd.CompressionParameter
    return zstd.compress(block, options={parameter.compression_level: level, parameter.checksum_flag: 1})


def _unpack_zstandard(packed: bytes, limit: int) -> bytes:
    stream = zstd.ZstdDecompressor()
    try:
        block = stream.decompress(packed, max_length=limit + 1)
    except zstd.ZstdError as error:
        raise ValueError(f"a packed block does not unpack: {error}") from error
    return _checked(block, stream.eof and not stream.unused_data, limit)


def _pack_deflate(block: bytes, level: int = -1) -> bytes:
    stream = zlib.compressobj(level, wbits=-zlib.MAX_WBITS)
    return stream.compress(block) + stream.flush()


def pack_checked_deflate(block: bytes, level: int = -1) -> bytes:
    """Compress into a deflate stream, followed by the CRC32 of the block: readers ignore bytes after the stream.

    Level 0 stores the block uncompressed.
    """
    return _pack_deflate(block, level) + zlib.crc32(block).to_bytes(_CRC_BYTES, "big")


def unpack_checked_deflate(packed: bytes, limit: int) -> bytes:
    """Return the block that ``pack_checked_deflate`` packed; raises ValueError when the block does not match its
    checksum.
    """
    return _verified(_unpack_deflate(packed[:-_CRC_BYTES], limit), packed[-_CRC_BYTES:])


def _verified(block: bytes, checksum: bytes) -> bytes:
    if zlib.crc32(block).to_bytes(_CRC_BYTES, "big") != checksum:
        raise ValueError("a block does not match its checksum")
    return block


def _unpack_deflate(packed: bytes, limit: int) -> bytes:
    # Some writers leave part of zlib's trailer after the stream: bytes after its end are not an error.
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    return _checked(stream.decompress(packed, limit + 1), stream.eof, limit)


def _pack_snappy(block: bytes) -> bytes:
    return bytes(pa.Codec("snappy").compress(block, asbytes=True)) + zlib.crc32(block).to_bytes(_CRC_BYTES, "big")


def _unpack_snappy(packed: bytes, limit: int) -> bytes:
    body, checksum = packed[:-_CRC_BYTES], packed[-_CRC_BYTES:]
    # Snappy data starts with the unpacked size, 7 bits per byte: it is checked before memory is used for the block.
    size = shift = 0
    for byte in body[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > limit or size > _SNAPPY_RATIO * len(body):
        raise ValueError(f"its blocks unpack to more than {limit} bytes, or to more than their packed bytes can hold")
    return _verified(bytes(pa.Codec("snappy").decompress(body, size, asbytes=True)), checksum)


def _pack_xz(block: bytes) -> bytes:
    return lzma.compress(block, lzma.FORMAT_XZ, lzma.CHECK_CRC64)


def _unpack_bzip2(packed: bytes, limit: int) -> bytes:
    stream = bz2.BZ2Decompressor()
    return _unpack_stream(stream, packed, limit)


def _unpack_xz(packed: bytes, limit: int) -> bytes:
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES)
    return _unpack_stream(stream, packed, limit)


def _unpack_stream(stream: bz2.BZ2Decompressor | lzma.LZMADecompressor, packed: bytes, limit: int) -> bytes:
    try:
        block = stream.decompress(packed, max_length=limit + 1)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise ValueError(f"a packed block does not unpack: {error}") from error
    return _checked(block, stream.eof and not stream.unused_data, limit)


def _unpack_null(packed: bytes, limit: int) -> bytes:
    return packed


CODECS = {
    "zstandard": Codec(pack_zstandard, _unpack_zstandard),
    "deflate": Codec(_pack_deflate, _unpack_deflate),
    "snappy": Codec(_pack_snappy, _unpack_snappy),
    "bzip2": Codec(bz2.compress, _unpack_bzip2),
    "xz": Codec(_pack_xz, _unpack_xz),
    "null": Codec(lambda block: block, _unpack_null),
}
