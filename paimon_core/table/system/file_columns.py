"""The columns of the system tables that list files: ``files`` and ``file_key_ranges``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.datafile.evolution.casts import find_cast
from paimon_core.errors import CorruptTable
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.schema import ROW_ID, DataField, TableSchema
from paimon_core.table.system.columns import Makers, from_attributes
from paimon_core.table.system.partition_columns import partition_makers
from paimon_core.table.system.source import Source
from paimon_core.table.system.texts import decoded_columns, joined, map_texts, object_texts

FILES = (
    "partition STRING, bucket INT NOT NULL, file_path STRING NOT NULL, file_format STRING NOT NULL, "
    "schema_id BIGINT NOT NULL, level INT NOT NULL, record_count BIGINT NOT NULL, "
    "file_size_in_bytes BIGINT NOT NULL, min_key STRING, max_key STRING, null_value_counts STRING NOT NULL, "
    "min_value_stats STRING NOT NULL, max_value_stats STRING NOT NULL, min_sequence_number BIGINT, "
    "max_sequence_number BIGINT, creation_time TIMESTAMP(3), deleteRowCount BIGINT, file_source STRING, "
    "first_row_id BIGINT, write_cols ARRAY<STRING>"
)
FILE_KEY_RANGES = (
    "partition STRING, bucket INT NOT NULL, file_path STRING NOT NULL, file_format STRING NOT NULL, "
    "schema_id BIGINT NOT NULL, level INT NOT NULL, record_count BIGINT NOT NULL, "
    "file_size_in_bytes BIGINT NOT NULL, min_key STRING, max_key STRING, first_row_id BIGINT"
)
_SAME = {
    "schema_id": "schema_id",
    "level": "level",
    "record_count": "row_count",
    "file_size_in_bytes": "file_size",
    "min_sequence_number": "min_sequence_number",
    "max_sequence_number": "max_sequence_number",
    "creation_time": "creation_time_millis",
    "deleteRowCount": "delete_row_count",
    "first_row_id": "first_row_id",
    "write_cols": "write_cols",
    "file_name": "file_name",
}
"""Columns that are attributes of ``DataFile``, by column name."""
OWN_FILES = "file_name STRING NOT NULL"


def file_makers(source: Source) -> Makers:
    """Return the columns of ``files`` and ``file_key_ranges``, one row per live file, with local times."""
    entries, context = source.entries(), source.context
    files = [e.file for e in entries]

    return {
        **partition_makers(context, [e.partition for e in entries]),
        **from_attributes(files, _SAME),
        "bucket": lambda: [e.bucket for e in entries],
        "file_path": lambda: file_paths(context, entries),
        "file_format": lambda: [f.file_name.rpartition(".")[2] for f in files],
        "min_key": lambda: _key_texts(context, files, [f.min_key for f in files]),
        "max_key": lambda: _key_texts(context, files, [f.max_key for f in files]),
        "null_value_counts": lambda: _stats_texts(context, files, _null_counts),
        "min_value_stats": lambda: _stats_texts(context, files, _bounds(lambda f: f.value_stats.min_values)),
        "max_value_stats": lambda: _stats_texts(context, files, _bounds(lambda f: f.value_stats.max_values)),
        "file_source": lambda: [None if f.file_source is None else f.file_source.name for f in files],
    }


def file_paths(context: TableContext, entries: Iterable[ManifestEntry]) -> list[str]:
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


def _schema(context: TableContext, schema_id: int) -> TableSchema:
    return context.schema if schema_id == context.schema.id else context.schemas.read(schema_id)


def _in_order(groups: dict[Any, list[int]], texts: Callable[[Any, list[int]], pa.Array], rows: int) -> pa.Array:
    """Return one text per row; ``groups`` has the row positions by key, ``texts`` returns the texts of a group."""
    if not rows:
        return pa.array([], pa.string())
    parts = [texts(key, at) for key, at in groups.items()]
    places = pa.array([at for group in groups.values() for at in group])
    return pa.chunked_array(parts).combine_chunks().take(pc.sort_indices(places))


def _grouped(keys: Iterable[Any]) -> dict[Any, list[int]]:
    groups: dict[Any, list[int]] = {}
    for at, key in enumerate(keys):
        groups.setdefault(key, []).append(at)
    return groups


def _key_texts(context: TableContext, files: Sequence[DataFile], rows: Sequence[bytes]) -> pa.Array:
    """Return the text of each file's key, such as ``[1, x]``; null for files without keys."""

    def texts(key: tuple[int, bool], at: list[int]) -> pa.Array:
        if not key[1]:
            return pa.nulls(len(at), pa.string())
        fields = _schema(context, key[0]).key_fields
        columns = _decoded([rows[i] for i in at], fields, "keys", files[at[0]])
        return joined([object_texts(c, f.type) for c, f in zip(columns, fields, strict=True)], "[", "]", len(at))

    groups = _grouped((f.schema_id, any(row[:4])) for f, row in zip(files, rows, strict=True))
    return _in_order(groups, texts, len(files))


