"""The limits of what this library reads and writes: one set, so that nothing is written that a reader would refuse.

A reader answers a file beyond a limit with CorruptTable; whoever would write one raises InvalidRequest first.
"""

from __future__ import annotations

from paimon_core.errors import InvalidRequest

METADATA_BYTES = 16 << 20
"""Bytes of a JSON metadata file: snapshot, schema, tag, statistics; real ones have some thousand."""
METADATA_DEPTH = 64
"""Objects and arrays in each other in a JSON metadata file."""
TYPE_DEPTH = 24
"""Types in each other, the outermost included; a schema file takes two objects or arrays for each."""
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
