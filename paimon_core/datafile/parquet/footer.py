"""Footers: reads Parquet footers, and changes footers for features that Arrow's Parquet library lacks.

A footer is verified before Arrow reads it, because Arrow may crash on an invalid footer. ``footer_checks`` checks every
footer, and ``footer_checksum`` checks the checksum of our files. Footers with a checksum are also checked by
``footer_checks``, because any program can compute the checksum. INT96 columns are presented to Arrow as 12-byte values
(``int96``), maps with optional keys as lists of pairs (``optional_map_keys``). Functions raise ValueError for a footer
that does not decode.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.codec.parquet.raw_footer import check_raw_footer, read_raw_footer
from paimon_core.codec.parquet.thrift import I32, Struct, parse_struct, serialize_struct

_MAGIC = b"PAR1"
_LENGTH_BYTES = 4
_END_BYTES = _LENGTH_BYTES + len(_MAGIC)
_INT96, _FIXED_BYTES, _WIDTH = (I32, 3), (I32, 7), (I32, 12)
_PLAIN_TEXT_BYTES = 3
"""A text column with fewer bytes per value must be dictionary encoded: plain encoding needs 4 bytes per length."""

# The field ids of format/parquet.thrift.
_SCHEMA, _ROW_GROUPS = 2, 4
_ELEMENT_TYPE, _ELEMENT_WIDTH, _ELEMENT_CONVERTED, _ELEMENT_LOGICAL = 1, 2, 6, 10
_GROUP_COLUMNS, _CHUNK_METADATA = 1, 3
_CHUNK_TYPE = 1


def read_footer(source: pa.NativeFile) -> bytes:
    """Return the verified footer, a thrift struct, of an open Parquet file; a short footer needs only one read."""
    raw, start = read_raw_footer(source)
    check_raw_footer(raw, start)
    return raw


def arrow_metadata(footer: bytes) -> pq.FileMetaData:
    """Return a footer as Arrow metadata."""
    return pq.read_metadata(pa.BufferReader(_MAGIC + file_end(footer)))


def file_end(footer: bytes) -> bytes:
    """Return the last bytes of a file with this footer: the footer, its length and the magic bytes."""
    return footer + len(footer).to_bytes(_LENGTH_BYTES, "little") + _MAGIC


def footer_of(end: bytes) -> tuple[bytes, bytes]:
    """Split ``end``, the last bytes of a file, into the bytes before the footer and the footer."""
    at = len(end) - _END_BYTES - int.from_bytes(end[-_END_BYTES : -len(_MAGIC)], "little")
    return end[:at], end[at:-_END_BYTES]


def has_int96(footer: pq.FileMetaData) -> bool:
    """Whether a column, or a member of a nested column, is INT96."""
    return any(footer.schema.column(n).physical_type == "INT96" for n in range(footer.num_columns))


def int96_as_bytes(footer: Struct) -> pq.FileMetaData:
    """Return the footer as Arrow metadata with the INT96 values as 12-byte values."""
    _retype(footer, {_ELEMENT_TYPE: _INT96}, {_ELEMENT_TYPE: _FIXED_BYTES, _ELEMENT_WIDTH: _WIDTH})
    return as_metadata(footer)


def as_metadata(footer: Struct) -> pq.FileMetaData:
    """Return a changed footer as Arrow metadata."""
    return arrow_metadata(serialize_struct(footer))


def schema_elements(footer: Struct) -> list[Struct]:
    """Return the elements of the file's schema, each before its members."""
    try:
        return list(footer[_SCHEMA][1][1])
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"the footer lacks a part: {error!r}") from None


def bytes_as_int96(footer: bytes) -> bytes:
    """Return the footer of a new file with its 12-byte values as INT96.

    Decimals of 12 bytes stay unchanged, because they have an annotation; binaries never have a fixed length.
    """
    tree = parse_struct(footer)
    _retype(tree, {_ELEMENT_TYPE: _FIXED_BYTES, _ELEMENT_WIDTH: _WIDTH}, {_ELEMENT_TYPE: _INT96})
    return serialize_struct(tree)


def _retype(footer: Struct, old: Struct, new: Struct) -> None:
    """Change the physical type of leaves without annotation from ``old`` to ``new``, in the schema and all chunks."""
    try:
        leaves = [element for element in footer[_SCHEMA][1][1] if _ELEMENT_TYPE in element]
        for number, leaf in enumerate(leaves):
            annotated = _ELEMENT_CONVERTED in leaf or _ELEMENT_LOGICAL in leaf
            if not annotated and all(leaf.get(member) == value for member, value in old.items()):
                leaf.pop(_ELEMENT_WIDTH, None)
                leaf.update(new)
                for chunks in _column_chunks(footer):
                    chunks[number][_CHUNK_TYPE] = new[_ELEMENT_TYPE]
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"the footer lacks a part: {error!r}") from None


def repeating_texts(footer: pq.FileMetaData, columns: Collection[str]) -> list[str]:
    """Return the text columns among ``columns`` that are dictionary encoded in all row groups.

    Such columns decode faster as dictionaries.
    """
    leaves = [footer.schema.column(n).path for n in range(footer.num_columns)]
    texts = [n for n, path in enumerate(leaves) if path in columns]
    plain = set()
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for chunk in map(group.column, texts):
            if chunk.total_uncompressed_size >= _PLAIN_TEXT_BYTES * chunk.num_values:
                plain.add(chunk.path_in_schema)
    return [name for name in columns if name not in plain]


def _column_chunks(footer: Struct) -> list[list[Struct]]:
    """Return the column chunks' metadata of each row group, in the order of the schema's leaves."""
    return [[c[_CHUNK_METADATA][1] for c in group[_GROUP_COLUMNS][1][1]] for group in footer[_ROW_GROUPS][1][1]]
