"""Hash index files: the hashes of all keys of one dynamic bucket, as big-endian 32-bit integers (format 11.1).

The order in a file has no meaning; files written here are sorted. Hashes of deleted keys stay in the file.
"""

from __future__ import annotations

import numpy as np

from paimon_core.codec.binary_row.bucket_hash import Hashes
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.index_manifest import HASH, IndexFile
from paimon_core.storage.paths import FileNames
from paimon_core.table_indexes.index_reads import index_read_errors

HASH_BYTES = 4


def write_hashes(context: TableContext, hashes: Hashes) -> IndexFile:
    """Write distinct hashes to a new index file; raises StorageError when the store fails."""
    name = FileNames().next("index-")
    data = np.sort(hashes).astype(">i4").tobytes()
    context.storage.write(context.paths.index(name), data)
    return IndexFile(HASH, name, len(data), len(hashes))


def read_hashes(context: TableContext, file: IndexFile) -> Hashes:
    """Return the distinct hashes of an index file, in ascending order, int32[n].

    Raises CorruptTable for a file that is missing or has another size than recorded, UnsupportedFeature for a file
    outside of the table, StorageError when the store fails.
    """
    path = context.paths.index(file.file_name)
    if file.external_path is not None:
        raise UnsupportedFeature(
            f"hash index file {file.file_name} lies outside of the table: not supported", path=path
        )
    with index_read_errors(path):
        data = context.storage.read(path)
    if len(data) != file.file_size or len(data) != HASH_BYTES * file.row_count:
        raise CorruptTable(
            f"hash index file {path} has {len(data)} bytes, but {file.row_count} hashes in {file.file_size} bytes are "
            "recorded",
            path=path,
        )
    return np.unique(np.frombuffer(data, ">i4").astype(np.int32))
