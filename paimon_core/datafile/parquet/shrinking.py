"""Shrinking: finds the columns of numbers that compression hardly makes smaller; a file stores them uncompressed.

Packing such a column takes longer than encoding it, and each reader unpacks it again. The codec is stated for each
column chunk in the footer, so every reader of Parquet reads these files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

LEAST_ROWS = 1 << 18
"""The minimum number of rows of the first row group; in smaller files all columns are compressed, because the sample
would take too large a part of the time.
"""
_SLICE_ROWS = 1 << 13
"""The rows of each of the two slices of the sample; together about a page, because each page is compressed alone."""
_SHRINKS = 15 / 16
"""A column is compressed if compression saves a sixteenth of its bytes.

Unpacking then takes about as long as reading the saved bytes at 100 MB/s.
"""


def shrinking_little(rows: pa.Table, names: Sequence[str], settings: Mapping[str, Any]) -> list[str]:
    """Return the columns among ``names`` that compression makes smaller by less than a sixteenth.

    ``rows``: the first row group, of which two slices are compressed. ``settings``: keyword arguments of
    ``pyarrow.parquet.ParquetWriter``.
    """
    if len(rows) < LEAST_ROWS or not names or settings["compression"] in ("none", "uncompressed"):
        return []
    slices = [rows.select(names).slice(len(rows) * at // 3, _SLICE_ROWS) for at in (1, 2)]
    sample = pa.concat_tables(slices)
    collected: list[pq.FileMetaData] = []
    encodings = settings["column_encoding"] or {}
    own = {
        **settings,
        "use_dictionary": False,
        "write_statistics": False,
        "column_encoding": {n: e for n, e in encodings.items() if n in sample.column_names} or None,
    }
    with pq.ParquetWriter(pa.BufferOutputStream(), sample.schema, metadata_collector=collected, **own) as writer:
        writer.write_table(sample, len(sample))
    group = collected[0].row_group(0)
    chunks = [group.column(at) for at in range(group.num_columns)]
    return [
        name
        for name, chunk in zip(sample.column_names, chunks, strict=True)
        if chunk.total_compressed_size > _SHRINKS * chunk.total_uncompressed_size
    ]


def codecs(schema: pa.Schema, uncompressed: Sequence[str], codec: str, level: int | None) -> dict[str, Any]:
    """Return the settings ``compression`` and ``compression_level`` for files with some uncompressed columns.

    Arrow names a column by its path, so a column ``a.b`` is compressed if a column ``a`` has a compressed member ``b``.
    """
    packed = [path for f in schema if f.name not in set(uncompressed) for path in leaf_names(f.name, f.type)]
    return {
        "compression": {**dict.fromkeys(uncompressed, "none"), **dict.fromkeys(packed, codec)},
        "compression_level": None if level is None else dict.fromkeys(packed, level),
    }


def leaf_names(name: str, kind: pa.DataType) -> Iterator[str]:
    """Yield the paths of the Parquet columns of a field, as Arrow writes and names them."""
    if pa.types.is_struct(kind):
        for field in kind:
            yield from leaf_names(f"{name}.{field.name}", field.type)
    elif pa.types.is_map(kind):
        yield from leaf_names(f"{name}.key_value.key", kind.key_type)
        yield from leaf_names(f"{name}.key_value.value", kind.item_type)
    elif pa.types.is_list(kind):
        yield from leaf_names(f"{name}.list.element", kind.value_type)
    else:
        yield name
