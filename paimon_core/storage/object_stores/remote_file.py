"""Remote input: a file of an object store that is read by ranges, as an Arrow stream.

The first request reads the end of the file: the footer of a Parquet or ORC file, or all bytes of a small file. Each
later request reads at least ``AHEAD_BYTES``, because a store needs longer to answer than to send them.

A reader that knows the ranges it will read (``will_read``) gets them in one round of requests at the same time.

The columns of a file are decoded in turns, so reads jump between a few places and go on at each of them. What was read
ahead at a place is kept until it has been read. So a byte is requested once, unless the columns need more than may be
kept: then ranges are requested as they are read, without more.
"""

from __future__ import annotations

import io
import threading
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from operator import attrgetter

import pyarrow as pa

from paimon_core.parallel_work import REMOTE_CALLS, run_parallel

TAIL_BYTES = 256 * 1024
"""The bytes to read when a file is opened: about as many as a store sends in the time of one round trip."""
AHEAD_BYTES = 1024 * 1024
"""The bytes that each later request reads at least, while the file may keep as many."""
LEAST_AHEAD_BYTES = 128 * 1024
"""Where less than this may be kept, a request reads what was asked for, and nothing is kept."""
KEPT_BYTES = 16 << 20
"""The most bytes that an open file keeps: those that it read ahead."""
ALL_KEPT_BYTES = 128 << 20
"""The most bytes that all open files of a process keep, besides ``AHEAD_BYTES`` for each file."""
STALE_READS = 1024
"""A kept range that was not used by so many reads may be dropped, such as the columns of a row group that was left."""


class _Range:
    """Bytes that were read ahead; ``done`` is the position in the file up to which they were read without a gap."""

    __slots__ = ("data", "done", "start", "used")

    def __init__(self, start: int, data: bytes, used: int) -> None:
        self.start, self.data, self.done, self.used = start, data, start, used

    @property
    def end(self) -> int:
        return self.start + len(self.data)


class _AllKept:
    """The number of bytes that the files of this process keep."""

    def __init__(self) -> None:
        # Reentrant: the garbage collector may close a file, which calls ``add``, while this thread is in ``add``.
        self._lock = threading.RLock()
        self.bytes = 0

    def add(self, count: int) -> None:
        with self._lock:
            self.bytes += count


ALL_KEPT = _AllKept()