def _decoded(rows: Sequence[bytes], fields: Sequence[DataField], what: str, first: DataFile) -> list[pa.Array]:
    try:
        return decoded_columns(rows, [f.type for f in fields])
    except CorruptTable as error:
        message = f"the {what} of files such as {first.file_name} do not decode: {error}"
        raise CorruptTable(message, file=first.file_name) from error


_Stats = Callable[[Sequence[DataFile], Sequence[DataField]], dict[int, tuple[pa.Array, DataField | None]]]
"""Returns the statistics of files for some fields: by field id, the values (one per file) and the field of the
values."""


def _stats_texts(context: TableContext, files: Sequence[DataFile], read: _Stats) -> pa.Array:
    """Return the statistics of each file, such as ``{a=1, b=null}``, with names and types of the table's columns."""
    wanted = context.schema.untracked.fields

    def texts(key: tuple[Any, ...], at: list[int]) -> pa.Array:
        schema_id, write_cols, stats_cols, has_stats = key
        schema = _schema(context, schema_id).untracked
        if write_cols is not None and ROW_ID in write_cols:
            schema = schema.tracked()
        names = schema.by_name
        written = schema.fields if write_cols is None else tuple(names[n] for n in write_cols if n in names)
        some = [files[i] for i in at]
        covered = written if stats_cols is None else tuple(names[n] for n in stats_cols if n in names)
        if stats_cols is not None and len(covered) < len(stats_cols):
            covered, has_stats = (), False
        found = read(some, covered) if has_stats else {}
        present = {f.id for f in written}
        columns = {}
        for f in wanted:
            if f.id not in present and read is _null_counts:
                columns[f.name] = pa.array([str(one.row_count) for one in some], pa.string())
            elif f.id in found:
                columns[f.name] = _as(found[f.id], f)
            else:
                columns[f.name] = pa.nulls(len(at), pa.string())
        return map_texts(columns, len(at))

    keys = ((f.schema_id, f.write_cols, f.value_stats_cols, any(f.value_stats.min_values[:4])) for f in files)
    return _in_order(_grouped(keys), texts, len(files))


def _as(found: tuple[pa.Array, DataField | None], wanted: DataField) -> pa.Array:
    """Return statistics as texts, cast to the column's type; null if the types have no cast."""
    array, stored = found
    if stored is None:
        return array.cast(pa.string())
    if stored.type.with_nullable(True) == wanted.type.with_nullable(True):
        return object_texts(array, wanted.type)
    cast = find_cast(stored.type, wanted.type)
    if cast is None:
        return pa.nulls(len(array), pa.string())
    return object_texts(cast(array, stored.type, wanted.type), wanted.type)


def _bounds(row: Callable[[DataFile], bytes]) -> _Stats:
    def read(files: Sequence[DataFile], fields: Sequence[DataField]) -> dict[int, tuple[pa.Array, DataField | None]]:
        columns = _decoded([row(f) for f in files], fields, "statistics", files[0])
        return {f.id: (column, f) for f, column in zip(fields, columns, strict=True)}

    return read


def _null_counts(
    files: Sequence[DataFile], fields: Sequence[DataField]
) -> dict[int, tuple[pa.Array, DataField | None]]:
    counts = [f.value_stats.null_counts for f in files]
    return {
        f.id: (pa.array([row[at] if at < len(row) else None for row in counts], pa.int64()), None)
        for at, f in enumerate(fields)
    }
