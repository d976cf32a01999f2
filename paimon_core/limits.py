"""The limits of what this library reads and writes: one set, so that nothing is written that a reader would refuse.

A reader answers a file beyond a limit with CorruptTable; whoever would write one raises InvalidRequest first.
"""

from __future__ import annotations

from paimon_core.errors import InvalidRequest

METADATA_BYTES = 16 << 20
"""Bytes of a JSON metadata file: snapshot, schema, tag, statistics; real ones have some thousand."""
PROPERTIES_BYTES = METADATA_BYTES // 2
"""Bytes of the properties of a snapshot; the rest is for its other members, and for those of a tag of it."""
TYPE_DEPTH = 32
"""Types in each other, the outermost included."""
METADATA_DEPTH = 3 * TYPE_DEPTH + 8
"""Objects and arrays in each other in a JSON metadata file; a ROW in a schema takes three."""
AVRO_HEADER_BYTES = METADATA_BYTES
AVRO_DEPTH = 4 * TYPE_DEPTH
"""Schemas in each other in an Avro file: of a MAP a union, an array, a record and a value."""
AVRO_RECORDS = 1 << 12
"""Named types in the schema of an Avro data file: each ROW and each MAP is one."""
MANIFEST_RECORDS = 64
"""Named types in the schema of a manifest, which may name one again, so that they are in each other."""
AVRO_RATIO = 256
"""How many times smaller Avro blocks may be packed, where they unpack to more than the next two."""
MANIFEST_BYTES = 64 << 20
"""Bytes of all blocks of a manifest or manifest list, unpacked."""
AVRO_BLOCK_BYTES = 256 << 20
"""Bytes of an unpacked block of a data file, which holds a row at least."""
STORED_DEPTH = 2 * TYPE_DEPTH + 2
"""Groups in each other in the schema of a Parquet file, where an ARRAY or MAP is two."""
FILTER_COMPARISONS = 1 << 14
"""Comparisons of a filter; the values of ``is_in`` do not count."""
FILTER_DEPTH = 32
"""Conjunctions and disjunctions in each other in a filter."""


def check_limit(what: str, found: int, limit: int, unit: str) -> None:
    """Raises InvalidRequest naming ``what``, the value found and the limit when it is beyond."""
    if found > limit:
        raise InvalidRequest(f"{what} has {found} {unit}, {limit} is the most", found=found, limit=limit)


def metadata_text(text: str, what: str) -> str:
    """``text`` itself, the content of a JSON metadata file, when readers take it; raises InvalidRequest otherwise."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{what} holds {text[error.start]!r}, which is no text") from None
    check_limit(what, size, METADATA_BYTES, "bytes")
    return text
