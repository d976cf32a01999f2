"""The columns of the system tables about indexes: ``table_indexes`` and ``file_indexes``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.fileindex.container import FileIndex
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.manifests.entry_columns import EntryColumns, Indices
from paimon_core.metadata.manifests.index_manifest import IndexEntry, IndexFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.system.columns import Makers, from_attributes, from_rows
from paimon_core.table.system.partition_columns import partition_makers
from paimon_core.table.system.source import Source
from paimon_core.table_indexes.index_reads import index_read_errors

TABLE_INDEXES = (
    "partition STRING, bucket INT NOT NULL, index_type STRING NOT NULL, file_name STRING NOT NULL, "
    "file_size BIGINT NOT NULL, row_count BIGINT NOT NULL, "
    "dv_ranges ARRAY<ROW<f0 STRING NOT NULL, f1 INT NOT NULL, f2 INT NOT NULL, _CARDINALITY BIGINT> NOT NULL>, "
    "row_range_start BIGINT, row_range_end BIGINT, index_field_id INT, index_field_name STRING"
)
FILE_INDEXES = (
    "partition STRING, bucket INT NOT NULL, file_path STRING NOT NULL, file_size_in_bytes BIGINT NOT NULL, "
    "record_count BIGINT NOT NULL, schema_id BIGINT NOT NULL, column_name STRING NOT NULL, "
    "index_type STRING NOT NULL, storage_type STRING NOT NULL, index_file_path STRING, "
    "index_size_in_bytes BIGINT NOT NULL, index_container_size_in_bytes BIGINT NOT NULL, is_empty BOOLEAN NOT NULL"
)
_INDEX_COLUMNS = (
    "column_name index_type storage_type index_file_path index_size_in_bytes index_container_size_in_bytes is_empty"
)
_SAME = "index_type file_name file_size row_count"
_Index = tuple[int, str, str, str, str | None, int, int, bool]
"""Position of the file, column, kind, storage, path, bytes of the index, bytes of all indexes of the file, is empty."""


def table_indexes(source: Source) -> Makers:
    """Return one row per table index file: hash indexes, and deletion vectors with the position of each vector."""

    def read(snapshot: Snapshot | None) -> list[IndexEntry]:
        if snapshot is None:
            return []
        with source.context.manifests.reading(snapshot):
            return source.context.manifests.read_indexes(snapshot.index_manifest)

    found = source.of_snapshot(read)
    names = {f.id: f.name for f in source.context.schema.fields}
    absent = (None, None, None)
    return {
        **partition_makers(source.context, [e.partition for e in found]),
        "bucket": lambda: [e.bucket for e in found],
        **from_attributes([e.file for e in found], {name: name for name in _SAME.split()}),
        "dv_ranges": lambda: [_ranges(e.file) for e in found],
        **from_rows("row_range_start row_range_end index_field_id", [e.file.row_range or absent for e in found]),
        "index_field_name": lambda: [names.get((e.file.row_range or (0, 0, -1))[2]) for e in found],
    }


def _ranges(file: IndexFile) -> list[dict[str, Any]] | None:
    if file.vectors is None:
        return None
    return [{"f0": v.data_file, "f1": v.offset, "f2": v.length, "_CARDINALITY": v.cardinality} for v in file.vectors]


def file_indexes(source: Source) -> Makers:
    """Return one row per data file, indexed column and kind of index; opens index files that are separate files."""
    context = source.context
    entries = [entry for columns in source.each() for entry in columns.entries(_may_be_indexed(columns))]
    found = list(_indexes(context, entries))
    files = [entries[row[0]] for row in found]
    same = {"file_size_in_bytes": "file_size", "record_count": "row_count", "schema_id": "schema_id"}
    return {
        **partition_makers(context, [e.partition for e in files]),
        "bucket": lambda: [e.bucket for e in files],
        "file_path": lambda: _paths(context, files),
        **from_attributes([e.file for e in files], same),
        **from_rows(_INDEX_COLUMNS, [row[1:] for row in found]),
    }


def _may_be_indexed(columns: EntryColumns) -> Indices:
    """Return the positions of the files that have an index in their entry, or extra files."""
    embedded, extra = (columns.spans[name].lengths for name in ("embedded_index", "extra_files"))
    return np.flatnonzero((embedded >= 0) | (extra > 1))  # an empty array is one byte


def _paths(context: TableContext, entries: Iterable[ManifestEntry]) -> list[str]:
    """Return the path of each file; for a file outside of the table, the path that its manifest entry has."""
    directories: dict[tuple[bytes, int], str] = {}
    paths = []
    for e in entries:
        if e.file.external_path is not None:
            paths.append(e.file.external_path)
            continue
        directory = directories.get((e.partition, e.bucket))
        if directory is None:
            directory = context.paths.bucket(context.partition_path(e.partition), e.bucket)
            directories[e.partition, e.bucket] = directory
        paths.append(f"{directory}/{e.file.file_name}")
    return paths


def _indexes(context: TableContext, entries: list[ManifestEntry]) -> Iterator[_Index]:
    for at, entry in enumerate(entries):
        file = entry.file
        if file.embedded_index is not None:
            index = FileIndex.of_bytes(file.embedded_index, f"in the manifest entry of {file.file_name}")
            yield from _rows(at, index, "EMBEDDED", None, len(file.embedded_index))
            continue
        for name in file.index_files[:1]:
            path = context.file_path(entry.partition, entry.bucket, file, name)
            with index_read_errors(path), context.storage.open_input(path) as opened:
                index, size = _parsed(opened, path)
            yield from _rows(at, index, "FILE", path, size)


def _parsed(opened: pa.NativeFile, path: str) -> tuple[FileIndex, int]:
    size = opened.size()
    return FileIndex.parse(lambda start, length: opened.read_at(length, start), size, path), size


def _rows(at: int, index: FileIndex, storage: str, path: str | None, container: int) -> Iterator[_Index]:
    for column, kinds in index.places.items():
        for kind, (start, size) in kinds.items():
            yield at, column, kind, storage, path, size, container, start < 0
