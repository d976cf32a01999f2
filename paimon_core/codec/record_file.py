"""Record files: reads and writes manifests in any format of option ``manifest.format``.

Values have the same Python types as values from ``read_avro``. Avro is the default. The first bytes of a file determine
its format; the option is not used for reading.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.codec.avro import container as avro_file
from paimon_core.codec.orc import length_checks
from paimon_core.codec.orc.metadata_checks import check_metadata
from paimon_core.codec.parquet import page_checks
from paimon_core.codec.parquet.raw_footer import check_raw_footer, read_raw_footer
from paimon_core.codec.record_columns import write_columns
from paimon_core.errors import CorruptTable
from paimon_core.limits import MANIFEST_BYTES

_PARQUET, _ORC = b"PAR1", b"ORC"
_BATCH_ROWS = 1 << 12


def read_records(data: bytes, path: str, holding: Collection[bytes] | None = None) -> list[dict[str, Any]]:
    """Return the records of a manifest, a manifest list or an index manifest; ``path`` is used in error messages.

    With ``holding``, records that contain none of these byte strings in their Avro encoding may be left out.

    Raises CorruptTable for a file that does not decode, UnsupportedFeature for an unsupported Avro codec.
    """
    if is_avro(data):
        return avro_file.read_avro(data, path, holding)
    try:
        return _read_columns(data)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise CorruptTable(f"{path} does not decode: {error}", path=path) from error


def write_records(schema: dict[str, Any], records: Iterable[dict[str, Any]], codec: str, form: str) -> bytes:
    """Return a file of ``records`` in the format ``form``, a value of option ``manifest.format``.

    Raises InvalidOption for an unknown Avro codec, InvalidRequest for more bytes or records than readers accept.
    """
    if form == "avro":
        return avro_file.write_avro(schema, records, codec)
    return write_columns(schema, records, codec, form)


def is_avro(data: bytes) -> bool:
    """Whether a manifest is an Avro file, complete or not: its bytes do not start as a Parquet or ORC file does."""
    return not data.startswith((_PARQUET, _ORC))


def unpacked_blocks(data: bytes, path: str) -> list[bytes]:
    """Return byte strings that contain every text of the records, so that callers can search for names in them.

    Raises CorruptTable and UnsupportedFeature, as ``read_records`` does.
    """
    if is_avro(data):
        return avro_file.unpacked_blocks(data, path)
    return [repr(record).encode() for record in read_records(data, path)]


def _read_columns(data: bytes) -> list[dict[str, Any]]:
    source = pa.BufferReader(data)
    batches = _orc_batches(source) if data.startswith(_ORC) else _parquet_batches(source)
    records: list[dict[str, Any]] = []
    size = 0
    for batch in batches:
        size += batch.nbytes
        if size > MANIFEST_BYTES:
            raise ValueError(f"its records unpack to more than {MANIFEST_BYTES} bytes")
        columns = [_plain(column) for column in batch.columns]
        records += pa.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pylist()
    return records


def _parquet_batches(source: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    _, groups = check_raw_footer(*read_raw_footer(source))
    _check_count(sum(group.rows for group in groups), source)
    file = pq.ParquetFile(source, pre_buffer=False)
    rows = page_checks.rows_within(source, groups, file.schema_arrow.names, MANIFEST_BYTES)
    return iter(file.iter_batches(min(rows, _BATCH_ROWS), use_threads=False))


def _orc_batches(source: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    import pyarrow.dataset as ds

    metadata = check_metadata(source)
    if metadata is None:
        raise ValueError("it is compressed with LZO")
    _check_count(sum(stripe.rows for stripe in metadata.stripes), source)
    fragment = ds.OrcFileFormat().make_fragment(source)
    rows = length_checks.rows_within(source, metadata, fragment.physical_schema.names, MANIFEST_BYTES)
    return iter(fragment.scanner(batch_size=min(rows, _BATCH_ROWS), use_threads=False, batch_readahead=1).to_batches())


def _check_count(rows: int, source: pa.NativeFile) -> None:
    if rows > source.size():  # each record has a distinct name, so a record takes more than one byte
        raise ValueError(f"it states {rows} records in {source.size()} bytes")


def _plain(array: pa.Array) -> pa.Array:
    """Return the array with timestamps as milliseconds, as in Avro; other values are unchanged."""
    if pa.types.is_timestamp(array.type):
        return array.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    if not pa.types.is_struct(array.type):
        return array
    members = [_plain(member) for member in array.flatten()]
    return pa.StructArray.from_arrays(members, names=[f.name for f in array.type], mask=array.is_null())
