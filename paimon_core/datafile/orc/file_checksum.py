"""A checksum of a whole ORC file, which has none of its own: a flipped bit changes rows or ends or hangs a process.

It is a field of the PostScript that other readers skip, before the last field: 8 bytes that say what it is, then the
CRC32, little-endian, of all other bytes of the file. A program that writes a file anew drops it.
"""

from __future__ import annotations

import io
import zlib
from typing import Any

import pyarrow as pa

_NAME = bytes.fromhex("9d41c7e35a0b86f2")
_CRC_BYTES = 4
_HEAD = b"\xca\xb5\x03" + bytes([len(_NAME) + _CRC_BYTES])
"""The field 7001 of the PostScript, of bytes."""
_MAGIC = b"\x82\xf4\x03\x03ORC"
"""The last field of the PostScript, before its length."""
_LENGTH_BYTES = 1
_AFTER_CRC = len(_MAGIC) + _LENGTH_BYTES
_END_BYTES = len(_NAME) + _CRC_BYTES + _AFTER_CRC
_TAIL_BYTES = 255 + _LENGTH_BYTES
"""What a PostScript and its length take at most."""
_CHUNK_BYTES = 4 << 20
HELD_BYTES = 4 << 20
"""Files up to this size are read once; others once for the checksum, and then what is wanted of them."""


class SealingSink(io.RawIOBase):
    """Passes the bytes of an ORC file on to ``sink``, which it does not close, but for the end, until ``seal``."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self._crc = 0
        self._end = b""
        self._is_dropped = False

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: Any) -> int:
        """Take the next bytes."""
        view = memoryview(data).cast("B")
        if len(view) < _TAIL_BYTES:
            self._end += view
            self._pass(memoryview(self._end)[:-_TAIL_BYTES])
            self._end = self._end[-_TAIL_BYTES:]
        else:
            self._pass(self._end)
            self._pass(view[:-_TAIL_BYTES])
            self._end = bytes(view[-_TAIL_BYTES:])
        return len(view)

    def seal(self) -> None:
        """Write the end of a file that is finished, with its checksum."""
        end = self._end
        post_script = end[-_LENGTH_BYTES - end[-1] : -_LENGTH_BYTES]
        length = len(post_script) + len(_HEAD) + len(_NAME) + _CRC_BYTES
        if not post_script.endswith(_MAGIC) or length >= _TAIL_BYTES:
            raise ValueError(f"the ORC PostScript {post_script.hex()} has no place for a checksum")
        after = _MAGIC + bytes([length])
        self._pass(end[:-_AFTER_CRC] + _HEAD + _NAME)
        crc = zlib.crc32(after, self._crc)
        self._sink.write(crc.to_bytes(_CRC_BYTES, "little") + after)

    def drop(self) -> None:
        """Pass nothing on from here on: the file is not wanted, and the sink may close."""
        self._is_dropped = True

    def _pass(self, data: bytes | memoryview) -> None:
        if len(data) and not self._is_dropped:
            self._crc = zlib.crc32(data, self._crc)
            self._sink.write(data)


def verified(source: pa.NativeFile) -> tuple[pa.NativeFile, bool]:
    """The open file, of which small ones are held in memory from here on, and whether it has a checksum.

    Raises ValueError where the bytes are not those that the checksum was made of.
    """
    size = source.size()
    if size <= HELD_BYTES and not isinstance(source, pa.BufferReader):
        source = pa.BufferReader(source.read_at(size, 0))
    end = source.read_at(min(size, _END_BYTES), max(0, size - _END_BYTES))
    if not end.startswith(_NAME) or len(end) < _END_BYTES:
        return source, False
    at, crc = 0, 0
    covered = size - _CRC_BYTES - _AFTER_CRC
    while at < covered:
        data = source.read_at(min(_CHUNK_BYTES, covered - at), at)
        if not data:
            raise ValueError(f"it ends after {at} of {size} bytes")
        crc = zlib.crc32(data, crc)
        at += len(data)
    if zlib.crc32(end[-_AFTER_CRC:], crc) != int.from_bytes(end[len(_NAME) : -_AFTER_CRC], "little"):
        raise ValueError("it does not match the checksum in it")
    return source, True
