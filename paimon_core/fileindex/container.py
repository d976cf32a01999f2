"""Container: the indexes of one data file, by column and kind of index (format 13.2)."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from paimon_core.errors import CorruptTable, UnsupportedFeature

_MAGIC = 1493475289347502
_VERSION = 1
_EMPTY = -1
_FIXED = 8 + 4 + 4
MOST_HEAD_BYTES = 16 << 20
"""Maximum size in bytes of the head of a container that is read."""

Payloads = Mapping[str, Mapping[str, bytes | None]]
"""The bytes of each index (its payload), by column and kind; None: all rows of the column are null."""


def write_container(payloads: Payloads) -> bytes:
    """Return the bytes of a container; columns and kinds keep their order."""
    names = b""
    entries = sum(map(len, payloads.values()))
    for column, kinds in payloads.items():
        names += _utf(column) + b"".join(map(_utf, kinds))
    head = _FIXED + 4 + 8 * entries + 4 * len(payloads) + 4 + len(names)
    out = [struct.pack(">qiii", _MAGIC, _VERSION, head, len(payloads))]
    body: list[bytes] = []
    at = head
    for column, kinds in payloads.items():
        out += (_utf(column), struct.pack(">i", len(kinds)))
        for kind, payload in kinds.items():
            size = 0 if payload is None else len(payload)
            out += (_utf(kind), struct.pack(">ii", _EMPTY if payload is None else at, size))
            at += size
            body.append(payload or b"")
    return b"".join((*out, struct.pack(">i", 0), *body))


def _utf(text: str) -> bytes:
    data = _modified(text)
    return struct.pack(">H", len(data)) + data


def _modified(text: str) -> bytes:
    """Return Java's modified UTF-8: NUL has two bytes, and a character above U+FFFF is a pair of surrogates."""
    units = text.encode("utf-16-be", "surrogatepass")
    pairs = "".join(chr(int.from_bytes(units[i : i + 2])) for i in range(0, len(units), 2))
    return pairs.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


@contextlib.contextmanager
def decoding(source: str) -> Iterator[None]:
    """Convert errors of decoders to CorruptTable, which names ``source``, the file of the index."""
    try:
        yield
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        if isinstance(error, UnsupportedFeature):
            raise
        raise CorruptTable(f"the file index {source} does not decode: {error}", path=source) from error


@dataclass(frozen=True)
class FileIndex:
    """The parsed head of a container; the bytes of an index (its payload) are read when they are used."""

    places: Mapping[str, Mapping[str, tuple[int, int]]]
    """Start and size of each payload, by column and kind; a negative start: all rows of the column are null."""
    read_at: Callable[[int, int], bytes]
    """``read_at(position, size)`` returns ``size`` bytes of the container."""
    source: str
    """The text that names the index in errors: the path of its file, or the data file of an index in a manifest."""

    @staticmethod
    def parse(read_at: Callable[[int, int], bytes], size: int, source: str) -> FileIndex:
        """Parse the head of a container of ``size`` bytes.

        Raises CorruptTable, which names ``source``, when the head does not decode, UnsupportedFeature for a newer
        version.
        """
        with decoding(source):
            if size < _FIXED:
                raise ValueError(f"it has {size} bytes")
            magic, version, head = struct.unpack(">qii", _read(read_at, 0, _FIXED))
            if magic != _MAGIC:
                raise ValueError("it does not begin with the magic of a file index")
            if version != _VERSION:
                raise UnsupportedFeature(
                    f"the file index {source} has version {version}, only {_VERSION} is supported "
                    "(option file-index.read.enabled = false reads without indexes)",
                    path=source,
                )
            if not _FIXED <= head <= min(size, MOST_HEAD_BYTES):
                raise ValueError(f"its head has {head} of {size} bytes")
            return FileIndex(_places(_read(read_at, _FIXED, head - _FIXED), head, size), read_at, source)

    @staticmethod
    def of_bytes(data: bytes, source: str) -> FileIndex:
        """Parse a container in memory; raises the errors of ``parse``."""
        return FileIndex.parse(lambda at, size: data[at : at + size], len(data), source)

    def payload(self, column: str, kind: str) -> bytes | None:
        """Return the payload of an index; None when all rows of the column are null.

        Raises CorruptTable when the container is shorter than its head states.
        """
        at, size = self.places[column][kind]
        if at < 0:
            return None
        with decoding(self.source):
            return _read(self.read_at, at, size)


def _places(head: bytes, start: int, size: int) -> dict[str, dict[str, tuple[int, int]]]:
    (columns,) = struct.unpack_from(">i", head)
    at = 4
    out: dict[str, dict[str, tuple[int, int]]] = {}
    if columns < 0:
        raise ValueError(f"it has {columns} columns")
    for _ in range(columns):
        column, at = _read_utf(head, at)
        (kinds,) = struct.unpack_from(">i", head, at)
        at += 4
        if kinds < 0 or column in out:
            raise ValueError(f"it has {kinds} indexes of column {column!r:.80}, or the column twice")
        found = out.setdefault(column, {})
        for _ in range(kinds):
            kind, at = _read_utf(head, at)
            place = struct.unpack_from(">ii", head, at)
            at += 8
            if kind in found or not (place == (_EMPTY, 0) or (start <= place[0] and 0 <= place[1] <= size - place[0])):
                raise ValueError(f"index {kind!r:.80} of column {column!r:.80} is at {place} of {size} bytes")
            found[kind] = place
    return out


def _read_utf(data: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from(">H", data, at)
    end = at + 2 + size
    if end > len(data):
        raise ValueError("a name exceeds its head")
    text = data[at + 2 : end].replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le"), end


def _read(read_at: Callable[[int, int], bytes], at: int, size: int) -> bytes:
    data = read_at(at, size)
    if len(data) != size:
        raise ValueError(f"it ends before {at + size} bytes")
    return data
