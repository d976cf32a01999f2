"""Memory: an upper bound for the memory that one compaction takes at a time, from the sizes of its files.

A compaction holds a window of rows that the sorted runs share, a decoded batch of each run, and one row group of the
writer. So the bound grows with the rows until it reaches the largest sizes of these parts, and then with the number of
runs only. The bytes of decoded texts are not recorded; they are taken as at most ``EXPANSION`` times the bytes of the
files. A single row that is larger than a batch exceeds the bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.metadata.data_file import DataFile
from paimon_core.schema import TableSchema
from paimon_core.types import TypeRoot

BASE_BYTES = 80 << 20
"""What a compaction takes whatever it reads: code that is imported first, buffers of codecs, pages of the allocator."""
MOST_BYTES = 640 << 20
"""The largest sum of the window, the row group, and their copies."""
RUN_BYTES = 24 << 20
"""The decoded batch of one run, with its pages, and what an object store's file keeps of the bytes read ahead."""
COPIES = 4
"""How often a row may be in memory: decoded, merged, collected for the row group, and encoded."""
EXPANSION = 20
_WIDTHS = {
    TypeRoot.BOOLEAN: 1,
    TypeRoot.TINYINT: 1,
    TypeRoot.SMALLINT: 2,
    TypeRoot.INT: 4,
    TypeRoot.BIGINT: 8,
    TypeRoot.FLOAT: 4,
    TypeRoot.DOUBLE: 8,
    TypeRoot.DECIMAL: 16,
    TypeRoot.DATE: 4,
    TypeRoot.TIME: 4,
    TypeRoot.TIMESTAMP: 8,
    TypeRoot.TIMESTAMP_LTZ: 8,
}
"""The bytes of a decoded value of each type of a fixed size."""
_HIDDEN_BYTES = 9
"""The sequence number and the kind of a row."""


def peak_memory(files: Sequence[DataFile], schema: TableSchema, runs: int, sort_bytes: int = 0) -> int:
    """Return the bound in bytes for one task that reads ``files``, which are ``runs`` sorted runs.

    ``sort_bytes``: the size of the buffer of a task that sorts all rows.
    """
    rows, size = sum(f.row_count for f in files), sum(f.file_size for f in files)
    roots = [f.type.root for f in (*schema.fields, *schema.key_fields)]
    decoded = rows * (_HIDDEN_BYTES + sum(_WIDTHS.get(root, 0) for root in roots))
    if any(root not in _WIDTHS for root in roots):
        decoded += EXPANSION * size
    return BASE_BYTES + min(COPIES * decoded, MOST_BYTES + RUN_BYTES * runs + 2 * sort_bytes)
