"""Index files of deletion vectors: a version byte, followed by the records of the vectors (format 12.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from paimon_core.codec.arrays import Positions
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.index_manifest import DELETION_VECTORS, IndexFile, VectorRange
from paimon_core.storage.paths import FileNames
from paimon_core.table_indexes.index_reads import index_read_errors
from paimon_core.table_indexes.vector_bitmap import CRC_BYTES, LENGTH_BYTES, decode_vector, encode_vector

_VERSION = b"\x01"
_MOST_UNKNOWN = 1 << 26
"""The largest number of positions of a vector if neither the recorded number nor the rows of the file are known."""


def write_vectors(
    context: TableContext, vectors: Mapping[str, Positions], *, single: bool = False
) -> tuple[IndexFile, ...]:
    """Write the vectors, given by data file, to index files and return the index files; () without vectors.

    After the vector that exceeds ``deletion-vector.index-file.target-size``, a new file starts. With ``single``, all
    vectors are in one file, which tables with buckets require (format 12.2). When a write fails, the files written
    before are deleted.
    """
    options, names = context.options, FileNames()
    wide, target = options["deletion-vectors.bitmap64"], options["deletion-vector.index-file.target-size"]
    files: list[IndexFile] = []
    data, ranges = bytearray(_VERSION), list[VectorRange]()

    def close() -> None:
        name = names.next("index-")
        context.storage.write(context.paths.index(name), bytes(data))
        files.append(IndexFile(DELETION_VECTORS, name, len(data), len(ranges), tuple(ranges)))
        data[:] = _VERSION
        ranges.clear()

    try:
        for name, positions in vectors.items():
            record = encode_vector(positions, wide=wide)
            length = len(record) if wide else len(record) - LENGTH_BYTES - CRC_BYTES
            ranges.append(VectorRange(name, len(data), length, len(positions)))
            data += record
            if not single and len(data) > target:
                close()
        if ranges:
            close()
    except BaseException:
        delete_index_files(context, files)
        raise
    return tuple(files)


def delete_index_files(context: TableContext, files: Iterable[IndexFile]) -> None:
    """Delete index files that no snapshot references; storage errors are suppressed."""
    try:
        context.storage.delete([context.paths.index(f.file_name) for f in files])
    except OSError:
        return


def read_vector(context: TableContext, index_name: str, vector: VectorRange, row_count: int | None = None) -> Positions:
    """Return the row positions that a vector deletes; ``row_count``: the rows of its data file (None: not known).

    Raises CorruptTable for an index file that is missing or damaged, and for a vector that does not fit the data file
    or its recorded cardinality; StorageError when the store fails.
    """
    path = context.paths.index(index_name)
    with index_read_errors(path), context.storage.open_input(path) as source:
        if source.read(1) != _VERSION:
            raise UnsupportedFeature(f"{path} is not a deletion vector file of version 1", path=path)
        left = source.size() - vector.offset
        if vector.offset < 1 or not 0 <= vector.length <= left:
            raise CorruptTable(
                f"{path} has {source.size()} bytes, but the deletion vector of {vector.data_file} is recorded at "
                f"{vector.offset} with {vector.length} bytes",
                path=path,
                file=vector.data_file,
            )
        source.seek(vector.offset)
        head = source.read(min(LENGTH_BYTES + vector.length + CRC_BYTES, left))
    length = int.from_bytes(head[:LENGTH_BYTES], "big")
    known = [n for n in (vector.cardinality, row_count) if n is not None]
    positions, wide = decode_vector(head[: LENGTH_BYTES + length + CRC_BYTES], path, min(known, default=_MOST_UNKNOWN))
    stated = vector.length - LENGTH_BYTES - CRC_BYTES if wide else vector.length
    problem = None
    if length != stated:
        problem = f"has {length} bytes, but {stated} are recorded"
    elif vector.cardinality is not None and vector.cardinality != len(positions):
        problem = f"deletes {len(positions)} rows, but {vector.cardinality} are recorded"
    elif row_count is not None and len(positions) and positions[-1] >= row_count:
        problem = f"deletes row {positions[-1]}, but the file has {row_count} rows"
    if problem is not None:
        raise CorruptTable(
            f"{path}: the deletion vector of {vector.data_file} {problem}", path=path, file=vector.data_file
        )
    return positions


def merged(first: Positions, second: Positions) -> Positions:
    """Return the sorted positions that the first or the second vector deletes."""
    return np.union1d(first, second)
