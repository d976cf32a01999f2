"""Limits: the largest sizes and depths that this library reads and writes, and the lengths of names and texts.

Readers and writers use the same limits, so no writer creates a file that a reader refuses. A reader raises CorruptTable
for a file beyond a limit. A writer raises InvalidRequest before it writes such a file. Limits of texts, columns and
prefixes apply to new and altered tables only: tables of other engines that exceed these limits can be read.
"""

from __future__ import annotations

from paimon_core.errors import InvalidRequest

METADATA_BYTES = 16 << 20
"""Bytes of a JSON metadata file (snapshot, schema, tag, statistics); typical files have a few thousand bytes."""
PROPERTIES_BYTES = METADATA_BYTES // 2
"""The maximum number of bytes of a snapshot's properties; the remaining bytes of METADATA_BYTES are for the other
members of a snapshot or tag.
"""
NAME_BYTES = 200
"""Bytes of the name of a database, table, tag, branch, consumer or group; paths add prefixes and suffixes to it."""
USER_BYTES = 200
"""Bytes of a commit user; Paimon uses the user as a part of file names."""
COMPONENT_BYTES = 255
"""The bytes that file systems allow for one component of a path."""
PARTITION_PATH_BYTES = 1 << 11
"""Bytes of all directory names of a partition; file systems allow 4,096 for a whole path."""
FILE_PREFIX_BYTES = 1 << 7
"""Bytes of the prefix of file names; a random part, a number and suffixes follow it."""
TEXT_BYTES = 1 << 20
"""Bytes of a comment, of a column's default and of the value of a table option."""
COLUMNS = 10_000
"""Columns of a table."""
COLUMN_NAME_BYTES = 1 << 10
"""Bytes of the name of a column or of a field of a ROW."""
TYPE_DEPTH = 32
"""Levels of a nested type; the outermost type counts as one."""
METADATA_DEPTH = 3 * TYPE_DEPTH + 8
"""Levels of nested objects and arrays in a JSON metadata file; a ROW in a schema uses three levels."""
AVRO_HEADER_BYTES = METADATA_BYTES
"""Bytes of the header of an Avro file, which contains the schema."""
AVRO_DEPTH = 4 * TYPE_DEPTH
"""Levels of nested schemas in an Avro file; a MAP uses four: a union, an array, a record and a value."""
AVRO_RECORDS = 1 << 12
"""Named types in the schema of an Avro data file; each ROW and each MAP counts as one."""
MANIFEST_RECORDS = 64
"""Maximum number of named types in the schema of a manifest; a type may contain earlier types by their names."""
AVRO_RATIO = 256
"""The ratio of unpacked to packed bytes up to which Avro data may exceed MANIFEST_BYTES and AVRO_BLOCK_BYTES."""
MANIFEST_BYTES = 64 << 20
"""Unpacked bytes of all blocks of a manifest or manifest list."""
MANIFEST_ENTRIES = 1 << 14
"""Records of a manifest or manifest list; a file with at least ENTRY_BYTES bytes for each record may have more."""
ENTRY_BYTES = 4
"""The fewest bytes per record in a file of more than MANIFEST_ENTRIES records: each record names a different file."""
AVRO_BLOCK_BYTES = 32 << 20
"""Unpacked bytes of a block of an Avro data file; a block contains one row or more."""
AVRO_UNCOUNTED_BYTES = 1 << 20
"""The values of an Avro block with more unpacked bytes than this are counted before the block is decoded."""
AVRO_VALUES = 1 << 19
"""Values in a block of more than AVRO_UNCOUNTED_BYTES, and in a manifest with a ratio above VALUES_RATIO."""
VALUES_PER_BYTE = 4
"""Values per packed byte that a block with more than AVRO_VALUES values may have."""
VALUES_RATIO = 64
"""The ratio of unpacked to packed bytes up to which the values of a manifest are not counted."""
STORED_DEPTH = 2 * TYPE_DEPTH + 2
"""Levels of nested groups in the schema of a Parquet or ORC file; in Parquet an ARRAY or a MAP uses two levels."""
PAGE_BYTES = 64 << 20
"""The sum of the unpacked bytes of the largest page of each column that is read from a Parquet row group."""
PAGE_RATIO = 256
"""The ratio of unpacked to packed bytes up to which the pages of a row group may exceed PAGE_BYTES."""
ROW_VALUES = 1 << 23
"""Values of a nested column in a row group or stripe; VALUES_PER_PACKED_BYTE allows more for large columns."""
VALUES_PER_PACKED_BYTE = 1 << 9
"""Values per packed byte that a nested column of a row group or stripe with more than ROW_VALUES values may have."""
FILTER_COMPARISONS = 1 << 14
"""Comparisons in a filter; an ``is_in`` counts as one, regardless of its number of values."""
FILTER_DEPTH = 32
"""Levels of nested ``&`` and ``|`` in a filter."""

FILTER_TEXT_LENGTH = 16 << 20
"""Characters of the text of a filter."""


def check_limit(what: str, value: int, limit: int, unit: str) -> None:
    """Raise InvalidRequest when ``value`` exceeds ``limit``; the error contains ``what`` and both numbers."""
    if value > limit:
        raise InvalidRequest(f"{what} has {value} {unit}, the limit is {limit}", found=value, limit=limit)


def metadata_text(text: str, what: str) -> str:
    """Return ``text``, the content of a JSON metadata file, unchanged.

    Raises InvalidRequest when the text is not valid Unicode or longer than METADATA_BYTES; ``what`` names the file in
    the message.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{what} contains {text[error.start]!r}, which is not valid Unicode text") from None
    check_limit(what, size, METADATA_BYTES, "bytes")
    return text
