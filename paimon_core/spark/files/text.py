"""Text: reads CSV files and JSON files, which have one object on each line, with the parsers of Arrow.

Every value must fit its column: a line that does not fit raises SchemaMismatch, which names the file, the line and the
value. With ``multiline``, quoted values of CSV may contain line ends, and one task reads the whole file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.json as pa_json

from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.schema import DataField
from paimon_core.spark.files.columns import Piece, Select
from paimon_core.spark.files.file_format import FileFormat
from paimon_core.spark.files.lines import BLOCK_BYTES, line_blocks, line_of, lines_before, refused_line, row_count
from paimon_core.spark.files.splits import FileSplit
from paimon_core.spark.files.text_types import converted, parsed_types

_ROW_OF_PIECE = re.compile(r"Row #\d+: | in row \d+$")
"""What a message of Arrow says about the row in the parsed bytes."""
_HEAD_BYTES = 1 << 20
"""The longest header line."""


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
                raise InvalidRequest(f"the line is not one row of {self.file_format.kind}: is a quote not closed?")
            return rows

        try:
            return checked(block)
        except (InvalidRequest, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            inner, message = refused_line(block, checked)
            message = _ROW_OF_PIECE.sub("", message)
            number = self._lines_before() + line + inner + 1
            raise SchemaMismatch(f"file {self.split.file.path}, line {number}: {message}") from None

    def _place(self, line: int, block: bytes, row: int) -> str:
        return f"line {self._lines_before() + line + line_of(block, row) + 1}"

    def _lines_before(self) -> int:
        if not self.split.start:
            return 0
        with self.open() as stream:
            return lines_before(stream, self.split.start - 1) + 1


def read_csv(text: TextSplit, select: Select, fields: Sequence[DataField]) -> Iterator[Piece]:
    """Yield the rows of a split of a CSV file; without a header, its columns are ``fields``."""
    form = text.file_format
    names = _header(text) if form.header else [field.name for field in fields]
    chosen = set(select(names))
    types = parsed_types([field for field in fields if field.name in chosen], form)
    conversion = pc_csv.ConvertOptions(
        column_types=types,
        include_columns=list(types),
        null_values=list(form.null_value),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        timestamp_parsers=[form.timestamp_format] if form.timestamp_format else None,
    )

    def options(size: int, skipped: int = 0) -> pc_csv.ReadOptions:
        return pc_csv.ReadOptions(use_threads=False, block_size=size, column_names=names, skip_rows=skipped)

    def parse(block: bytes) -> pa.Table:
        return pc_csv.read_csv(io.BytesIO(block), options(len(block) + 1), _parsing(form), conversion)

    if not form.multiline:
        yield from text.pieces(parse, skipped=int(form.header))
        return
    first = 0
    with text.open() as stream:
        for batch in pc_csv.open_csv(stream, options(BLOCK_BYTES, int(form.header)), _parsing(form), conversion):
            yield Piece.numbered(pa.table(batch), first)
            first += len(batch)


def _header(text: TextSplit) -> list[str]:
    """Return the names in the first line of a CSV file; raises InvalidRequest when there is no such line."""
    form, path = text.file_format, text.split.file.path
    with text.open() as stream:
        head = bytes(stream.read(_HEAD_BYTES)).removeprefix(b"\xef\xbb\xbf")
    line = head[: head.find(b"\n") + 1] or head
    if not line.strip() or len(line) == _HEAD_BYTES:
        raise InvalidRequest(f"file {path} has no header line; without a header, set the option header to False")
    try:
        read = pc_csv.ReadOptions(use_threads=False)
        names: list[str] = pc_csv.read_csv(io.BytesIO(line.rstrip(b"\r\n") + b"\n"), read, _parsing(form)).column_names
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InvalidRequest(f"file {path}: the header cannot be read: {error}") from None
    return names


def _parsing(form: FileFormat) -> pc_csv.ParseOptions:
    return pc_csv.ParseOptions(
        delimiter=form.delimiter,
        quote_char=form.quote or False,
        double_quote=bool(form.quote),
        escape_char=form.escape or False,
        newlines_in_values=form.multiline,
    )


def read_json(text: TextSplit, fields: Sequence[DataField], *, ignores: bool) -> Iterator[Piece]:
    """Yield the rows of a split of a JSON file; ``ignores``: whether members without a field are left out."""
    types = parsed_types(fields, text.file_format)
    options = pa_json.ParseOptions(
        explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore" if ignores else "error"
    )

    def parse(block: bytes) -> pa.Table:
        if block.lstrip()[:1] == b"[":
            raise InvalidRequest("the line is a JSON array: each line must be one object")
        read = pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        return converted(
            pa_json.read_json(io.BytesIO(block), read, options).select(list(types)), fields, text.file_format
        )

    yield from text.pieces(parse)
