"""Bucket vectors: replace the deletion vectors of some files of one bucket (format 12.2).

In a table with fixed or dynamic buckets, each bucket has one index file, which is replaced as a whole. In a table
without buckets, only index files with a vector of a changed data file are replaced; all other vectors in these files
are copied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from paimon_core.codec.arrays import Positions
from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.manifests.index_manifest import IndexEntry, IndexFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table_indexes.live_vectors import Vectors
from paimon_core.table_indexes.vector_file import read_vector, write_vectors

Indexes = tuple[IndexFile, ...]


def index_files_by_bucket(entries: Iterable[IndexEntry]) -> dict[tuple[bytes, int], Indexes]:
    """Return the index files of deletion vectors, by (partition, bucket)."""
    found = by_bucket(entry for entry in entries if entry.file.vectors is not None)
    return {place: tuple(entry.file for entry in some) for place, some in found.items()}


def vectors_in(files: Iterable[IndexFile]) -> Vectors:
    """Return the vectors in index files, by the name of the data file."""
    return {vector.data_file: (file.file_name, vector) for file in files for vector in file.vectors or ()}


def replace_vectors(
    context: TableContext, there: Indexes, changed: Mapping[str, Positions], gone: Collection[str]
) -> tuple[Indexes, Indexes]:
    """Write index files with the ``changed`` positions of data files; return the index files to add and to delete.

    ``there``: the current index files of the bucket. ``gone``: data files whose vector is removed. Raises CorruptTable
    for an index file that is missing or damaged.
    """
    bucketed = context.has_buckets
    replaced = {*changed, *gone}
    if not changed and not any(replaced.intersection(f.data_files) for f in there):
        return (), ()
    touched = tuple(f for f in there if bucketed or replaced.intersection(f.data_files))
    vectors = {
        vector.data_file: read_vector(context, file.file_name, vector)
        for file in touched
        for vector in file.vectors or ()
        if vector.data_file not in replaced
    }
    return write_vectors(context, {**vectors, **changed}, single=bucketed), touched


def dropping_vectors(context: TableContext, messages: Iterable[CommitMessage]) -> list[CommitMessage]:
    """Return ``messages``, which delete data files, extended by the removal of the deletion vectors of these files.

    Raises CorruptTable for an index file that is missing or damaged.
    """

    def indexes(snapshot: Snapshot | None) -> list[IndexEntry]:
        return context.manifests.read_indexes(None if snapshot is None else snapshot.index_manifest)

    there = index_files_by_bucket(read_latest(context.snapshots, indexes))
    out = []
    for message in messages:
        gone = {f.file_name for f in message.deleted_files}
        files = there.get((message.partition, message.bucket), ())
        added, replaced = replace_vectors(context, files, {}, gone)
        out.append(replace(message, new_indexes=added, deleted_indexes=replaced))
    return out
