"""Record files: reads manifests in any format of the option ``manifest.format``, with the values of ``read_avro``.

Avro is the default and the only format that this library writes. The first bytes of a file determine its format; the
option is not used for reading.
"""

from __future__ import annotations

import io
from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.codec import avro_file
from paimon_core.errors import CorruptTable

_PARQUET, _ORC = b"PAR1", b"ORC"


def read_records(data: bytes, path: str, holding: Collection[bytes] | None = None) -> list[dict[str, Any]]:
    """Return the records of a manifest, a manifest list or an index manifest; ``path`` is used in error messages.

    ``holding``: records that contain none of these bytes, as Avro encodes them, may be left out.

    Raises CorruptTable for a file that does not decode, UnsupportedFeature for an unsupported Avro codec.
    """
    if is_avro(data):
        return avro_file.read_avro(data, path, holding)
    try:
        return _read_columns(data)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise CorruptTable(f"{path} does not decode: {error}", path=path) from error


def is_avro(data: bytes) -> bool:
    """Whether a manifest is an Avro file, complete or not, and no file of another format."""
    return not data.startswith((_PARQUET, _ORC))


def unpacked_blocks(data: bytes, path: str) -> list[bytes]:
    """Return bytes that contain every text of the records, to search for names; raises as ``read_records`` does."""
    if is_avro(data):
        return avro_file.unpacked_blocks(data, path)
    return [repr(record).encode() for record in read_records(data, path)]


def _read_columns(data: bytes) -> list[dict[str, Any]]:
    if data.startswith(_ORC):
        rows, table = _open_orc(data)
    else:
        file = pq.ParquetFile(io.BytesIO(data), pre_buffer=False)
        rows, table = file.metadata.num_rows, None if file.metadata.num_rows > len(data) else file.read()
    if table is None:  # each record has a distinct name, so it takes more than one byte
        raise ValueError(f"it states {rows} records in {len(data)} bytes")
    columns = [_plain(column.combine_chunks()) for column in table.columns]
    records: list[dict[str, Any]] = pa.Table.from_arrays(columns, names=table.column_names).to_pylist()
    return records


def _open_orc(data: bytes) -> tuple[int, pa.Table | None]:
    import pyarrow.orc as orc

    file = orc.ORCFile(io.BytesIO(data))
    return file.nrows, None if file.nrows > len(data) else file.read()


def _plain(array: pa.Array) -> pa.Array:
    """Return the array with timestamps as milliseconds, as in Avro; other values are unchanged."""
    if pa.types.is_timestamp(array.type):
        return array.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    if not pa.types.is_struct(array.type):
        return array
    members = [_plain(member) for member in array.flatten()]
    return pa.StructArray.from_arrays(members, names=[f.name for f in array.type], mask=array.is_null())
