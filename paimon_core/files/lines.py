"""Lines: reads the lines of a split of a text file in blocks, and finds the line that a parser refuses.

A reader holds a block of about BLOCK_BYTES; a longer line is read whole, up to LINE_BYTES. A line belongs to the split
that contains its first byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.errors import InvalidRequest
from paimon_core.files.splits import FileSplit

BLOCK_BYTES = 8 << 20
LINE_BYTES = 64 << 20
REFUSALS = (InvalidRequest, pa.ArrowInvalid, pa.ArrowNotImplementedError)
"""The errors by which a parser refuses lines."""
_BOM = b"\xef\xbb\xbf"
_ROW = re.compile(rb"[^\r\n][^\n]*\n?")
"""A line that is not empty."""


def line_blocks(stream: pa.NativeFile, split: FileSplit, *, is_divided: bool) -> Iterator[bytes]:
    """Yield the lines of a split in blocks of whole lines; without ``is_divided``, all lines of the stream."""
    at = max(split.start - 1, 0) if is_divided else 0
    end = split.end if is_divided and split.end < split.file.size else None
    is_inside = at > 0 or split.start == 1
    if at:
        stream.seek(at)
    data = b""
    while True:
        more = bytes(stream.read(BLOCK_BYTES))
        data += more
        if is_inside:  # the line that contains the byte before the split belongs to the previous split
            newline = data.find(b"\n")
            at, data = (at + newline + 1, data[newline + 1 :]) if newline >= 0 else (at + len(data), b"")
            is_inside = newline < 0 and bool(more)
        elif at == 0 and data.startswith(_BOM):
            at, data = len(_BOM), data[len(_BOM) :]
        if end is not None and at >= end:
            return
        if end is not None and at + len(data) >= end and (last := data.find(b"\n", end - 1 - at)) >= 0:
            yield data[: last + 1]
            return
        size = data.rfind(b"\n") + 1 if more else len(data)
        if size:
            yield data[:size]
            at, data = at + size, data[size:]
        if not more:
            return
        if len(data) > LINE_BYTES:
            raise InvalidRequest(
                f"file {split.file.path}: a line is longer than {LINE_BYTES >> 20} MiB: are its line ends LF?"
            )


def row_count(block: bytes) -> int:
    """Return the number of lines that are not empty."""
    lines = block.count(b"\n") + (not block.endswith(b"\n"))
    return len(_ROW.findall(block)) if b"\n\n" in block or b"\n\r\n" in block or block[:1] in b"\r\n" else lines


def refused_line(block: bytes, parse: Callable[[bytes], object]) -> tuple[int, str]:
    """Return the number of the first line that ``parse`` refuses, and the message of ``parse``.

    The number is from 0, and empty lines are counted. ``parse`` must refuse the block with InvalidRequest or
    ArrowInvalid. To find the line, the block is halved again and again.
    """
    starts = [found.start() for found in _ROW.finditer(block)]
    low, high, message = 0, len(starts), ""

    def refusal(begin: int, end: int) -> str:
        last = starts[end] if end < len(starts) else len(block)
        try:
            parse(block[starts[begin] : last])
        except REFUSALS as error:
            return str(error) or type(error).__name__
        return ""

    message = refusal(low, high)
    while high - low > 1:
        middle = (low + high) // 2
        found = refusal(low, middle)
        low, high = (low, middle) if found else (middle, high)
        message = found or message
    return block.count(b"\n", 0, starts[low]) if starts else 0, refusal(low, high) or message


def halves(block: bytes) -> list[tuple[int, bytes]]:
    """Return the second and the first half of a block of at least two rows, each with the line ends before it."""
    starts = [found.start() for found in _ROW.finditer(block)]
    middle = starts[len(starts) // 2]
    return [(block.count(b"\n", 0, middle), block[middle:]), (0, block[:middle])]


class Rows:
    """The lines of a block that are rows; empty lines are not rows. All numbers are from 0."""

    def __init__(self, block: bytes) -> None:
        self._block = block

    @cached_property
    def _starts(self) -> list[int]:
        return [found.start() for found in _ROW.finditer(self._block)]

    @cached_property
    def _ends(self) -> Any:
        """The places of the line ends, in order."""
        return np.flatnonzero(np.frombuffer(self._block, np.uint8) == ord("\n"))

    def line_of(self, row: int) -> int:
        """Return the number of the line of a row."""
        return int(np.searchsorted(self._ends, self._starts[row]))

    def text_of(self, row: int) -> bytes:
        """Return the line of a row, without its end."""
        start = self._starts[row]
        end = self._block.find(b"\n", start)
        return self._block[start : end if end >= 0 else None].rstrip(b"\r")


def lines_before(stream: pa.NativeFile, end: int) -> int:
    """Return the number of line ends in the first ``end`` bytes of a stream."""
    found = at = 0
    while at < end and (data := bytes(stream.read(min(BLOCK_BYTES, end - at)))):
        found, at = found + data.count(b"\n"), at + len(data)
    return found
