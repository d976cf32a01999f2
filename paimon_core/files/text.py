"""Text: parses the lines of a split of a text file in blocks, and names the line that a parser refuses.

Every value must fit its column: a line that does not fit raises SchemaMismatch, which names the file, the line and the
value, or it goes to the receiver of such rows.
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
from paimon_core.files.lines import REFUSALS, Rows, halves, line_blocks, lines_before, refused_line, row_count
from paimon_core.files.rejects import Receiver, rejected
from paimon_core.files.splits import FileSplit

_ROW_OF_PIECE = re.compile(r"Row #\d+: | in row \d+$")
"""The text in a message of Arrow that gives the number of the row in the parsed bytes."""
CR_ONLY = "the file has line ends CR: convert them to LF"


Parse = Callable[[bytes], pa.Table]
Explain = Callable[[bytes, str], str]


@dataclass(frozen=True)
class TextSplit:
    """A split of a text file; ``open`` opens the uncompressed bytes of the file."""

    split: FileSplit
    file_format: FileFormat
    open: Callable[[], AbstractContextManager[pa.NativeFile]]
    receive: Receiver | None = None
    """Takes the lines that do not fit; without it such a line is an error."""

    def pieces(
        self,
        parse: Callable[[bytes], pa.Table],
        *,
        skipped: int = 0,
        explain: Callable[[bytes, str], str] | None = None,
    ) -> Iterator[Piece]:
        """Yield the rows of each block, without the first ``skipped`` lines of the file.

        ``explain`` returns a better message than the parser's for a line that it refuses.
        """

        def checked(lines: bytes) -> pa.Table:
            rows = parse(lines)
            if len(rows) != row_count(lines):
                raise InvalidRequest(_not_one_row(lines, self.file_format.kind))
            return rows

        divided = self.file_format.is_divisible(self.split.file.path)
        line = 0
        with self.open() as stream:
            for block in line_blocks(stream, self.split, is_divided=divided):
                if skipped and line == 0 and self.split.start == 0:
                    line, block = 1, block[block.find(b"\n") + 1 or len(block) :]
                if row_count(block):
                    yield from self._parsed(block, line, checked, explain or _unchanged)
                line += block.count(b"\n")

    def _parsed(self, block: bytes, line: int, parse: Parse, explain: Explain) -> Iterator[Piece]:
        """Yield the rows of a block; ``line``: the number of its first line in the split, from 0."""
        rest = [(line, block)]
        while rest:
            line, block = rest.pop()
            try:
                rows = parse(block)
            except REFUSALS as error:
                if self.receive is not None and row_count(block) > 1:
                    rest += [(line + before, half) for before, half in halves(block)]
                    continue
                found = (Rows(block).line_of(0), str(error)) if self.receive is not None else None
                inner, message = found or refused_line(block, parse)
                refused = block.split(b"\n", inner + 1)[inner]
                self._refuse(refused, line + inner, explain(refused, message))
            else:
                lines = Rows(block)
                yield Piece(rows, partial(self._place, line, lines), partial(_line, lines))

    def _refuse(self, refused: bytes, line: int, message: str) -> None:
        """Pass a line on to the receiver.

        Raises SchemaMismatch without a receiver, and for a line whose row may go on in the next line.
        """
        quote = self.file_format.quote.encode() if self.file_format.kind == "csv" else b""
        is_quoted = bool(quote) and quote in refused
        path, place = self.split.file.path, f"line {self._lines_before() + line + 1}"
        has_line_ends = has_cr(refused) and not is_quoted
        message = CR_ONLY if has_line_ends else _ROW_OF_PIECE.sub("", message)
        if self.receive is None or has_line_ends or (is_quoted and refused.count(quote) % 2):
            raise SchemaMismatch(f"file {path}, {place}: {message}") from None
        self.receive(rejected(path, place, message, _text(refused)))

    def _place(self, line: int, lines: Rows, row: int) -> str:
        return f"line {self._lines_before() + line + lines.line_of(row) + 1}"

    def _lines_before(self) -> int:
        if not self.split.start:
            return 0
        with self.open() as stream:
            return lines_before(stream, self.split.start - 1) + 1


def _line(lines: Rows, row: int) -> str:
    return _text(lines.text_of(row))


def _text(line: bytes) -> str:
    return line.rstrip(b"\r").decode(errors="backslashreplace")


def _unchanged(_: bytes, message: str) -> str:
    return message


def has_cr(lines: bytes) -> bool:
    """Whether a CR is inside a line, so that a parser of Arrow takes it as the end of a line."""
    return b"\r" in lines.rstrip(b"\r\n").replace(b"\r\n", b"")


def _not_one_row(lines: bytes, kind: str) -> str:
    if has_cr(lines):
        return CR_ONLY
    if kind == "json":
        return "the line has more than one object: each line must be one object"
    return "the line is not one row of csv: a value with line ends needs the option multiline"
