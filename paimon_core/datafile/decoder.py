"""Decoder: the bytes of an open Parquet file as Arrow arrays by column name, a batch at a time.

Memory is one batch, a page per column and ``BUFFER_BYTES`` of each column's bytes. Types are as the file has them, but
for INT96, which comes in the unit of the wanted type, or is refused: far years do not wrap around.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from paimon_core.errors import UnsupportedFeature
from paimon_core.types import DataType

BUFFER_BYTES = 1 << 18
"""How much of a column chunk is fetched at a time: bounds memory when many files are merged."""

_DICTIONARY_BYTES = 3
"""Bytes per value below which a text chunk must be dictionary encoded: plain takes 4 for each length alone."""
_MOST_MICROS = 2**63 // 1000 - 1
"""The greatest microsecond that is a timestamp[ns] too."""

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
    int96 = {name: t.timestamp_unit for name, t in wanted.items() if name in _int96_columns(footer)}
    coarse = [name for name, unit in int96.items() if unit != "ns"]
    fine = [name for name, unit in int96.items() if unit == "ns"]
    repeating = _dictionary_columns(footer, wanted)

    def read(names: Collection[str], int96_unit: str) -> Iterator[pa.RecordBatch]:
        file = pq.ParquetFile(
            source,
            metadata=footer,
            read_dictionary=[name for name in repeating if name in names],
            buffer_size=BUFFER_BYTES,
            pre_buffer=False,
            coerce_int96_timestamp_unit=int96_unit,
            page_checksum_verification=verify_checksums,
        )
        batches: Iterator[pa.RecordBatch] = file.iter_batches(batch_rows, list(row_groups), list(names), use_threads)
        return batches

    plain = [name for name in wanted if name not in coarse]
    if not int96:
        for batch in read(plain, "ns"):
            yield len(batch), _by_name(batch)
        return
    micros = read([*coarse, *fine], "us")
    for micro, batch in zip(micros, read(plain, "ns"), strict=True) if plain else ((m, None) for m in micros):
        arrays = _by_name(micro)
        for name in fine:
            _check_nanoseconds(arrays[name], name)
        yield len(micro), arrays if batch is None else arrays | _by_name(batch)


def _by_name(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _int96_columns(footer: pq.FileMetaData) -> set[str]:
    columns = (footer.schema.column(n) for n in range(footer.num_columns))
    return {c.name for c in columns if c.physical_type == "INT96"}


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


def _check_nanoseconds(micros: pa.Array, name: str) -> None:
    found: Any = pc.min_max(micros.cast(pa.int64()))
    low, high = found["min"].as_py(), found["max"].as_py()
    if low is not None and (low < -_MOST_MICROS or high > _MOST_MICROS):
        raise UnsupportedFeature(
            f"column {name!r} holds a timestamp outside 1677-09-21 to 2262-04-11, the range of nanoseconds", column=name
        )
