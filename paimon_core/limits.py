"""The limits of what this library reads and writes: one set, so that no writer makes a file that a reader refuses.

A reader raises CorruptTable for a file beyond a limit. A writer raises InvalidRequest before it writes such a file.
"""

from __future__ import annotations

from paimon_core.errors import InvalidRequest

METADATA_BYTES = 16 << 20
"""Bytes of a JSON metadata file (snapshot, schema, tag, statistics); common ones have a few thousand."""
PROPERTIES_BYTES = METADATA_BYTES // 2
"""Bytes of the properties of a snapshot; the rest of the file is left for its other members and those of a tag."""
TYPE_DEPTH = 32
"""How many levels a nested type may have, counting the outermost type as one."""
METADATA_DEPTH = 3 * TYPE_DEPTH + 8
"""Levels of nested objects and arrays in a JSON metadata file; a ROW in a schema takes three."""
AVRO_HEADER_BYTES = METADATA_BYTES
"""Bytes of the header of an Avro file, which holds its schema."""
AVRO_DEPTH = 4 * TYPE_DEPTH
"""Levels of nested schemas in an Avro file; a MAP takes four: a union, an array, a record and a value."""
AVRO_RECORDS = 1 << 12
"""Named types in the schema of an Avro data file: each ROW and each MAP is one."""
MANIFEST_RECORDS = 64
"""Named types in the schema of a manifest; a type may refer to another one by its name, which nests them."""
AVRO_RATIO = 256
"""The highest ratio of unpacked to packed bytes in Avro; smaller data than the next two limits may exceed it."""
MANIFEST_BYTES = 64 << 20
"""Unpacked bytes of all blocks of a manifest or manifest list."""
AVRO_BLOCK_BYTES = 256 << 20
"""Unpacked bytes of a block of an Avro data file; a block holds one row or more."""
STORED_DEPTH = 2 * TYPE_DEPTH + 2
"""Levels of nested groups in the schema of a Parquet file; an ARRAY or a MAP takes two."""
FILTER_COMPARISONS = 1 << 14
"""Comparisons in a filter; an ``is_in`` counts as one, whatever its number of values."""
FILTER_DEPTH = 32
"""Levels of nested ``&`` and ``|`` in a filter."""


def check_limit(what: str, found: int, limit: int, unit: str) -> None:
    """Raises InvalidRequest when ``found`` exceeds the limit; the message names ``what`` and both numbers."""
    if found > limit:
        raise InvalidRequest(f"{what} has {found} {unit}, {limit} is the most", found=found, limit=limit)


def metadata_text(text: str, what: str) -> str:
    """``text``, the content of a JSON metadata file; raises InvalidRequest when readers would refuse it."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{what} holds {text[error.start]!r}, which is not valid Unicode text") from None
    check_limit(what, size, METADATA_BYTES, "bytes")
    return text
