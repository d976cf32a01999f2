"""Blocks: read a split of a text file in blocks of whole lines.

A reader holds one block and the beginning of the next, each of about ``block_bytes``; a longer line is read whole, up
to ``LINE_BYTES``. The lines before a split are only counted when the number of a line is needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.formats import FileFormat, compression_of
from paimon_lake.sources.files.listing import open_source_file
from paimon_lake.sources.files.splits import FileSplit
from paimon_lake.sources.files.text.records import count_byte

BLOCK_BYTES = 4 << 20
LINE_BYTES = 64 << 20
"""The longest line or record that is read."""
_AFTER_BYTES = 64 << 10
_LONGER_BYTES = 16 << 20
BOM = b"\xef\xbb\xbf"

Cut = Callable[[bytes, bool], int]
"""Returns the end of the last whole line or record in the bytes; the flag is True when the file ends with the bytes."""


@dataclass(frozen=True)
class Block:
    """Whole lines as bytes of the file's encoding; ``line`` is the number of lines of the split before the block."""

    data: bytes
    line: int


@dataclass(frozen=True)
class TextFile:
    """One split of a text file that can be opened several times."""

    split: FileSplit
    file_format: FileFormat
    storage_options: Mapping[str, str] = field(repr=False)
    block_bytes: int = BLOCK_BYTES

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.split.file.path

    @functools.cached_property
    def compression(self) -> str | None:
        """The compression that the file name states."""
        return compression_of(self.path, self.file_format.kind)

    @contextmanager
    def open(self) -> Iterator[pa.NativeFile]:
        """Open the file's uncompressed bytes; raises PipelineError as ``open_source_file`` does."""
        with open_source_file(self.split.file, self.storage_options) as opened:
            yield opened if self.compression is None else pa.CompressedInputStream(opened, self.compression)

    def head(self, lines: int, cut: Cut) -> bytes:
        """Return the first bytes of the file: a BOM and ``lines`` whole lines, which come before the rows."""
        with self.open() as stream:
            data = self.read(stream, min(self.block_bytes, _AFTER_BYTES))
            bom = len(BOM) if data.startswith(BOM) else 0
            end, found, is_last = bom, 0, False
            while found < lines and not (is_last and end == len(data)):
                size = cut(data[end:], is_last) if not is_last else len(data) - end
                if size:
                    end, found = end + first_line(data[end:], cut), found + 1
                    continue
                more = self.read(stream, max(self.block_bytes, min(len(data), _LONGER_BYTES)))
                is_last, data = not more, data + more
                self._check(len(data) - end, found)
            return data[:end]

    def blocks(self, skipped: int, cut: Cut) -> Iterator[Block]:
        """Yield the lines of the split in blocks, without the first ``skipped`` bytes of the file."""
        start, end = self._bounds()
        if end is not None and end <= skipped:
            return
        lines = 0
        with self.open() as stream:
            for data in self._pieces(stream, max(start, skipped), end, start > skipped, cut):
                yield Block(data, lines)
                lines += count_byte(data, b"\n")

    def lines_before(self, skipped: int) -> int:
        """Return the number of lines before the first line of the split; reads the file up to the split."""
        start, _ = self._bounds()
        count = at = 0
        with self.open() as stream:
            stop = max(start - 1, skipped)
            while at < stop and (data := self.read(stream, min(self.block_bytes, stop - at))):
                count, at = count + count_byte(data, b"\n"), at + len(data)
        return count + (start > skipped)

    def _bounds(self) -> tuple[int, int | None]:
        """Return the first byte and the end of the split; the end is None for a file that is read whole."""
        whole = self.compression is not None or not self.file_format.is_splittable
        return (0, None) if whole else (self.split.start, self.split.end)

    def _pieces(self, stream: pa.NativeFile, at: int, end: int | None, is_inside: bool, cut: Cut) -> Iterator[bytes]:
        """Yield blocks of whole lines: all lines that begin at or after ``at`` and before ``end`` (None: all).

        With ``is_inside``, ``at`` may be inside of a line; this line belongs to the previous split and is skipped.
        """
        at = self._skip(stream, at - is_inside)
        data = b""
        while True:
            # The part that is read grows for a long line, so that the search for the end of the line is not repeated
            # often.
            longer = min(len(data), _LONGER_BYTES)
            wanted = max(longer, self.block_bytes if end is None or at + len(data) < end else _AFTER_BYTES)
            if end is not None and at + len(data) < end:
                wanted = min(wanted, end - at - len(data))
            more = self.read(stream, wanted)
            data += more
            if is_inside:
                newline = data.find(b"\n")
                if newline < 0 and more:
                    at, data = at + len(data), b""
                    continue
                at, data = (at + newline + 1, data[newline + 1 :]) if more else (at + len(data), b"")
                is_inside = False
                if end is not None and at >= end:
                    return
            if end is not None and at + len(data) >= end and (last := data.find(b"\n", max(0, end - 1 - at))) >= 0:
                yield data[: last + 1]
                return
            size = cut(data, not more)
            if size:
                yield data[:size]
                at, data = at + size, data[size:]
            if not more:
                if data:
                    yield data
                return
            self._check(len(data), None)

    def _skip(self, stream: pa.NativeFile, count: int) -> int:
        if self.compression is None:
            stream.seek(count)
            return count
        at = 0
        while at < count and (data := self.read(stream, min(count - at, self.block_bytes))):
            at += len(data)
        return at

    def read(self, stream: pa.NativeFile, size: int) -> bytes:
        """Return the next bytes, b"" at the end of the file.

        Raises PipelineError if the bytes cannot be read or unpacked.
        """
        try:
            return bytes(stream.read(size))
        except (OSError, EOFError, pa.ArrowInvalid) as error:
            raise PipelineError(f"file {self.path} cannot be read: {' '.join(str(error).split())}") from error

    def _check(self, size: int, line: int | None) -> None:
        if size > max(LINE_BYTES, self.block_bytes):
            where = "" if line is None else f" {line + 1}"
            raise PipelineError(
                f"file {self.path}: line{where} is longer than {LINE_BYTES >> 20} MiB: does it have line ends, and is "
                "every quote closed?"
            )


def cut_lines(data: bytes, is_last: bool) -> int:
    """Return the end of the last whole line. The function is a ``Cut``."""
    return len(data) if is_last else data.rfind(b"\n") + 1


def first_line(data: bytes, cut: Cut) -> int:
    """Return the end of the first line or record."""
    at = data.find(b"\n")
    while at >= 0:
        if cut(data[: at + 1], False) == at + 1:
            return at + 1
        at = data.find(b"\n", at + 1)
    return len(data)
