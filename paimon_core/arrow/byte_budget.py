"""Byte budget: computes how many rows fit in a number of bytes, and cuts or joins rows into parts that fit.

Sizes are sizes of decoded rows. A dictionary column counts with the bytes of its decoded texts, because a merge, a
conversion or a caller decodes the column: 60,000 rows that share one text of 45 KB count as 2.7 GB, although the
dictionary has only 45 KB. Each part has at least one row, so a part exceeds the budget only when a single row exceeds
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

BATCH_BYTES = 16 << 20
"""The size of a batch of a data file, in bytes of decoded rows."""
_OFFSET_BYTES = 4
_SHORT_BYTES = 64
"""When no text of a dictionary is longer than this, all its rows count with the length of the longest text."""
_DICTIONARY = pa.dictionary(pa.int32(), pa.string()).id
_TEXTS = {pa.string(), pa.binary(), pa.large_string(), pa.large_binary()}
_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}

Sizes = npt.NDArray[np.int64]
"""The number of bytes of each row."""
Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)


def rows_for(budget: int, row_bytes: float, most: int) -> int:
    """Return how many rows of ``row_bytes`` bytes fit in ``budget`` bytes, at least 1 and at most ``most``."""
    return max(1, min(most, int(budget / max(row_bytes, 1))))


def decoded_bytes(rows: pa.RecordBatch | pa.Table) -> int:
    """Return the bytes of the rows with decoded dictionary columns.

    In a dictionary of short texts, each text counts with the length of the longest text.
    """
    encoded = [rows.column(at) for at, kind in enumerate(rows.schema.types) if _has_dictionary(kind)]
    return int(rows.nbytes + sum(_column_bytes(column) - column.nbytes for column in encoded))


def _column_bytes(column: pa.Array | pa.ChunkedArray) -> int:
    if not _has_dictionary(column.type):
        return int(column.nbytes)
    if isinstance(column, pa.ChunkedArray):
        return sum(map(_column_bytes, column.chunks))
    if pa.types.is_dictionary(column.type):
        longest = _longest(column.dictionary)
        if longest <= _SHORT_BYTES:
            return len(column) * longest
    return int(_sizes(column).sum())


def _longest(dictionary: pa.Array) -> int:
    """Return the bytes of the largest value of a dictionary."""
    if dictionary.type in _TEXTS:
        return int(pc.max(pc.binary_length(dictionary)).as_py() or 0) + _OFFSET_BYTES
    return int(_sizes(dictionary).max(initial=_OFFSET_BYTES))


def cut(rows: Rows, budget: int) -> Iterator[Rows]:
    """Yield the rows in order, without a copy, in parts of at most ``budget`` bytes of decoded rows."""
    if len(rows) < 2 or decoded_bytes(rows) <= budget:
        yield rows
        return
    for start, end in ranges(row_sizes(rows), budget):
        yield rows.slice(start, end - start)


def joined(tables: Iterable[pa.Table], budget: int) -> Iterator[pa.Table]:
    """Yield the rows of the tables, which have one schema, in order: adjacent tables become one table without a copy.

    The tables of a part hold about ``budget`` bytes of memory. A slice counts with the whole buffers that it keeps in
    memory, so slices of one row do not keep many large batches.
    """
    held: list[pa.Table] = []
    held_bytes = 0
    for table in tables:
        size = table.get_total_buffer_size()
        if held and held_bytes + size > budget:
            yield pa.concat_tables(held)
            held, held_bytes = [], 0
        held.append(table)
        held_bytes += size
    if held:
        yield pa.concat_tables(held)


def _has_dictionary(kind: pa.DataType) -> bool:
    members = kind.num_fields
    if not members:
        return bool(kind.id == _DICTIONARY)
    return any(_has_dictionary(kind.field(at).type) for at in range(members))


def ranges(sizes: Sizes, budget: int) -> Iterator[tuple[int, int]]:
    """Cut rows of ``sizes`` bytes into parts of at most ``budget`` bytes; yield (first row, end) of each part."""
    ends = np.cumsum(sizes)
    start = before = 0
    while start < len(sizes):
        end = max(start + 1, int(np.searchsorted(ends, before + budget, "right")))
        yield start, end
        start, before = end, int(ends[end - 1])


def row_sizes(rows: pa.RecordBatch | pa.Table) -> Sizes:
    """Return the number of decoded bytes of each row, without the null bitmaps."""
    found = np.zeros(len(rows), np.int64)
    same = 0
    for column in rows.columns:
        if isinstance(column, pa.ChunkedArray) and column.num_chunks == 1:
            column = column.chunk(0)
        width = _fixed_bytes(column)
        if width is not None:
            same += width
        elif isinstance(column, pa.Array) and column.type in _TEXTS:
            lengths = pc.binary_length(column)
            np.add(found, lengths.fill_null(0) if lengths.null_count else lengths, out=found)
            same += _OFFSET_BYTES
        else:
            found += _sizes(column)
    return found + same if same else found


def _fixed_bytes(column: pa.Array | pa.ChunkedArray) -> int | None:
    """Return the bytes that ``_sizes`` states for each row of an array of numbers or times; None for other columns."""
    if isinstance(column, pa.ChunkedArray) or not pa.types.is_primitive(column.type):
        return None
    return _mean_bytes(column)


def _mean_bytes(column: pa.Array) -> int:
    return int(-(-column.nbytes // max(len(column), 1)))


def _sizes(column: pa.Array | pa.ChunkedArray) -> Sizes:
    if isinstance(column, pa.ChunkedArray):
        return np.concatenate([np.zeros(0, np.int64), *map(_sizes, column.chunks)])
    kind = column.type
    if pa.types.is_dictionary(kind):
        sizes = np.append(_sizes(column.dictionary), _OFFSET_BYTES)
        return np.asarray(sizes[column.indices.cast(pa.int64()).fill_null(len(sizes) - 1).to_numpy()])
    if kind in _VIEWS:
        return _sizes(column.cast(_VIEWS[kind]))
    if kind in _TEXTS:
        return np.asarray(pc.binary_length(column).fill_null(0), np.int64) + _OFFSET_BYTES
    if pa.types.is_struct(kind):
        return sum((_sizes(column.field(at)) for at in range(kind.num_fields)), np.zeros(len(column), np.int64))
    if pa.types.is_map(kind):
        return _sizes_of_lists(column, [column.keys, column.items])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _sizes_of_lists(column, [column.values])
    return np.full(len(column), _mean_bytes(column), np.int64)


def _sizes_of_lists(column: pa.Array, items: list[pa.Array]) -> Sizes:
    offsets = column.offsets.to_numpy().astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    found = np.full(len(column), _OFFSET_BYTES, np.int64)
    for values in items:
        ends = np.append(0, np.cumsum(_sizes(values.slice(first, last - first))))
        found += np.diff(ends[offsets - first])
    return found