class RemoteReader(io.RawIOBase):
    """A file that is read by ranges: ``fetch(start, end)`` returns exactly the bytes from ``start`` to ``end``.

    One thread at a time may use it.
    """

    def __init__(self, fetch: Callable[[int, int], bytes], tail: bytes, size: int) -> None:
        self._fetch = fetch
        self._size = size
        self._at = 0
        self._tail = (size - len(tail), tail)
        self._ranges: list[_Range] = []  # sorted, without overlaps
        self._starts: list[int] = []
        self._kept = 0
        self._reads = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position in bytes."""
        return self._at

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return self._size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position, see ``io.IOBase.seek``; return the new position."""
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence])
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end of the file."""
        rest = max(0, self._size - self._at)
        data = self._bytes(self._at, self._at + (rest if size is None or size < 0 else min(size, rest)))
        self._at += len(data)
        return data

    def readall(self) -> bytes:
        """Return the remaining bytes of the file."""
        return self.read()

    def will_read(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Request the bytes of ``ranges``, (start, end) without overlaps, with several requests at the same time.

        If they are more than may be kept, the first bytes of each range are requested, or nothing if those are few.
        Bytes that are kept already are not requested again.
        """
        missing = self._missing(sorted(ranges))
        most = self._room() // max(1, len(missing))
        if sum(end - start for start, end in missing) > self._room():
            if most < LEAST_AHEAD_BYTES:
                return
            missing = [(start, min(end, start + most)) for start, end in missing]
        pieces = [
            (at, min(at + AHEAD_BYTES, end)) for start, end in _joined(missing) for at in range(start, end, AHEAD_BYTES)
        ]
        if len(pieces) < 2:
            return  # the read itself sends this request
        announced = sum(end - start for start, end in pieces)
        ALL_KEPT.add(announced)  # before the bytes arrive, because other threads announce ranges of their files
        try:
            fetched = run_parallel(lambda piece: self._fetch(*piece), pieces, REMOTE_CALLS)
            for (start, _), data in zip(pieces, fetched, strict=True):
                self._keep(start, data, start)
        finally:
            ALL_KEPT.add(-announced)

    def _missing(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the parts of sorted ranges that are neither kept nor in the tail."""
        found = list[tuple[int, int]]()
        for start, end in ranges:
            at, end = start, min(end, self._tail[0])
            for one in self._ranges[max(0, self._first_after(start) - 1) : self._first_after(end)]:
                if at < one.start:
                    found.append((at, min(one.start, end)))
                at = max(at, one.end)
            if at < end:
                found.append((at, end))
        return found

    def _first_after(self, position: int) -> int:
        """Return the number of the first kept range that begins after a position."""
        return bisect_right(self._ranges, position, key=attrgetter("start"))

    def close(self) -> None:
        """Close the file and drop the bytes that it keeps."""
        for one in list(self._ranges):
            self._drop(one)
        super().close()

    def _bytes(self, start: int, end: int) -> bytes:
        self._reads += 1
        parts: list[bytes] = []
        tail_start, tail = self._tail
        while start < end:
            if start >= tail_start:
                part = tail[start - tail_start : end - tail_start]
            else:
                part = self._kept_bytes(start, end) or self._requested(start, min(end, tail_start))
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _kept_bytes(self, start: int, end: int) -> bytes:
        """Return the bytes from ``start`` on that are kept, at most to ``end``; b"" if the first is not kept."""
        at = self._first_after(start) - 1
        if at < 0 or self._ranges[at].end <= start:
            return b""
        one = self._ranges[at]
        one.used = self._reads
        part = one.data[start - one.start : end - one.start]
        if start <= one.done:
            one.done = max(one.done, start + len(part))
            if one.done == one.end:
                self._drop(one)
        return part

    def _requested(self, start: int, end: int) -> bytes:
        """Return bytes of a request, at most to ``end``; bytes that are kept are not requested."""
        after = self._first_after(start)
        if after < len(self._ranges):
            end = min(end, self._ranges[after].start)
        ahead = self._ahead()
        if end - start >= ahead:
            return self._fetch(start, end)
        following = bisect_right(self._starts, start)  # bytes of another place were requested from there on
        most = self._starts[following] if following < len(self._starts) else self._tail[0]
        data = self._fetch(start, max(end, min(start + ahead, most)))
        if len(data) > end - start:
            self._keep(start, data, end)
        return data[: end - start]

    def _keep(self, start: int, data: bytes, done: int) -> None:
        insort(self._starts, start)
        kept = _Range(start, data, self._reads)
        kept.done = done
        insort(self._ranges, kept, key=attrgetter("start"))
        self._kept += len(data)
        ALL_KEPT.add(len(data))

    def _ahead(self) -> int:
        """Return the number of bytes to read ahead: fewer while much is kept, so that many columns have a part."""
        if self._room() < AHEAD_BYTES:
            for one in [one for one in self._ranges if self._reads - one.used > STALE_READS]:
                self._drop(one)
        room = self._room()
        ahead = min(AHEAD_BYTES, max(room // 4, min(LEAST_AHEAD_BYTES, AHEAD_BYTES)))
        return ahead if ahead <= room else 0

    def _room(self) -> int:
        free = max(0, ALL_KEPT_BYTES - ALL_KEPT.bytes) // 2  # files that are opened later need some, too
        return max(min(KEPT_BYTES - self._kept, free), AHEAD_BYTES - self._kept)

    def _drop(self, one: _Range) -> None:
        self._ranges.remove(one)
        self._kept -= len(one.data)
        ALL_KEPT.add(-len(one.data))


class RemoteInput(pa.PythonFile):  # type: ignore[misc]
    """A ``RemoteReader`` as an Arrow stream."""

    def __init__(self, reader: RemoteReader) -> None:
        self._reader = reader

    def will_read(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Request ranges at the same time, see ``RemoteReader.will_read``."""
        self._reader.will_read(ranges)


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return sorted ranges, those that follow each other without a gap as one."""
    out = list[tuple[int, int]]()
    for start, end in ranges:
        if out and out[-1][1] == start:
            start = out.pop()[0]
        out.append((start, end))
    return out
