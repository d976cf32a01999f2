"""Readable rows: splits or refuses rows before they are written, so that readers accept the files.

Before readers decode a file, ``codec.parquet.page_checks`` or ``codec.orc.length_checks`` check it. The Parquet encoder
ends a page only after ``BATCH_VALUES`` values, so a page of long texts may have more unpacked bytes than PAGE_BYTES,
and a nested column of a row group may have more values than ROW_VALUES. Readers refuse such a page or column when its
compression ratio is very high. So writers put the rows of such pages and columns into several row groups. Other row
groups are not split.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import InvalidRequest
from paimon_core.limits import PAGE_BYTES, PAGE_RATIO, ROW_VALUES, check_limit

BATCH_VALUES = 1024
"""The values after which the encoder checks the size of a page; the default of Arrow."""
TEXT_BYTES = 16 << 20
"""Length in bytes above which the texts of ORC files are checked: the statistics of a file repeat long texts."""
_TEXTS = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary)


def readable_parts(rows: pa.Table, codec: str) -> Iterator[pa.Table]:
    """Yield the rows in parts, each for one row group of Parquet; raises InvalidRequest as ``check_values`` does."""
    if all(_fits(column) for column in rows.columns):
        yield rows
    elif len(rows) > 1:
        half = len(rows) // 2
        yield from readable_parts(rows.slice(0, half), codec)
        yield from readable_parts(rows.slice(half), codec)
    else:
        check_values(rows, codec, PAGE_BYTES)
        yield rows


def check_values(rows: pa.Table, codec: str, most_bytes: int) -> None:
    """Raise InvalidRequest, which names the column, for a value that readers would refuse.

    Readers refuse an array or a map with more than ROW_VALUES values, and a text of more than ``most_bytes`` bytes that
    ``codec`` compresses by more than a factor of PAGE_RATIO.
    """
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        for chunk in column.chunks:
            if pa.types.is_nested(chunk.type):
                check_limit(f"a value of column {name!r}", _most_members(chunk), ROW_VALUES, "members")
            elif _is_text(chunk.type) and chunk.nbytes > most_bytes:
                lengths = pc.binary_length(chunk)
                for at in pc.indices_nonzero(pc.greater(lengths, most_bytes)).to_pylist():
                    _check_text(name, chunk[at].as_buffer(), codec)


def _check_text(name: str, text: pa.Buffer, codec: str) -> None:
    packed = text.size if codec in ("none", "uncompressed") else len(pa.Codec(_NAMES.get(codec, codec)).compress(text))
    if text.size > PAGE_RATIO * packed:
        raise InvalidRequest(
            f"a value of column {name!r} has {text.size} bytes, which {codec} packs to {packed}: readers "
            f"refuse a text of this length that is packed to less than 1/{PAGE_RATIO} of its bytes",
            column=name,
        )


_NAMES = {"zlib": "gzip", "lz4": "lz4_raw"}


def _fits(column: pa.ChunkedArray) -> bool:
    dtype = column.type
    nested = pa.types.is_nested(dtype)
    if nested and sum(map(_values, column.chunks)) > ROW_VALUES:
        return False
    if column.nbytes <= PAGE_BYTES // 2 or not _has_texts(dtype):
        return True
    longest = None if nested else pc.max(pc.binary_length(column)).as_py() or 0
    return longest is not None and bool(BATCH_VALUES * longest <= PAGE_BYTES // 2)


def _is_text(dtype: pa.DataType) -> bool:
    return any(test(dtype) for test in _TEXTS)


def _has_texts(dtype: pa.DataType) -> bool:
    if pa.types.is_nested(dtype):
        return any(_has_texts(dtype.field(at).type) for at in range(dtype.num_fields))
    return _is_text(dtype)


def _members(array: Any) -> list[Any]:
    """Return the child arrays of a nested array: keys and values, elements, or fields; [] for any other array."""
    if pa.types.is_map(array.type):
        start, end = (array.offsets[at].as_py() for at in (0, len(array)))
        return [array.keys.slice(start, end - start), array.items.slice(start, end - start)]
    if pa.types.is_nested(array.type):
        flat = array.flatten()
        return list(flat) if isinstance(flat, list) else [flat]
    return []


def _values(array: Any) -> int:
    """Return the number of values of the longest array among ``array`` and its nested child arrays."""
    return max([len(array), *map(_values, _members(array))])


def _most_members(array: Any) -> int:
    """Return the largest number of nested values in a row of an array; 0 when no row can have more than ROW_VALUES."""
    if _values(array) <= ROW_VALUES:
        return 0
    return max(_values(array.slice(at, 1)) for at in range(len(array)))
