"""Decoder: the bytes of an open Parquet file as Arrow arrays by column name, a batch at a time.

Memory is one batch, a page per column and ``BUFFER_BYTES`` of each column's bytes. Types are as the file has them, but
for INT96, which comes in the wanted type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.datafile.file_format import Arrays, counted_batches
from paimon_core.datafile.parquet.footer import int96_as_bytes, int96_columns, repeating_texts
from paimon_core.datafile.parquet.int96 import int96_to_timestamps
from paimon_core.datafile.parquet.optional_map_keys import as_maps, maps_as_lists
from paimon_core.datafile.parquet.thrift import parse_struct
from paimon_core.types import STRING_ROOTS, DataType

BUFFER_BYTES = 1 << 18
"""How much of a column chunk is fetched at a time: bounds memory when many files are merged."""

_MANY_ROWS = 1 << 16
"""Where it pays to find out which texts repeat."""


def decode_columns(
    source: pa.NativeFile,
    footer: pq.FileMetaData,
    raw_footer: bytes,
    wanted: Mapping[str, DataType],
    row_groups: list[int] | None,
    *,
    batch_rows: int,
    use_threads: bool,
    verify_checksums: bool,
    maps_are_lists: bool = False,
) -> Iterator[tuple[int, Arrays]]:
    """The row count and the ``wanted`` columns of each batch of these row groups, None for all, in file order.

    Texts may come as dictionary arrays. ``maps_are_lists``: ``footer`` was changed by ``optional_keys``. Raises
    UnsupportedFeature naming a column with an INT96 outside the range of nanoseconds or a null key, and whatever Arrow
    raises for bytes that do not decode.
    """
    if not wanted:
        yield from counted_batches(footer.num_rows, batch_rows)
        return
    int96 = int96_columns(footer) & wanted.keys()
    texts = [name for name, dtype in wanted.items() if dtype.root in STRING_ROOTS]
    looks = bool(texts) and footer.num_rows >= _MANY_ROWS
    file = pq.ParquetFile(
        source,
        metadata=_without_int96(raw_footer, int96, maps_are_lists=maps_are_lists) if int96 else footer,
        read_dictionary=repeating_texts(footer, texts) if looks else None,
        buffer_size=BUFFER_BYTES,
        pre_buffer=False,
        page_checksum_verification=verify_checksums,
    )
    for batch in file.iter_batches(batch_rows, row_groups, list(wanted), use_threads):
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name in int96:
            arrays[name] = int96_to_timestamps(arrays[name], wanted[name], name)
        if maps_are_lists:
            arrays = {name: as_maps(array, name) for name, array in arrays.items()}
        yield len(batch), arrays


def _without_int96(raw_footer: bytes, int96: Collection[str], *, maps_are_lists: bool) -> pq.FileMetaData:
    tree = parse_struct(raw_footer)
    if maps_are_lists:
        maps_as_lists(tree)
    return int96_as_bytes(tree, int96)
