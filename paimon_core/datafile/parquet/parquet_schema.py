"""What a data file looks like to Parquet: its Arrow schema with field ids, physical types and encodings (format 7.7).

A column's physical and logical type, field id and repetition depend on its field alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.datafile.field_ids import numbered_schema
from paimon_core.datafile.parquet.int96 import INT96_AS_BYTES, is_int96
from paimon_core.datafile.statistics import leaf_numbers
from paimon_core.options import TableOptions
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, NESTED_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

FIELD_ID = b"PARQUET:field_id"
INTEGER_DECIMAL = 18
"""The widest DECIMAL that is stored as INT32 or INT64; wider ones are fixed-length byte arrays."""

_SAMPLE_ROWS = 4096
_FEW_ROWS = 64
"""Up to which Python counts distinct values faster than Arrow begins to."""
_DELTA_ROOTS = frozenset({TypeRoot.INT, TypeRoot.BIGINT, TypeRoot.DATE, TypeRoot.TIME})
_PLAIN_ROOTS = STRING_ROOTS | {
    TypeRoot.TINYINT,
    TypeRoot.SMALLINT,
    TypeRoot.INT,
    TypeRoot.BIGINT,
    TypeRoot.FLOAT,
    TypeRoot.DOUBLE,
}
_DICTIONARY_ROOTS = STRING_ROOTS | BINARY_ROOTS | {TypeRoot.TINYINT, TypeRoot.SMALLINT}


def parquet_schema(fields: Sequence[DataField]) -> pa.Schema:
    """The Arrow schema of a file of these columns: NOT NULL as required, field ids as metadata, INT96 as 12 bytes."""
    return numbered_schema(fields, FIELD_ID, lambda t: INT96_AS_BYTES if is_int96(t) else t.to_arrow())


def writer_settings(fields: Sequence[DataField], options: TableOptions, codec: str, rows: pa.Table) -> dict[str, Any]:
    """Keyword arguments for ``pyarrow.parquet.ParquetWriter``: compression, physical types, encodings, checksums.

    ``rows`` are the first of the file: they show which columns are worth a dictionary.
    """
    return ParquetShape.of(fields, options, codec).settings(rows)


@dataclass(frozen=True)
class ParquetShape:
    """What Parquet files of the same columns and options have in common."""

    schema: pa.Schema
    int96: frozenset[str]
    """The columns that are stored as INT96."""
    leaves: tuple[int, ...]
    """The number of each column's first leaf, as a footer counts them."""
    fixed: Mapping[str, Any]
    """The writer's settings that do not depend on the rows."""
    may_repeat: tuple[str, ...]
    """The columns that take a dictionary if their values repeat."""
    plain: tuple[int, ...]
    """Where the columns are whose bounds ``statistics.least_and_greatest`` knows."""

    @staticmethod
    def of(fields: Sequence[DataField], options: TableOptions, codec: str) -> ParquetShape:
        """The shape of files of these columns."""
        delta = [f.name for f in fields if _takes_delta(f.type)]
        fixed = {
            "compression": codec,
            "compression_level": options["file.compression.zstd-level"] if codec == "zstd" else None,
            "column_encoding": dict.fromkeys(delta, "DELTA_BINARY_PACKED") or None,
            "store_decimal_as_integer": True,
            "store_schema": False,
            "write_page_checksum": True,
            "write_statistics": [f.name for f in fields if not is_int96(f.type) and f.type.root not in NESTED_ROOTS],
            "write_time_adjusted_to_utc": True,
        }
        return ParquetShape(
            schema=parquet_schema(fields),
            int96=frozenset(f.name for f in fields if is_int96(f.type)),
            leaves=tuple(leaf_numbers(f.type for f in fields)[: len(fields)]),
            fixed=fixed,
            may_repeat=tuple(f.name for f in fields if _takes_dictionary(f.type)),
            plain=tuple(at for at, f in enumerate(fields) if f.type.root in _PLAIN_ROOTS or _is_plain_time(f.type)),
        )

    def settings(self, rows: pa.Table) -> dict[str, Any]:
        """See ``writer_settings``."""
        return {**self.fixed, "use_dictionary": [name for name in self.may_repeat if _repeats(rows[name])]}


def _is_plain_time(dtype: DataType) -> bool:
    """Whether the stored numbers are those that Arrow has in memory."""
    return dtype.root in TIMESTAMP_ROOTS and dtype.timestamp_unit in ("ms", "us")


def _takes_delta(dtype: DataType) -> bool:
    """Differences of neighbours: half the time of plain to read, and sorted keys and sequence numbers nearly vanish."""
    if dtype.root in TIMESTAMP_ROOTS:
        return not is_int96(dtype)
    return dtype.root in _DELTA_ROOTS or (dtype.root is TypeRoot.DECIMAL and dtype.precision <= INTEGER_DECIMAL)


def _takes_dictionary(dtype: DataType) -> bool:
    """Texts and small integers repeat; for floating point the attempt costs more than it gains."""
    return dtype.root in _DICTIONARY_ROOTS or (dtype.root is TypeRoot.DECIMAL and dtype.precision > INTEGER_DECIMAL)


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether values come twice on average; where they do not, a dictionary is built only to be given up."""
    sample = column.slice(0, _SAMPLE_ROWS)
    if len(sample) <= _FEW_ROWS:
        return 2 * len(set(sample.to_pylist())) <= len(sample)
    return bool(2 * pc.count_distinct(sample, mode="all").as_py() <= len(sample))
