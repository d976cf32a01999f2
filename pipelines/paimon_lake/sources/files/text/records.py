"""Records: where the records of a block of text begin and end, and which of them can be read.

A record is a line, or in CSV with ``multiline`` a row whose quoted cells may contain line ends. Quotes have the same
meaning as in Arrow's CSV reader: a cell is quoted when it begins with a quote; two quotes inside of a quoted cell are
one quote; text after the closing quote belongs to the cell.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_lake.sources.files.formats import FileFormat


@dataclass(frozen=True)
class Records:
    """Records of one block as UTF-8 bytes; ``lines`` are the numbers of their first lines in the block, from 0."""

    data: bytes
    starts: np.ndarray
    ends: np.ndarray
    """The ends of the records, without their line ends."""
    lines: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)

    def raw(self, at: int) -> bytes:
        """Return the bytes of one record."""
        return self.data[self.starts[at] : self.ends[at]]

    def take(self, positions: np.ndarray) -> Records:
        """Return some of the records; the bytes are shared."""
        return Records(self.data, self.starts[positions], self.ends[positions], self.lines[positions])

    def compact(self) -> Records:
        """Return copies of the records whose ``data`` contains only these records, each followed by a line feed."""
        ranges = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return joined([self.data[start:end] for start, end in ranges], self.lines)


def joined(raws: list[bytes], lines: np.ndarray) -> Records:
    """Return the records with the bytes ``raws`` and the lines ``lines``."""
    lengths = np.array([len(raw) for raw in raws], np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    return Records(b"".join([raw + b"\n" for raw in raws]), starts, starts + lengths, lines)


def records_of(data: bytes, file_format: FileFormat) -> Records:
    """Return the records of a block that are not empty."""
    ends = record_ends(data, file_format)
    starts = np.concatenate(([0], ends[:-1])) if len(ends) else ends
    buffer = np.frombuffer(data, np.uint8)
    stops = ends - (buffer[ends - 1] == 10)
    stops -= (stops > starts) & (buffer[np.maximum(stops - 1, 0)] == 13)
    lines = np.arange(len(ends))
    if file_format.multiline:
        lines = np.searchsorted(np.flatnonzero(buffer == 10), starts)
    kept = stops > starts
    return Records(data, starts[kept], stops[kept], lines[kept])


def record_count(data: bytes, file_format: FileFormat) -> int:
    """Return the number of records of a block that are not empty."""
    has_empty = data[:1] in (b"\n", b"\r") or b"\n\n" in data or b"\n\r" in data
    if has_empty or (file_format.multiline and file_format.quote and file_format.quote.encode() in data):
        return len(records_of(data, file_format))
    return count_lines(data)


def count_lines(data: bytes) -> int:
    """Return the number of lines, with empty lines and a last line without a line end."""
    return count_byte(data, b"\n") + (bool(data) and not data.endswith(b"\n"))


def count_byte(data: bytes, byte: bytes) -> int:
    """Return how often a byte occurs, faster than ``bytes.count``."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == byte[0])) if byte in data else 0


def record_ends(data: bytes, file_format: FileFormat) -> np.ndarray:
    """Return the end of each record, after its line end; the last record may have no line end."""
    buffer = np.frombuffer(data, np.uint8)
    newlines = np.flatnonzero(buffer == 10)
    if file_format.multiline and file_format.quote and file_format.quote.encode() in data:
        inside = _inside_quotes(buffer, newlines, file_format)
        if inside is None:
            found = grammar(file_format).record.finditer(data)
            return np.array([m.end() for m in found if m.end() > m.start()], np.int64)
        newlines = newlines[~inside]
    ends = newlines + 1
    return ends if (len(ends) and ends[-1] == len(data)) or not data else np.append(ends, len(data))


