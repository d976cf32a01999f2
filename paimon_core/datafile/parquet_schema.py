"""What a data file looks like to Parquet: its Arrow schema with field ids, physical types and encodings (format 7.7).

A column's physical and logical type, field id and repetition depend on its field alone, with one exception: INT96 is a
setting of the whole file, so a TIMESTAMP(7) to (9) column makes every timestamp of its file INT96. Readers take both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from paimon_core.options import TableOptions
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

FIELD_ID = b"PARQUET:field_id"
INTEGER_DECIMAL = 18
"""The widest DECIMAL that is stored as INT32 or INT64; wider ones are fixed-length byte arrays."""

_DELTA_ROOTS = frozenset({TypeRoot.INT, TypeRoot.BIGINT, TypeRoot.DATE, TypeRoot.TIME})
_DICTIONARY_ROOTS = STRING_ROOTS | BINARY_ROOTS | {TypeRoot.TINYINT, TypeRoot.SMALLINT}


def parquet_schema(fields: Sequence[DataField]) -> pa.Schema:
    """The Arrow schema of a file of these columns: NOT NULL as required, field ids as metadata."""
    return pa.schema([f.arrow.with_metadata({FIELD_ID: str(f.id).encode()}) for f in fields])


def uses_int96(fields: Sequence[DataField]) -> bool:
    """Whether a file of these columns holds its timestamps as INT96: one of them is finer than microseconds."""
    return any(f.type.root in TIMESTAMP_ROOTS and f.type.timestamp_unit == "ns" for f in fields)


def writer_settings(fields: Sequence[DataField], options: TableOptions) -> dict[str, Any]:
    """Keyword arguments for ``pyarrow.parquet.ParquetWriter``: compression, physical types, encodings, checksums."""
    codec = options["file.compression"]
    int96 = uses_int96(fields)
    delta = [f.name for f in fields if _takes_delta(f.type, int96)]
    return {
        "compression": codec,
        "compression_level": options["file.compression.zstd-level"] if codec == "zstd" else None,
        "use_dictionary": [f.name for f in fields if _takes_dictionary(f.type)],
        "column_encoding": dict.fromkeys(delta, "DELTA_BINARY_PACKED") or None,
        "use_deprecated_int96_timestamps": int96,
        "store_decimal_as_integer": True,
        "store_schema": False,
        "write_page_checksum": True,
        "write_time_adjusted_to_utc": True,
    }


def _takes_delta(dtype: DataType, int96: bool) -> bool:
    """Differences of neighbours: half the time of plain to read, and sorted keys and sequence numbers nearly vanish."""
    if dtype.root in TIMESTAMP_ROOTS:
        return not int96
    return dtype.root in _DELTA_ROOTS or (dtype.root is TypeRoot.DECIMAL and dtype.precision <= INTEGER_DECIMAL)


def _takes_dictionary(dtype: DataType) -> bool:
    """Texts and small integers repeat; for floating point the attempt costs more than it gains."""
    return dtype.root in _DICTIONARY_ROOTS or (dtype.root is TypeRoot.DECIMAL and dtype.precision > INTEGER_DECIMAL)
