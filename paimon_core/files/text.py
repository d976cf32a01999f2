"""Text: parses the lines of a split of a text file in blocks, and names the line that a parser refuses.

Every value must fit its column: a line that does not fit raises SchemaMismatch, which names the file, the line and the
value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.files.columns import Piece
from paimon_core.files.file_format import FileFormat
from paimon_core.files.lines import line_blocks, line_of, lines_before, refused_line, row_count
from paimon_core.files.splits import FileSplit

_ROW_OF_PIECE = re.compile(r"Row #\d+: | in row \d+$")
"""The text in a message of Arrow that gives the number of the row in the parsed bytes."""
CR_ONLY = "the file has line ends CR: convert them to LF"


@dataclass(frozen=True)
class TextSplit:
    """A split of a text file; ``open`` opens the uncompressed bytes of the file."""

    split: FileSplit
    file_format: FileFormat
    open: Callable[[], AbstractContextManager[pa.NativeFile]]

    def pieces(self, parse: Callable[[bytes], pa.Table], *, skipped: int = 0) -> Iterator[Piece]:
        """Yield the rows of each block, without the first ``skipped`` lines of the file."""
        divided = self.file_format.is_divisible(self.split.file.path)
        line = 0
        with self.open() as stream:
            for block in line_blocks(stream, self.split, is_divided=divided):
                if skipped and line == 0 and self.split.start == 0:
                    line, block = 1, block[block.find(b"\n") + 1 or len(block) :]
                if row_count(block):
                    yield Piece(self._parsed(block, line, parse), partial(self._place, line, block))
                line += block.count(b"\n")

    def _parsed(self, block: bytes, line: int, parse: Callable[[bytes], pa.Table]) -> pa.Table:
        def checked(lines: bytes) -> pa.Table:
            rows = parse(lines)
            if len(rows) != row_count(lines):
                raise InvalidRequest(_not_one_row(lines, self.file_format.kind))
            return rows

        try:
            return checked(block)
        except (InvalidRequest, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            inner, message = refused_line(block, checked)
            refused = block.split(b"\n", inner + 1)[inner]
            quote = self.file_format.quote.encode() if self.file_format.kind == "csv" else b""
            is_quoted = bool(quote) and quote in refused
            message = CR_ONLY if has_cr(refused) and not is_quoted else _ROW_OF_PIECE.sub("", message)
            number = self._lines_before() + line + inner + 1
            raise SchemaMismatch(f"file {self.split.file.path}, line {number}: {message}") from None

    def _place(self, line: int, block: bytes, row: int) -> str:
        return f"line {self._lines_before() + line + line_of(block, row) + 1}"

    def _lines_before(self) -> int:
        if not self.split.start:
            return 0
        with self.open() as stream:
            return lines_before(stream, self.split.start - 1) + 1


def has_cr(lines: bytes) -> bool:
    """Whether a CR is inside a line, so that a parser of Arrow takes it as the end of a line."""
    return b"\r" in lines.rstrip(b"\r\n").replace(b"\r\n", b"")


def _not_one_row(lines: bytes, kind: str) -> str:
    if has_cr(lines):
        return CR_ONLY
    if kind == "json":
        return "the line has more than one object: each line must be one object"
    return "the line is not one row of csv: a value with line ends needs the option multiline"
