"""Parquet schema: the Arrow schema with field ids and the writer settings of a Parquet data file (format 7.7).

A column's physical and logical type, field id and repetition depend only on its field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.byte_budget import rows_for
from paimon_core.datafile.field_ids import numbered_schema
from paimon_core.datafile.parquet.int96 import INT96_AS_BYTES, holds_int96, is_int96
from paimon_core.datafile.parquet.shrinking import codecs, shrinking_little
from paimon_core.datafile.statistics.column_statistics import leaf_numbers
from paimon_core.options import TableOptions
from paimon_core.schema import DataField
from paimon_core.types import (
    BINARY_ROOTS,
    NESTED_ROOTS,
    NUMBER_ROOTS,
    STRING_ROOTS,
    TIMESTAMP_ROOTS,
    DataType,
    TypeRoot,
)

FIELD_ID = b"PARQUET:field_id"
INTEGER_DECIMAL = 18
"""The highest precision of a DECIMAL that is stored as INT32 or INT64; with more digits, as a fixed-length array."""

_SAMPLE_ROWS = 4096
_SAMPLE_BYTES = 4 << 20
"""The size of four dictionaries: Arrow stops using a dictionary that exceeds 1 MiB."""
_FEW_ROWS = 64
"""The largest number of values for which Python counts distinct values faster than Arrow."""
_DELTA_ROOTS = frozenset({TypeRoot.INT, TypeRoot.BIGINT, TypeRoot.DATE, TypeRoot.TIME})
_FLOATS = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})
_CODEC_OPTIONS = frozenset({"file.compression", "file.compression.per.level", "changelog-file.compression"})
"""If one of them is stated, all columns are compressed."""
_PLAIN_ROOTS = STRING_ROOTS | NUMBER_ROOTS - {TypeRoot.DECIMAL}
_DICTIONARY_ROOTS = STRING_ROOTS | BINARY_ROOTS | {TypeRoot.TINYINT, TypeRoot.SMALLINT}


def parquet_schema(fields: Sequence[DataField]) -> pa.Schema:
    """Return the Arrow schema of a file: NOT NULL columns are required, field ids are metadata, INT96 is 12 bytes."""
    return numbered_schema(fields, FIELD_ID, lambda t: INT96_AS_BYTES if is_int96(t) else t.to_arrow())


def writer_settings(fields: Sequence[DataField], options: TableOptions, codec: str, rows: pa.Table) -> dict[str, Any]:
    """Return the keyword arguments of ``pyarrow.parquet.ParquetWriter``, such as compression, encodings and checksums.

    ``rows`` are the first rows of the file; their values decide which columns use a dictionary.
    """
    return ParquetShape.of(fields, options, codec).settings(rows)


@dataclass(frozen=True)
class ParquetShape:
    """The common settings of Parquet files with the same columns and options."""

    schema: pa.Schema
    int96: frozenset[str]
    """The columns that are stored as INT96, or have a member that is stored as INT96."""
    leaves: tuple[int, ...]
    """For each column, the position of its first leaf in a footer."""
    fixed: Mapping[str, Any]
    """The writer settings that do not depend on the rows."""
    may_repeat: tuple[str, ...]
    """The columns that use a dictionary if their values repeat."""
    may_not_shrink: tuple[str, ...]
    """The columns of numbers that are not compressed if this hardly makes them smaller; none if a codec is stated."""
    plain: tuple[int, ...]
    """The positions of the columns whose bounds ``statistics.least_and_greatest`` can compute."""
    texts: tuple[int, ...]
    """The positions of the text columns."""

    @staticmethod
    def of(fields: Sequence[DataField], options: TableOptions, codec: str) -> ParquetShape:
        """Return the shape of files with these columns; ``codec`` is the compression."""
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
            int96=frozenset(f.name for f in fields if holds_int96(f.type)),
            leaves=tuple(leaf_numbers(f.type for f in fields)[: len(fields)]),
            fixed=fixed,
            may_repeat=tuple(f.name for f in fields if _takes_dictionary(f.type)),
            may_not_shrink=_numbers(fields) if options.values.keys().isdisjoint(_CODEC_OPTIONS) else (),
            plain=tuple(at for at, f in enumerate(fields) if f.type.root in _PLAIN_ROOTS or _is_plain_time(f.type)),
            texts=tuple(at for at, f in enumerate(fields) if f.type.root in STRING_ROOTS),
        )

    def settings(self, rows: pa.Table) -> dict[str, Any]:
        """Return the settings of ``writer_settings`` for a file that starts with ``rows``."""
        found = {**self.fixed, "use_dictionary": [name for name in self.may_repeat if _repeats(rows[name])]}
        if uncompressed := shrinking_little(rows, self.may_not_shrink, self.fixed):
            level = self.fixed["compression_level"]
            found.update(codecs(self.schema, uncompressed, self.fixed["compression"], level))
        return found


def _numbers(fields: Sequence[DataField]) -> tuple[str, ...]:
    return tuple(f.name for f in fields if _takes_delta(f.type) or f.type.root in _FLOATS)


def _is_plain_time(dtype: DataType) -> bool:
    """Whether the stored number of a timestamp is the number that Arrow has in memory."""
    return dtype.root in TIMESTAMP_ROOTS and dtype.timestamp_unit in ("ms", "us")


def _takes_delta(dtype: DataType) -> bool:
    """Whether a column uses delta encoding. Delta encoding is twice as fast to read as plain encoding, and very small
    for sorted keys.
    """
    if dtype.root in TIMESTAMP_ROOTS:
        return not is_int96(dtype)
    return dtype.root in _DELTA_ROOTS or (dtype.root is TypeRoot.DECIMAL and dtype.precision <= INTEGER_DECIMAL)


def _takes_dictionary(dtype: DataType) -> bool:
    """Whether a column may use a dictionary: texts and small integers often repeat, floats rarely.

    A DECIMAL that is stored as bytes never uses a dictionary: with a dictionary, Java's equality filter would find no
    row.
    """
    return dtype.root in _DICTIONARY_ROOTS


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether values occur at least twice on average; otherwise a dictionary would be built and then discarded."""
    sample = column.slice(0, rows_for(_SAMPLE_BYTES, column.nbytes / max(1, len(column)), _SAMPLE_ROWS))
    if len(sample) <= _FEW_ROWS:
        return 2 * len(set(sample.to_pylist())) <= len(sample)
    return bool(2 * pc.count_distinct(sample, mode="all").as_py() <= len(sample))
