"""CSV rows: read blocks of CSV as rows of a table.

Arrow splits a block into columns of texts, which ``text_values`` converts. Rows with a wrong number of columns, lines
that are not UTF-8 and lines with an unclosed quote are rejected; the other rows of the block are read. Empty lines are
skipped. An unquoted ``null_value`` is null; a quoted ``null_value`` is null as well, except in text columns.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc_csv

from paimon_core.types import DataType
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.columns import exact_type, match_columns
from paimon_lake.sources.files.formats import FileFormat
from paimon_lake.sources.files.rejects import Parsed, Reject, no_rejects, shown
from paimon_lake.sources.files.row_builder import RowBuilder, one_chunk
from paimon_lake.sources.files.text.blocks import BOM, Block, Cut, TextFile, cut_lines
from paimon_lake.sources.files.text.lost_records import Lost, decoded, lost_batch
from paimon_lake.sources.files.text.records import (
    Records,
    count_byte,
    count_lines,
    cut_records,
    grammar,
    record_count,
    records_of,
)
from paimon_lake.sources.files.text.text_values import TextRules, bad_value, convert_text, is_text_type

NOT_CLOSED = "a quote is not closed on its line"
NOT_CLOSED_IN_FILE = "a quote is not closed before the end of the file"
LONE_RETURN = "a carriage return is not followed by a line feed"


def read_csv(file: TextFile, schema: pa.Schema, required: Collection[str]) -> Iterator[Parsed]:
    """Yield the rows and rejects of each block of a split."""
    for column in schema:
        if not is_text_type(exact_type(column)):
            raise PipelineError(
                f"file {file.path}: a csv file cannot contain the column {column.name!r} of the type "
                f"{exact_type(column)}; use jsonl"
            )
    cut = cut_of(file.file_format)
    names, skipped = read_header(file)
    if file.file_format.header and not names:
        return
    names = names or list(schema.names)
    form = file.file_format
    matched = match_columns(
        file.path,
        names,
        schema,
        required,
        ignore_extra=form.ignore_extra_columns,
        allow_missing=form.allow_missing_columns,
    )
    parser = _Parser(file, schema, required, len(names), matched.positions, skipped)
    for block in file.blocks(skipped, cut):
        parsed = parser.parse(block)
        if parsed.read or parsed.rows.num_rows or parsed.rejects.num_rows:
            yield replace(parsed, extra=matched.extra)


def cut_of(file_format: FileFormat) -> Cut:
    """Return the function that finds the end of the last whole record in a block."""
    return functools.partial(cut_records, file_format=file_format) if file_format.multiline else cut_lines


def read_header(file: TextFile) -> tuple[list[str], int]:
    """Return the column names ([] without a header), and the number of bytes before the first row.

    Raises PipelineError when the header cannot be read.
    """
    file_format = file.file_format
    cut = cut_of(file_format)
    before = file.head(file_format.skip_lines, cut_lines) if file_format.skip_lines or not file_format.header else b""
    if not file_format.header:
        return [], len(before)
    head = file.head(file_format.skip_lines + 1, cut if not file_format.skip_lines else cut_lines)
    line = head[len(before) :].removeprefix(BOM if not file_format.skip_lines else b"").rstrip(b"\r\n")
    if not head[len(before) :]:
        return [], len(head)
    try:
        text = line.decode("utf-8" if file_format.is_utf8 else file_format.encoding)
    except UnicodeDecodeError:
        raise PipelineError(f"file {file.path}: the header is not valid {file_format.encoding}") from None
    if not text or grammar(file_format).good.fullmatch(text.encode()) is None:
        raise PipelineError(
            f"file {file.path}: the line {shown(text)} is not a header; are header and skip_lines right?"
        )
    return _texts_of(text.encode(), file_format), len(head)


def _texts_of(record: bytes, file_format: FileFormat) -> list[str]:
    """Return the texts of the cells of a record whose quotes are closed.

    Arrow parses each cell as a separate row with one column, because for one row of n columns Arrow would allocate n
    times the size of the row.
    """
    cell, at, cells = grammar(file_format).cell, 0, []
    while (found := cell.match(record, at)) is not None:
        cells.append(found[0])
        at = found.end() + 1
        if at > len(record):
            break
    data = b"\n".join([*cells, b""])
    read = pc_csv.ReadOptions(column_names=["cell"], use_threads=False, block_size=max(len(data) + 1, 64))
    convert = pc_csv.ConvertOptions(
        column_types={"cell": pa.string()}, null_values=[], strings_can_be_null=False, auto_dict_encode=False
    )
    texts: list[str] = _parse_texts(data, file_format, read, convert, is_empty_kept=True)["cell"].to_pylist()
    return texts


def _parse_texts(
    data: bytes,
    file_format: FileFormat,
    read: pc_csv.ReadOptions,
    convert: pc_csv.ConvertOptions,
    bad_row: Callable[[pc_csv.InvalidRow], str] | None = None,
    *,
    is_empty_kept: bool = False,
) -> pa.Table:
    parse = pc_csv.ParseOptions(
        delimiter=file_format.delimiter,
        quote_char=file_format.quote or False,
        double_quote=bool(file_format.quote),
        escape_char=file_format.escape or False,
        newlines_in_values=file_format.multiline,
        ignore_empty_lines=not is_empty_kept,
        invalid_row_handler=bad_row,
    )
    return pc_csv.read_csv(pa.BufferReader(data), read_options=read, parse_options=parse, convert_options=convert)


@dataclass(frozen=True)
class _Cells:
    """The texts of the columns of the table that the file has, and the rows with a wrong number of cells."""

    columns: dict[int, pa.Array]
    wrong: list[Reject]
    count: int
    """The number of rows with the right number of cells."""


@dataclass
class _Parser:
    file: TextFile
    schema: pa.Schema
    required: Collection[str]
    width: int
    positions: tuple[int | None, ...]
    skipped: int

    def __post_init__(self) -> None:
        self.kinds = tuple(exact_type(column) for column in self.schema)
        form = self.file.file_format
        self.rules = TextRules(form.null_value, form.date_format, form.timestamp_format, form.decimal_point)

    def parse(self, block: Block) -> Parsed:
        """Return the rows and rejects of one block."""
        file_format = self.file.file_format
        records, lost = decoded(block.data, file_format)
        read = len(lost) + (record_count(block.data, file_format) if records is None else len(records))
        data = block.data if records is None else records.data
        cells = self._cells(data)
        if cells is None:
            records = records_of(data, file_format) if records is None else records
            records, unreadable = self._readable(records)
            lost += unreadable
            data = records.data
            cells = self._cells(data, is_checked=True)
        if cells is None:
            raise PipelineError(
                f"file {self.file.path}: Arrow cannot divide the text into rows of {self.width} columns"
            )
        rows = np.delete(np.arange(cells.count + len(cells.wrong)), [reject.row for reject in cells.wrong])
        builder = self._rows(cells)
        if not (lost or cells.wrong or builder.rejects):
            return Parsed(builder.rows(), no_rejects(), read)
        records = records_of(data, file_format) if records is None else records
        found = [*cells.wrong, *(replace(reject, row=int(rows[reject.row])) for reject in builder.rejects)]
        lost += [Lost(int(records.lines[r.row]), r.column, r.reason, records.raw(r.row)) for r in found]
        return Parsed(builder.rows(), lost_batch(self.file, lost, self.lines_before + block.line), read)

    @functools.cached_property
    def lines_before(self) -> int:
        """The number of lines of the file before the split."""
        return self.file.lines_before(self.skipped)

    def _cells(self, data: bytes, *, is_checked: bool = False) -> _Cells | None:
        """Divide UTF-8 text into cells; None when the rows that Arrow finds are not the records of the text."""
        file_format = self.file.file_format
        if data[:1] in (b"", b"\n", b"\r") and not data.strip(b"\r\n"):
            return _Cells({}, [], 0)
        if not is_checked and count_byte(data, b"\r") != (data.count(b"\r\n") if b"\r" in data else 0):
            return None
        lines = count_lines(data)
        special = [c.encode() for c in (file_format.quote, file_format.escape) if c]
        plain, guarded = data, any(character in data for character in special)
        if guarded:
            # Append a row of known cells: when a quote is not closed, this row becomes part of a cell and is missing in
            # the result.
            end = b"" if data.endswith(b"\n") else b"\n"
            data = data + end + b"0" + file_format.delimiter.encode() * (self.width - 1) + b"\n"
        wrong: list[Reject] = []

        def bad_row(row: pc_csv.InvalidRow) -> str:
            reason = f"{row.actual_columns} columns instead of {row.expected_columns}"
            wrong.append(Reject(row.number - 1, None, reason))
            return "skip"

        names = [f"f{at}" for at in range(self.width)]
        used = [at for at in self.positions if at is not None] or [0]
        read = pc_csv.ReadOptions(column_names=names, use_threads=False, block_size=max(len(data) + 1, 64))
        convert = pc_csv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=[names[at] for at in used],
            null_values=list(file_format.null_value),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        try:
            table = _parse_texts(data, file_format, read, convert, bad_row)
        except pa.ArrowInvalid:
            return None
        total = len(table) + len(wrong) - guarded
        if total != lines and total != len(records_of(plain, file_format)):
            return None
        if guarded and (total < 0 or (wrong and wrong[-1].row >= total)):
            return None
        texts = table.slice(0, len(table) - guarded).combine_chunks()
        columns = {at: one_chunk(texts[names[at]]) for at in used}
        return _Cells(columns, wrong, len(texts))

    def _readable(self, records: Records) -> tuple[Records, list[Lost]]:
        """Return the records with closed quotes and without lone carriage returns, and the other records as rejects."""
        file_format = self.file.file_format
        good = grammar(file_format).good.fullmatch
        special = b"".join(c.encode() for c in (file_format.quote, file_format.escape, "\r") if c)
        suspect = re.compile(b"[" + re.escape(special) + b"]").search
        lost, kept = list[Lost](), []
        for at in range(len(records)):
            raw = records.raw(at)
            if not suspect(raw) or good(raw):
                kept.append(at)
                continue
            lone = b"\r" in raw and good(raw.replace(b"\r", b" "))
            closed = NOT_CLOSED_IN_FILE if file_format.multiline else NOT_CLOSED
            lost.append(Lost(int(records.lines[at]), None, LONE_RETURN if lone else closed, raw))
        return records.take(np.array(kept, np.int64)).compact(), lost

    def _rows(self, cells: _Cells) -> RowBuilder:
        builder = RowBuilder(self.schema, self.required, cells.count)
        for kind, at in zip(self.kinds, self.positions, strict=True):
            texts = cells.columns.get(-1 if at is None else at)
            if texts is None:
                builder.add(pa.nulls(cells.count, kind.to_arrow()), None, str)
                continue
            values, bad = convert_text(texts, kind, self.rules)
            builder.add(values, bad, functools.partial(self._reason, texts, kind))
        return builder

    def _reason(self, texts: pa.Array, kind: DataType, row: int) -> str:
        return bad_value(texts[row].as_py(), kind, self.rules)
