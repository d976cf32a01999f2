"""Footer checksum: adds a CRC32 to a Parquet footer, because a flipped bit could change rows or crash a reader.

The checksum is the last field of the footer, in Parquet's extension field, which other readers skip: the little-endian
CRC32 of the bytes before it, then a 16-byte marker. Programs that rewrite a file drop the checksum.
"""

from __future__ import annotations

import zlib

_FIELD = b"\x08\xff\xff\x01"
"""The header of the extension field, as defined in Parquet's BinaryProtocolExtensions.md."""
_NAME = bytes.fromhex("6f1d0e5b9c3a4f7db8a2c47f91e6530d")
_CRC_BYTES = 4
_HEAD = _FIELD + bytes([_CRC_BYTES + len(_NAME)])
_TAIL = _NAME + b"\0"
_SEAL_BYTES = len(_HEAD) + _CRC_BYTES + len(_TAIL)


def sealed(footer: bytes) -> bytes:
    """Return the footer, a thrift struct, with its checksum added."""
    body = footer[:-1]
    return body + _HEAD + zlib.crc32(body).to_bytes(_CRC_BYTES, "little") + _TAIL


def is_sealed(footer: bytes) -> bool:
    """Whether the footer has a checksum; raises ValueError when its bytes do not match the checksum."""
    if not is_marked(footer):
        return False
    body, crc = memoryview(footer)[:-_SEAL_BYTES], footer[-len(_TAIL) - _CRC_BYTES : -len(_TAIL)]
    if zlib.crc32(body) != int.from_bytes(crc, "little"):
        raise ValueError("its footer does not match the recorded checksum")
    return True


def without_seal(footer: bytes) -> bytes:
    """Return a footer without its checksum: the bytes before it and the end of the struct."""
    return footer[:-_SEAL_BYTES] + b"\0" if is_marked(footer) else footer


def is_marked(footer: bytes) -> bool:
    """Whether the footer has a checksum, which may be wrong."""
    return footer.endswith(_TAIL) and footer[-_SEAL_BYTES:][: len(_HEAD)] == _HEAD