def cut_records(data: bytes, is_last: bool, file_format: FileFormat) -> int:
    """Return the end of the last whole record. When ``file_format`` is bound, this is a ``Cut``."""
    if is_last or not data:
        return len(data)
    ends = record_ends(data, file_format)
    if data.endswith(b"\n") and not _is_open(data, ends, file_format):
        return int(ends[-1])
    return int(ends[-2]) if len(ends) > 1 else 0


def _is_open(data: bytes, ends: np.ndarray, file_format: FileFormat) -> bool:
    """Whether the last record ends inside of a quoted cell."""
    start = int(ends[-2]) if len(ends) > 1 else 0
    return grammar(file_format).good.fullmatch(data[start:].rstrip(b"\r\n")) is None


def _inside_quotes(buffer: np.ndarray, newlines: np.ndarray, file_format: FileFormat) -> np.ndarray | None:
    """Return for each line end whether it is inside of a quoted cell; None if pairs of quotes do not show it."""
    quote, delimiter = ord(file_format.quote), ord(file_format.delimiter)
    if file_format.escape and (buffer == ord(file_format.escape)).any():
        return None
    quotes = np.flatnonzero(buffer == quote)
    before = np.where(quotes > 0, buffer[np.maximum(quotes - 1, 0)], 10)[0::2]
    after = np.where(quotes + 1 < len(buffer), buffer[np.minimum(quotes + 1, len(buffer) - 1)], 10)[1::2]
    opens = (before == delimiter) | (before == 10)
    # For this search, two quotes inside of a cell count as closing and opening the cell.
    opens[1:] |= (before[1:] == quote) & (np.diff(quotes)[1::2][: len(before) - 1] == 1)
    if not opens.all() or not np.isin(after, (delimiter, 10, 13, quote)).all():
        return None
    return np.asarray(np.searchsorted(quotes, newlines) % 2 == 1)


@dataclass(frozen=True)
class Grammar:
    """Regular expressions of one CSV format."""

    record: re.Pattern[bytes]
    """One record with its line end. A quoted cell may contain line ends; a cell that is not closed extends to the end
    of the data."""
    good: re.Pattern[bytes]
    """A record without its line end, in which every quote is closed."""
    cell: re.Pattern[bytes]
    """A cell of a record in which every quote is closed."""


@functools.cache
def grammar(file_format: FileFormat) -> Grammar:
    """Return the regular expressions of a CSV format."""
    d, q, e = (re.escape(c) for c in (file_format.delimiter, file_format.quote, file_format.escape))
    escaped = f"|{e}." if e else ""
    if not q:
        cell = rf"(?:[^{d}\r\n{e}]{escaped})*+"
        good = record = cell
    else:
        inner = rf"(?:[^{q}{e}]|{q}{q}{escaped})*+"
        rest, line = rf"(?:[^{d}\r\n{e}]{escaped})*+", rf"(?:[^{d}\n{e}]{escaped})*+"
        good = rf"(?:{q}{inner}{q}{rest}|(?!{q}){rest})"
        record = rf"(?:{q}{inner}(?:{q}{line})?+|(?!{q}){line})"
    return Grammar(
        re.compile(rf"{record}(?:{d}{record})*+\n?".encode(), re.DOTALL),
        re.compile(rf"{good}(?:{d}{good})*+".encode(), re.DOTALL),
        re.compile(good.encode(), re.DOTALL),
    )


def is_valid_utf8(data: bytes) -> bool:
    """Whether the bytes are valid UTF-8 by Arrow's check, which is fast."""
    offsets = pa.py_buffer(np.array([0, len(data)], np.int64))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(data)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def invalid_utf8(records: Records) -> list[int]:
    """Return the positions of the records that are not valid UTF-8; they are found by bisection."""

    def search(first: int, last: int) -> list[int]:
        if first >= last or is_valid_utf8(records.data[records.starts[first] : records.ends[last - 1]]):
            return []
        if last - first == 1:
            return [first]
        middle = (first + last) // 2
        return search(first, middle) + search(middle, last)

    return search(0, len(records))
