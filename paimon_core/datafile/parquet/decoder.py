"""Decoder: reads an open Parquet file as batches of Arrow arrays by column name.

Memory is one batch, and for each column a page and ``BUFFER_BYTES`` bytes of the file. Arrays have the types of the
file, except INT96 columns, which have the wanted type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.datafile.file_format import Arrays, counted_batches
from paimon_core.datafile.members import leaf_paths
from paimon_core.datafile.parquet.footer import has_int96, int96_as_bytes, repeating_texts
from paimon_core.datafile.parquet.int96 import without_int96
from paimon_core.datafile.parquet.optional_map_keys import as_maps, maps_as_lists
from paimon_core.datafile.parquet.thrift import parse_struct
from paimon_core.types import STRING_ROOTS, DataType, TypeRoot

BUFFER_BYTES = 1 << 18
"""Bytes of a column chunk that are read at a time; bounds memory when many files are merged."""

_MANY_ROWS = 1 << 16
"""The minimum of rows in a file for which texts are checked for repeated values."""


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
    """Yield the row count and the ``wanted`` columns of each batch of these row groups (None: all), in file order.

    Texts may be dictionary arrays. ``maps_are_lists``: ``footer`` was changed by ``optional_map_keys``. Raises
    UnsupportedFeature, which names the column, for an INT96 out of range or a null map key, and Arrow's errors for
    bytes that do not decode.
    """
    if not wanted:
        yield from counted_batches(footer.num_rows, batch_rows)
        return
    int96 = has_int96(footer)
    texts = [name for name, dtype in wanted.items() if dtype.root in STRING_ROOTS]
    checks_texts = bool(texts) and footer.num_rows >= _MANY_ROWS
    file = pq.ParquetFile(
        source,
        metadata=_as_bytes(raw_footer, maps_are_lists=maps_are_lists) if int96 else footer,
        read_dictionary=repeating_texts(footer, texts) if checks_texts else None,
        buffer_size=BUFFER_BYTES,
        pre_buffer=False,
        page_checksum_verification=verify_checksums,
    )
    columns = list(wanted)
    if any(dtype.root is TypeRoot.ROW for dtype in wanted.values()):
        found = file.schema_arrow
        columns = [path for name, dtype in wanted.items() for path in leaf_paths(name, found.field(name).type, dtype)]
    for batch in file.iter_batches(batch_rows, row_groups, columns, use_threads):
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        if maps_are_lists:
            arrays = {name: as_maps(array, name) for name, array in arrays.items()}
        if int96:
            arrays = {name: without_int96(array, wanted[name], name) for name, array in arrays.items()}
        yield len(batch), arrays


def _as_bytes(raw_footer: bytes, *, maps_are_lists: bool) -> pq.FileMetaData:
    tree = parse_struct(raw_footer)
    if maps_are_lists:
        maps_as_lists(tree)
    return int96_as_bytes(tree)
