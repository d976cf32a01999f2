"""Decoder: the bytes of an open Parquet file as Arrow arrays by column name, a batch at a time.

Memory is one batch, a page per column and ``BUFFER_BYTES`` of each column's bytes. Types are as the file has them, but
for INT96, which comes in the wanted type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.datafile.int96 import int96_columns, int96_to_timestamps, read_footer_with_bytes
from paimon_core.types import DataType

BUFFER_BYTES = 1 << 18
"""How much of a column chunk is fetched at a time: bounds memory when many files are merged."""

_DICTIONARY_BYTES = 3
"""Bytes per value below which a text chunk must be dictionary encoded: plain takes 4 for each length alone."""

Arrays = Mapping[str, pa.Array]


def decode_columns(
    source: pa.NativeFile,
    footer: pq.FileMetaData,
    wanted: Mapping[str, DataType],
    row_groups: Sequence[int],
    *,
    batch_rows: int,
    use_threads: bool,
    verify_checksums: bool,
) -> Iterator[tuple[int, Arrays]]:
    """The row count and the ``wanted`` columns of each batch of these row groups, in file order.

    Texts may come as dictionary arrays. Raises UnsupportedFeature naming a column with an INT96 outside the range of
    nanoseconds, and whatever Arrow raises for bytes that do not decode.
    """
    if not wanted:
        for group in row_groups:
            left = footer.row_group(group).num_rows
            while left > 0:
                yield min(left, batch_rows), {}
                left -= batch_rows
        return
    int96 = int96_columns(footer) & wanted.keys()
    file = pq.ParquetFile(
        source,
        metadata=read_footer_with_bytes(source) if int96 else footer,
        read_dictionary=_dictionary_columns(footer, wanted),
        buffer_size=BUFFER_BYTES,
        pre_buffer=False,
        page_checksum_verification=verify_checksums,
    )
    for batch in file.iter_batches(batch_rows, list(row_groups), list(wanted), use_threads):
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name in int96:
            arrays[name] = int96_to_timestamps(arrays[name], wanted[name], name)
        yield len(batch), arrays


def _dictionary_columns(footer: pq.FileMetaData, wanted: Collection[str]) -> list[str]:
    """Text columns whose values repeat so much that they decode faster as dictionaries, in all row groups."""
    found = []
    for number in range(footer.num_columns):
        column = footer.schema.column(number)
        if column.name in wanted and column.physical_type == "BYTE_ARRAY":
            chunks = [footer.row_group(g).column(number) for g in range(footer.num_row_groups)]
            if all(c.total_uncompressed_size < _DICTIONARY_BYTES * c.num_values for c in chunks):
                found.append(column.name)
    return found
