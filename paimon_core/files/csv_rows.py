"""CSV rows: reads CSV files with the parser of Arrow.

With ``multiline``, quoted values may contain line ends, and one task reads the whole file. Arrow accepts a quote that
is still open at the end of its input. So an end row, which is invalid, is added to the input: if the parser does not
report this row as invalid, it was read as a part of an open quote.
"""

from __future__ import annotations

import io
import re
import secrets
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv as pc_csv

from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.files.columns import Piece, Select
from paimon_core.files.file_format import FileFormat
from paimon_core.files.lines import BLOCK_BYTES
from paimon_core.files.text import CR_ONLY, TextSplit, has_cr
from paimon_core.files.text_types import parsed_types, with_zone_advice
from paimon_core.schema import DataField

_HEAD_BYTES = 1 << 20
"""The longest header line."""
_COLUMN = re.compile(r"(?:In )?CSV column #(\d+)")
_OPEN_QUOTE = "a quote is not closed"


def read_csv(text: TextSplit, select: Select, fields: Sequence[DataField]) -> Iterator[Piece]:
    """Yield the rows of a split of a CSV file; a file without a header has the columns ``fields``."""
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

    def parse(block: bytes) -> pa.Table:
        end = _EndRow(form, len(names))
        data = block + end.data
        options = pc_csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names)
        try:
            rows = pc_csv.read_csv(io.BytesIO(data), options, _parsing(form, end), conversion)
        except pa.ArrowInvalid as error:
            raise pa.ArrowInvalid(_explained(error, names, end)) from None
        if not end.is_found:
            raise InvalidRequest(f"{_OPEN_QUOTE}, or a value has line ends, which needs the option multiline")
        return rows

    if form.multiline:
        yield from _whole_file(text, names, conversion)
    else:
        yield from text.pieces(parse, skipped=int(form.header))


def _whole_file(text: TextSplit, names: Sequence[str], conversion: pc_csv.ConvertOptions) -> Iterator[Piece]:
    """Yield the rows of a file whose values may contain line ends; raises SchemaMismatch when a quote is not closed."""
    form, path = text.file_format, text.split.file.path
    end = _EndRow(form, len(names))
    options = pc_csv.ReadOptions(
        use_threads=False, block_size=BLOCK_BYTES, column_names=names, skip_rows=int(form.header)
    )
    first = 0
    with text.open() as stream:
        try:
            for batch in pc_csv.open_csv(_Extended(stream, end.data), options, _parsing(form, end), conversion):
                yield Piece.numbered(pa.table(batch), first)
                first += len(batch)
        except pa.ArrowInvalid as error:
            if "straddling" in str(error):
                size = BLOCK_BYTES >> 20
                raise SchemaMismatch(f"file {path}: a row is longer than {size} MiB, or {_OPEN_QUOTE}") from None
            raise SchemaMismatch(f"file {path}: {_explained(error, names, end)}") from None
    if not end.is_found:
        raise SchemaMismatch(f"file {path}: {_OPEN_QUOTE}")


class _EndRow:
    """A row with one column too many after the last row, and the handler that the parser calls for invalid rows.

    The parser calls it for this row (``is_found``) unless a quote is open.
    """

    def __init__(self, form: FileFormat, columns: int) -> None:
        special = dict.fromkeys(map(ord, form.delimiter + form.quote + form.escape))
        # The text is random, so that no row of a file can be equal to it.
        self.text = form.delimiter.join([str(secrets.randbits(128)).translate(special)] * (columns + 1))
        self.data = f"\n{self.text}\n".encode()
        self.is_found = False

    def __call__(self, row: pc_csv.InvalidRow) -> str:
        self.is_found = self.is_found or row.text == self.text
        return "skip" if self.text in row.text else "error"


class _Extended(io.RawIOBase):
    """A stream with more bytes after its end."""

    def __init__(self, stream: pa.NativeFile, more: bytes) -> None:
        self.stream, self.more = stream, more

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = bytes(self.stream.read(size if size >= 0 else None))
        if not data:
            data, self.more = self.more, b""
        return data


def _explained(error: Exception, names: Sequence[str], end: _EndRow) -> str:
    """Return the message of Arrow with the name of the column in place of its number, and without the end row."""
    message = str(error).partition(end.text[:10])[0].rstrip()
    return with_zone_advice(_COLUMN.sub(lambda found: f"column {names[int(found[1])]!r}", message))


def _header(text: TextSplit) -> list[str]:
    """Return the names in the first line of a CSV file; raises InvalidRequest when there is no such line."""
    form, path = text.file_format, text.split.file.path
    with text.open() as stream:
        head = bytes(stream.read(_HEAD_BYTES)).removeprefix(b"\xef\xbb\xbf")
    line = head[: head.find(b"\n") + 1] or head
    if has_cr(line):
        raise InvalidRequest(f"file {path}, line 1: {CR_ONLY}")
    if not line.strip() or len(line) == _HEAD_BYTES:
        raise InvalidRequest(f"file {path} has no header line; without a header, set the option header to False")
    try:
        read = pc_csv.ReadOptions(use_threads=False)
        names: list[str] = pc_csv.read_csv(io.BytesIO(line.rstrip(b"\r\n") + b"\n"), read, _parsing(form)).column_names
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InvalidRequest(f"file {path}: the header cannot be read: {error}") from None
    return names


def _parsing(form: FileFormat, end: _EndRow | None = None) -> pc_csv.ParseOptions:
    return pc_csv.ParseOptions(
        delimiter=form.delimiter,
        quote_char=form.quote or False,
        double_quote=bool(form.quote),
        escape_char=form.escape or False,
        newlines_in_values=form.multiline,
        invalid_row_handler=end,
    )
