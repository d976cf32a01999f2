"""JSON records: the lines of a block that are JSON objects, and Arrow's reading of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from paimon_lake.sources.files.rejects import Parsed
from paimon_lake.sources.files.text.blocks import TextFile, cut_lines
from paimon_lake.sources.files.text.lost_records import Lost, decoded
from paimon_lake.sources.files.text.records import Records

_INEXACT = r"[0-9.]{39}|[:,\[\s\"][+-]?[0-9]+\.?[0-9]*[eE][+-]?[0-9]"
"""Numbers that Arrow may read wrongly as a decimal: with more than 38 digits, or with an exponent."""

Parse = Callable[[Records, list[Lost], Callable[[], int]], Parsed]
"""Parses the records of a block. The second argument has the records that could not be decoded. The third argument
returns the number of lines before the block.
"""


def read_lines(file: TextFile, parse: Parse) -> Iterator[Parsed]:
    """Yield the result of ``parse`` for each block of a split, if it has rows, rejects or skipped events."""
    skipped = len(file.head(0, cut_lines))

    @functools.cache
    def lines_before() -> int:
        return file.lines_before(skipped)

    for block in file.blocks(skipped, cut_lines):
        records, lost = decoded(block.data, file.file_format)
        records = plain_records(block.data) if records is None else records
        parsed = parse(records, lost, lambda line=block.line: lines_before() + line)  # type: ignore[misc]
        if parsed.rows.num_rows or parsed.rejects.num_rows or parsed.skipped:
            yield parsed


def plain_records(data: bytes) -> Records:
    """Return the lines of UTF-8 text that are not empty."""
    buffer = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(buffer == 10)
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate(([0], ends[:-1] + 1))
    stops = ends - ((ends > starts) & (buffer[np.maximum(ends - 1, 0)] == 13))
    kept = stops > starts
    return Records(data, starts[kept], stops[kept], np.flatnonzero(kept))


def inexact(records: Records) -> np.ndarray:
    """Return the positions of the records with a number that Arrow may read wrongly as a decimal."""
    if not len(records) or not is_inexact(records.data):
        return np.arange(0)
    return np.flatnonzero(pc.match_substring_regex(as_lines(records), _INEXACT).to_numpy(zero_copy_only=False))


def as_lines(records: Records) -> pa.Array:
    """Return each record as a binary value that begins with the record, and ends where the next record begins."""
    if not len(records):
        return pa.array([], pa.large_binary())
    offsets = pa.py_buffer(np.append(records.starts, records.ends[-1]).astype(np.int64))
    return pa.Array.from_buffers(pa.large_binary(), len(records), [None, offsets, pa.py_buffer(records.data)])


def records_with(records: Records, texts: Collection[str]) -> np.ndarray:
    """Return the positions of the records that contain one of the texts."""
    present = [text.encode() for text in texts if text.encode() in records.data]
    raws = [records.raw(at) for at in range(len(records))] if present else []
    return np.array([at for at, raw in enumerate(raws) if any(text in raw for text in present)], np.int64)


def is_inexact(data: bytes) -> bool:
    """Whether the bytes have a number that Arrow may read wrongly as a decimal."""
    return bool(pc.match_substring_regex(pa.array([data], pa.large_binary()), _INEXACT)[0].as_py())


def bytes_of(records: Records, positions: np.ndarray) -> bytes:
    """Return some of the records as lines. The bytes between consecutive records must be a line end."""
    runs = np.split(positions, np.flatnonzero(np.diff(positions) != 1) + 1)
    return b"\n".join([records.data[records.starts[run[0]] : records.ends[run[-1]]] for run in runs])


def read_by_arrow(data: bytes, parse: pa_json.ParseOptions) -> pa.Table:
    """Read lines of JSON objects; raises ArrowInvalid when Arrow refuses a line."""
    read = pa_json.ReadOptions(use_threads=False, block_size=len(data) + 1)
    return pa_json.read_json(pa.BufferReader(data), read_options=read, parse_options=parse)


def trimmed(records: Records) -> Records:
    """Return the records without spaces around them; records of only spaces are left out."""
    if has_braces(records).all():
        return records
    raws = [records.raw(at).strip(b" \t\r") for at in range(len(records))]
    kept = np.array([at for at, raw in enumerate(raws) if raw], np.int64)
    lengths = np.array([len(raws[at]) for at in kept], np.int64)
    starts = np.array([records.data.index(raws[at], records.starts[at]) for at in kept], np.int64)
    return Records(records.data, starts, starts + lengths, records.lines[kept])


def has_braces(records: Records) -> np.ndarray:
    """Return flags for the records that begin and end with a brace, as every object does."""
    if not len(records):
        return np.zeros(0, bool)
    buffer = np.frombuffer(records.data, np.uint8)
    return np.asarray((buffer[records.starts] == ord("{")) & (buffer[records.ends - 1] == ord("}")))
