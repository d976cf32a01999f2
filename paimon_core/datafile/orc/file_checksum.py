"""File checksum: adds a CRC32 to an ORC file. ORC has no checksum, and a flipped bit can change rows or crash a reader.

The checksum is stored in a field of the PostScript, before the last field; other readers skip this field. The field
contains an 8-byte marker, then the little-endian CRC32 of all other bytes of the file. Programs that rewrite a file
drop the checksum.
"""

from __future__ import annotations

import io
import zlib
from typing import Any

import pyarrow as pa

_NAME = bytes.fromhex("9d41c7e35a0b86f2")
_CRC_BYTES = 4
_HEAD = b"\xca\xb5\x03" + bytes([len(_NAME) + _CRC_BYTES])
"""The tag and the length of the PostScript field 7001, whose type is bytes."""
_MAGIC = b"\x82\xf4\x03\x03ORC"
"""The last field of the PostScript; the length of the PostScript follows in the file."""
_LENGTH_BYTES = 1
_AFTER_CRC = len(_MAGIC) + _LENGTH_BYTES
_END_BYTES = len(_NAME) + _CRC_BYTES + _AFTER_CRC
_TAIL_BYTES = 255 + _LENGTH_BYTES
"""The largest size in bytes of a PostScript and its length."""
_CHUNK_BYTES = 4 << 20
HELD_BYTES = 4 << 20
"""Files up to this size are read once, into memory; larger files are read for the checksum and again for the rows."""


class ChecksumSink(io.RawIOBase):
    """Writes the bytes of an ORC file to ``sink``, but keeps the end of the file until ``seal`` adds the checksum.

    The sink is not closed.
    """

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self._crc = 0
        self._end = b""
        self._is_dropped = False

    def writable(self) -> bool:
        """Return True: the sink accepts writes."""
        return True

    def write(self, data: Any) -> int:
        """Accept the next bytes of the file."""
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
        """Write the end of the finished file, with its checksum."""
        end = self._end
        post_script = end[-_LENGTH_BYTES - end[-1] : -_LENGTH_BYTES]
        length = len(post_script) + len(_HEAD) + len(_NAME) + _CRC_BYTES
        if not post_script.endswith(_MAGIC) or length >= _TAIL_BYTES:
            raise ValueError(f"the ORC PostScript {post_script.hex()} has no room for a checksum")
        after = _MAGIC + bytes([length])
        self._pass(end[:-_AFTER_CRC] + _HEAD + _NAME)
        crc = zlib.crc32(after, self._crc)
        self._sink.write(crc.to_bytes(_CRC_BYTES, "little") + after)

    def drop(self) -> None:
        """Discard all further bytes: the file will not be used, and the sink may be closed."""
        self._is_dropped = True

    def _pass(self, data: bytes | memoryview) -> None:
        if len(data) and not self._is_dropped:
            self._crc = zlib.crc32(data, self._crc)
            self._sink.write(data)


def verified(source: pa.NativeFile) -> tuple[pa.NativeFile, bool]:
    """Return the open file (a small file as a copy in memory), and whether it has a checksum.

    Raises ValueError when the bytes do not match the checksum.
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
        raise ValueError("it does not match the recorded checksum")
    return source, True
