"""The columns of the system tables that list files: ``files`` and ``file_key_ranges``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.datafile.evolution.casts import find_cast
from paimon_core.errors import CorruptTable
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import FileSource
from paimon_core.metadata.manifests.entry_columns import EntryColumns
from paimon_core.schema import ROW_ID, DataField, TableSchema
from paimon_core.table.system.columns import Makers
from paimon_core.table.system.partition_columns import coded_partition_makers
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
_NUMBERS = {
    "bucket": "bucket",
    "schema_id": "schema_id",
    "level": "level",
    "record_count": "row_count",
    "file_size_in_bytes": "file_size",
    "min_sequence_number": "min_sequence_number",
    "max_sequence_number": "max_sequence_number",
    "creation_time": "creation_time_millis",
    "deleteRowCount": "delete_row_count",
    "first_row_id": "first_row_id",
}
"""Columns of numbers, with their names in ``EntryColumns``."""
_SOURCES: dict[int | None, str | None] = {None: None, **{source.value: source.name for source in FileSource}}
OWN_FILES = "file_name STRING NOT NULL"


def file_makers(source: Source) -> Iterator[Makers]:
    """Yield the columns of ``files`` and ``file_key_ranges``, one row per live file, with local times.

    Each item has the files of one manifest; no value is created for a file.
    """
    return (_makers(source.context, entries) for entries in source.each())


def _makers(context: TableContext, entries: EntryColumns) -> Makers:
    return {
        **coded_partition_makers(context, *entries.partition_codes()),
        **{name: partial(_numbers, entries, column) for name, column in _NUMBERS.items()},
        "file_path": lambda: _paths(context, entries),
        "file_name": lambda: _texts(entries, "file_name"),
        "file_format": lambda: pc.replace_substring_regex(_texts(entries, "file_name"), r"(?s)^.*\.", ""),
        "min_key": lambda: _key_texts(context, entries, "min_key"),
        "max_key": lambda: _key_texts(context, entries, "max_key"),
        "null_value_counts": lambda: _stats_texts(context, entries, _null_counts),
        "min_value_stats": lambda: _stats_texts(context, entries, _bounds("value_min_values")),
        "max_value_stats": lambda: _stats_texts(context, entries, _bounds("value_max_values")),
        "file_source": lambda: [_SOURCES[source] for source in entries.column("file_source")],
        "write_cols": lambda: entries.column("write_cols"),
    }


def _numbers(entries: EntryColumns, name: str) -> pa.Array:
    return pa.array(entries.numbers[name].astype(np.int64, order="C"), mask=entries.nulls.get(name))


def _texts(entries: EntryColumns, name: str) -> pa.Array:
    return pa.array(entries.bytes_at(name), pa.string())


def _paths(context: TableContext, entries: EntryColumns) -> pa.Array:
    """Return the path of each file; for a file outside of the table, the path that its manifest entry has."""
    code, partitions = entries.partition_codes()
    buckets, bucket = np.unique(entries.numbers["bucket"], return_inverse=True)
    each, place = np.unique(code * len(buckets) + bucket, return_inverse=True)
    directories = [
        context.paths.bucket(context.partition_path(partitions[at // len(buckets)]), int(buckets[at % len(buckets)]))
        for at in each.tolist()
    ]
    inside = pa.array(directories, pa.string()).take(pa.array(place))
    paths = pc.binary_join_element_wise(inside, _texts(entries, "file_name"), "/")
    if int(entries.spans["external_path"].lengths.max(initial=-1)) < 0:
        return paths
    return pc.coalesce(_texts(entries, "external_path"), paths)


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


def _key_texts(context: TableContext, entries: EntryColumns, name: str) -> pa.Array:
    """Return the text of each file's key, such as ``[1, x]``; null for files without keys."""
    rows = entries.bytes_at(name)

    def texts(key: tuple[int, bool], at: list[int]) -> pa.Array:
        if not key[1]:
            return pa.nulls(len(at), pa.string())
        fields = _schema(context, key[0]).key_fields
        columns = _decoded([rows[i] for i in at], fields, "keys", entries, at)
        return joined([object_texts(c, f.type) for c, f in zip(columns, fields, strict=True)], "[", "]", len(at))

    schemas = entries.column("schema_id")
    groups = _grouped((schema, any(row[:4])) for schema, row in zip(schemas, rows, strict=True))
    return _in_order(groups, texts, len(entries))


def _decoded(
    rows: Sequence[bytes], fields: Sequence[DataField], what: str, entries: EntryColumns, at: Sequence[int]
) -> list[pa.Array]:
    try:
        return decoded_columns(rows, [f.type for f in fields])
    except CorruptTable as error:
        (first,) = entries.column("file_name", np.array(at[:1]))
        message = f"the {what} of files such as {first} do not decode: {error}"
        raise CorruptTable(message, file=first) from error


_Stats = Callable[[EntryColumns, list[int], Sequence[DataField]], dict[int, tuple[pa.Array, DataField | None]]]
"""Returns the statistics of the files at some positions for some fields: by field id, the values (one per file) and the
field of the values."""


def _stats_texts(context: TableContext, entries: EntryColumns, read: _Stats) -> pa.Array:
    """Return the statistics of each file, such as ``{a=1, b=null}``, with names and types of the table's columns."""
    wanted = context.schema.untracked.fields

    def texts(key: tuple[Any, ...], at: list[int]) -> pa.Array:
        schema_id, write_cols, stats_cols, has_stats = key
        schema = _schema(context, schema_id).untracked
        if write_cols is not None and ROW_ID in write_cols:
            schema = schema.tracked()
        names = schema.by_name
        written = schema.fields if write_cols is None else tuple(names[n] for n in write_cols if n in names)
        covered = written if stats_cols is None else tuple(names[n] for n in stats_cols if n in names)
        if stats_cols is not None and len(covered) < len(stats_cols):
            covered, has_stats = (), False
        found = read(entries, at, covered) if has_stats else {}
        present = {f.id for f in written}
        columns = {}
        for f in wanted:
            if f.id not in present and read is _null_counts:
                columns[f.name] = _numbers(entries, "row_count").take(pa.array(at)).cast(pa.string())
            elif f.id in found:
                columns[f.name] = _as(found[f.id], f)
            else:
                columns[f.name] = pa.nulls(len(at), pa.string())
        return map_texts(columns, len(at))

    written_as = (entries.column(name) for name in ("schema_id", "write_cols", "value_stats_cols"))
    has_stats = (any(row[:4]) for row in entries.bytes_at("value_min_values"))
    return _in_order(_grouped(zip(*written_as, has_stats, strict=True)), texts, len(entries))


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


def _bounds(name: str) -> _Stats:
    def read(
        entries: EntryColumns, at: list[int], fields: Sequence[DataField]
    ) -> dict[int, tuple[pa.Array, DataField | None]]:
        columns = _decoded(entries.bytes_at(name, np.array(at)), fields, "statistics", entries, at)
        return {f.id: (column, f) for f, column in zip(fields, columns, strict=True)}

    return read


def _null_counts(
    entries: EntryColumns, at: list[int], fields: Sequence[DataField]
) -> dict[int, tuple[pa.Array, DataField | None]]:
    counts = entries.column("value_null_counts", np.array(at))
    return {
        f.id: (pa.array([row[place] if place < len(row) else None for row in counts], pa.int64()), None)
        for place, f in enumerate(fields)
    }
