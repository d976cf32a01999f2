"""Manifests and manifest lists, by default as Avro files: encodes and decodes their records (format 4.1 to 4.3, 4.6).

Fields are found by name: unknown fields are skipped, nullable fields that an older writer did not write are None.
Records are converted column by column, so that a manifest of 10,000 files is read quickly. Decoding raises CorruptTable
for a value of a wrong type, and UnsupportedFeature for a record of another version; both errors name the path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain
from types import NoneType
from typing import Any

from paimon_core.codec.record_file import read_records, write_records
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.gc_pause import gc_paused
from paimon_core.metadata.remembered import remembered
from paimon_core.options.similar_names import refuse_misspelled

VERSION = 2
"""The ``_VERSION`` of entries and of list records; a permanent constant."""


def _field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind}


def _nullable(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None}


def _array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _record(name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": fields}


def _root(fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": "record", "namespace": "org.apache.paimon.avro.generated", "fields": fields}


def _stats(name: str) -> dict[str, Any]:
    return _record(
        name,
        [
            _field("_MIN_VALUES", "bytes"),
            _field("_MAX_VALUES", "bytes"),
            _nullable("_NULL_COUNTS", _array(["null", "long"])),
        ],
    )


MANIFEST_LIST_SCHEMA = _root(
    [
        _field("_VERSION", "int"),
        _field("_FILE_NAME", "string"),
        _field("_FILE_SIZE", "long"),
        _field("_NUM_ADDED_FILES", "long"),
        _field("_NUM_DELETED_FILES", "long"),
        _field("_PARTITION_STATS", _stats("record__PARTITION_STATS")),
        _field("_SCHEMA_ID", "long"),
        _nullable("_MIN_BUCKET", "int"),
        _nullable("_MAX_BUCKET", "int"),
        _nullable("_MIN_LEVEL", "int"),
        _nullable("_MAX_LEVEL", "int"),
        _nullable("_MIN_ROW_ID", "long"),
        _nullable("_MAX_ROW_ID", "long"),
    ]
)
"""The writer schema of a manifest list (format 4.2)."""

MANIFEST_SCHEMA = _root(
    [
        _field("_VERSION", "int"),
        _field("_KIND", "int"),
        _field("_PARTITION", "bytes"),
        _field("_BUCKET", "int"),
        _field("_TOTAL_BUCKETS", "int"),
        _field(
            "_FILE",
            _record(
                "record__FILE",
                [
                    _field("_FILE_NAME", "string"),
                    _field("_FILE_SIZE", "long"),
                    _field("_ROW_COUNT", "long"),
                    _field("_MIN_KEY", "bytes"),
                    _field("_MAX_KEY", "bytes"),
                    _field("_KEY_STATS", _stats("record__FILE__KEY_STATS")),
                    _field("_VALUE_STATS", _stats("record__FILE__VALUE_STATS")),
                    _field("_MIN_SEQUENCE_NUMBER", "long"),
                    _field("_MAX_SEQUENCE_NUMBER", "long"),
                    _field("_SCHEMA_ID", "long"),
                    _field("_LEVEL", "int"),
                    _field("_EXTRA_FILES", _array("string")),
                    _nullable("_CREATION_TIME", {"type": "long", "logicalType": "timestamp-millis"}),
                    _nullable("_DELETE_ROW_COUNT", "long"),
                    _nullable("_EMBEDDED_FILE_INDEX", "bytes"),
                    _nullable("_FILE_SOURCE", "int"),
                    _nullable("_VALUE_STATS_COLS", _array("string")),
                    _nullable("_EXTERNAL_PATH", "string"),
                    _nullable("_FIRST_ROW_ID", "long"),
                    _nullable("_WRITE_COLS", _array("string")),
                    _nullable("_WRITE_COLS_SEQUENCES", _array("long")),
                ],
            ),
        ),
    ]
)
"""The writer schema of a manifest (format 4.3)."""


# -- writing -----------------------------------------------------------------------------------------------------------


def encode_entries(entries: Iterable[ManifestEntry], compression: str, form: str = "avro") -> bytes:
    """Return the bytes of a manifest.

    ``compression`` and ``form`` are values of the options ``manifest.compression`` and ``manifest.format``.
    """
    return write_records(MANIFEST_SCHEMA, map(_entry_record, entries), compression, form)


def encode_list(files: Iterable[ManifestFile], compression: str, form: str = "avro") -> bytes:
    """Return the bytes of a manifest list."""
    return write_records(MANIFEST_LIST_SCHEMA, map(_list_record, files), compression, form)


def _stats_record(stats: ColumnStats) -> dict[str, Any]:
    return {"_MIN_VALUES": stats.min_values, "_MAX_VALUES": stats.max_values, "_NULL_COUNTS": list(stats.null_counts)}


def _as_list(values: tuple[Any, ...] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _entry_record(entry: ManifestEntry) -> dict[str, Any]:
    file = entry.file
    return {
        "_VERSION": VERSION,
        "_KIND": int(entry.kind),
        "_PARTITION": entry.partition,
        "_BUCKET": entry.bucket,
        "_TOTAL_BUCKETS": entry.total_buckets,
        "_FILE": {
            "_FILE_NAME": file.file_name,
            "_FILE_SIZE": file.file_size,
            "_ROW_COUNT": file.row_count,
            "_MIN_KEY": file.min_key,
            "_MAX_KEY": file.max_key,
            "_KEY_STATS": _stats_record(file.key_stats),
            "_VALUE_STATS": _stats_record(file.value_stats),
            "_MIN_SEQUENCE_NUMBER": file.min_sequence_number,
            "_MAX_SEQUENCE_NUMBER": file.max_sequence_number,
            "_SCHEMA_ID": file.schema_id,
            "_LEVEL": file.level,
            "_EXTRA_FILES": list(file.extra_files),
            "_CREATION_TIME": file.creation_time_millis,
            "_DELETE_ROW_COUNT": file.delete_row_count,
            "_EMBEDDED_FILE_INDEX": file.embedded_index,
            "_FILE_SOURCE": None if file.file_source is None else int(file.file_source),
            "_VALUE_STATS_COLS": _as_list(file.value_stats_cols),
            "_EXTERNAL_PATH": file.external_path,
            "_FIRST_ROW_ID": file.first_row_id,
            "_WRITE_COLS": _as_list(file.write_cols),
            "_WRITE_COLS_SEQUENCES": _as_list(file.write_cols_sequences),
        },
    }


def _list_record(file: ManifestFile) -> dict[str, Any]:
    return {
        "_VERSION": VERSION,
        "_FILE_NAME": file.file_name,
        "_FILE_SIZE": file.file_size,
        "_NUM_ADDED_FILES": file.num_added_files,
        "_NUM_DELETED_FILES": file.num_deleted_files,
        "_PARTITION_STATS": _stats_record(file.partition_stats),
        "_SCHEMA_ID": file.schema_id,
        "_MIN_BUCKET": file.min_bucket,
        "_MAX_BUCKET": file.max_bucket,
        "_MIN_LEVEL": file.min_level,
        "_MAX_LEVEL": file.max_level,
        "_MIN_ROW_ID": file.min_row_id,
        "_MAX_ROW_ID": file.max_row_id,
    }


# -- reading -----------------------------------------------------------------------------------------------------------

_Types = frozenset[type[Any]]
_NUMBER: _Types = frozenset({int})
_NUMBER_OR_NULL: _Types = frozenset({int, NoneType})
_TEXT: _Types = frozenset({str})
_TEXT_OR_NULL: _Types = frozenset({str, NoneType})
_BYTES: _Types = frozenset({bytes})
_BYTES_OR_NULL: _Types = frozenset({bytes, NoneType})
_LIST: _Types = frozenset({list})
_LIST_OR_NULL: _Types = frozenset({list, NoneType})
_OBJECT: _Types = frozenset({dict})
_KINDS = {kind.value: kind for kind in FileKind}
_SOURCES: dict[int | None, FileSource | None] = {None: None, **{source.value: source for source in FileSource}}


def decode_entries(data: bytes, path: str, holding: Collection[bytes] | None = None) -> list[ManifestEntry]:
    """Return the entries of a manifest in order.

    ``path`` names the manifest in errors. ``holding``: entries that contain none of these byte strings may be left out.
    """
    with gc_paused():
        return _entries(data, path, holding)


def _entries(data: bytes, path: str, holding: Collection[bytes] | None) -> list[ManifestEntry]:
    top = _Records(read_records(data, path, holding), path)
    top.check_version()
    files = _Records(top.column("_FILE", _OBJECT), path)
    data_files = map(
        DataFile,
        files.column("_FILE_NAME", _TEXT),
        files.counts("_FILE_SIZE"),
        files.counts("_ROW_COUNT"),
        files.counts("_SCHEMA_ID"),
        files.counts("_LEVEL"),
        files.column("_MIN_KEY", _BYTES),
        files.column("_MAX_KEY", _BYTES),
        files.stats("_KEY_STATS"),
        files.stats("_VALUE_STATS"),
        files.column("_MIN_SEQUENCE_NUMBER", _NUMBER),
        files.column("_MAX_SEQUENCE_NUMBER", _NUMBER),
        files.tuples("_EXTRA_FILES", _LIST, _TEXT),
        files.column("_CREATION_TIME", _NUMBER_OR_NULL),
        files.column("_DELETE_ROW_COUNT", _NUMBER_OR_NULL),
        files.column("_EMBEDDED_FILE_INDEX", _BYTES_OR_NULL),
        files.members("_FILE_SOURCE", _SOURCES),
        files.tuples("_VALUE_STATS_COLS", _LIST_OR_NULL, _TEXT),
        files.column("_EXTERNAL_PATH", _TEXT_OR_NULL),
        files.column("_FIRST_ROW_ID", _NUMBER_OR_NULL),
        files.tuples("_WRITE_COLS", _LIST_OR_NULL, _TEXT),
        files.tuples("_WRITE_COLS_SEQUENCES", _LIST_OR_NULL, _NUMBER),
    )
    return list(
        map(
            ManifestEntry,
            top.members("_KIND", _KINDS),
            top.column("_PARTITION", _BYTES),
            top.column("_BUCKET", _NUMBER),
            top.column("_TOTAL_BUCKETS", _NUMBER),
            data_files,
        )
    )


def decode_list(data: bytes, path: str) -> list[ManifestFile]:
    """Return the records of a manifest list, in order; ``path`` names the list in errors."""
    return list(_listed(data, path))


def keep_list(files: Iterable[ManifestFile], data: bytes, path: str) -> None:
    """Remember the records of a manifest list that was written as ``data``, so that reads of these bytes are cheap."""
    _listed.keep(tuple(files), data, path)


@remembered
def _listed(data: bytes, path: str) -> tuple[ManifestFile, ...]:
    top = _Records(read_records(data, path), path)
    top.check_version()
    return tuple(
        map(
            ManifestFile,
            top.column("_FILE_NAME", _TEXT),
            top.counts("_FILE_SIZE"),
            top.counts("_NUM_ADDED_FILES"),
            top.counts("_NUM_DELETED_FILES"),
            top.stats("_PARTITION_STATS"),
            top.counts("_SCHEMA_ID"),
            top.column("_MIN_BUCKET", _NUMBER_OR_NULL),
            top.column("_MAX_BUCKET", _NUMBER_OR_NULL),
            top.column("_MIN_LEVEL", _NUMBER_OR_NULL),
            top.column("_MAX_LEVEL", _NUMBER_OR_NULL),
            top.column("_MIN_ROW_ID", _NUMBER_OR_NULL),
            top.column("_MAX_ROW_ID", _NUMBER_OR_NULL),
        )
    )


class _Records:
    """The records of one manifest or manifest list, read column by column; all records have the same writer schema."""

    def __init__(self, records: list[Any], path: str) -> None:
        self.records = records
        self.path = path

    def column(self, name: str, types: _Types) -> list[Any]:
        """Return the values of one field; a nullable field that all records lack gives None for each record."""
        try:
            values = [record[name] for record in self.records]
        except KeyError:
            if NoneType in types:
                refuse_misspelled(name, self.records[0], self.path)
                return [None] * len(self.records)
            raise CorruptTable(f"{self.path}: its records have no field {name}", path=self.path, field=name) from None
        self._check(name, values, types)
        return values

    def counts(self, name: str) -> list[int]:
        """Return a field of numbers, which must not be negative."""
        values = self.column(name, _NUMBER)
        if values and min(values) < 0:
            raise self._bad(name, min(values))
        return values

    def members(self, name: str, known: dict[Any, Any]) -> list[Any]:
        """Return a field of numbers as the enum members with these numbers."""
        values = self.column(name, _NUMBER_OR_NULL if None in known else _NUMBER)
        try:
            return [known[value] for value in values]
        except KeyError as error:
            raise self._bad(name, error.args[0]) from None

    def tuples(self, name: str, types: _Types, items: _Types) -> list[Any]:
        """Return a field of arrays as tuples."""
        values = self.column(name, types)
        self._check(name, chain.from_iterable(filter(None, values)), items)
        return [None if value is None else tuple(value) for value in values]

    def stats(self, name: str) -> Iterable[ColumnStats]:
        """Return a field of column statistics (format 4.5)."""
        stats = _Records(self.column(name, _OBJECT), self.path)
        return map(
            ColumnStats,
            stats.column("_MIN_VALUES", _BYTES),
            stats.column("_MAX_VALUES", _BYTES),
            (counts or () for counts in stats.tuples("_NULL_COUNTS", _LIST_OR_NULL, _NUMBER_OR_NULL)),
        )

    def check_version(self) -> None:
        """Raise UnsupportedFeature for records of another version (format 4.2, 4.3)."""
        for version in set(self.column("_VERSION", _NUMBER)) - {VERSION}:
            raise UnsupportedFeature(
                f"{self.path}: manifest version {version} is not {VERSION}", path=self.path, version=version
            )

    def _check(self, name: str, values: Iterable[Any], types: _Types) -> None:
        if wrong := set(map(type, values)) - types:
            found = ", ".join(sorted(kind.__name__ for kind in wrong))
            raise CorruptTable(f"{self.path}: its field {name} holds {found}", path=self.path, field=name)

    def _bad(self, name: str, value: object) -> CorruptTable:
        return CorruptTable(f"{self.path}: its field {name} holds {value!r}", path=self.path, field=name)


# -- merging -----------------------------------------------------------------------------------------------------------


def merge_entries(entries: Iterable[ManifestEntry]) -> list[ManifestEntry]:
    """Return the entries without each pair of an ADD and a later DELETE of the same identity (format 4.6).

    A DELETE without an earlier ADD is kept. Raises CorruptTable for an ADD whose identity is already present, because a
    file is added once and deleted once.
    """
    merged: dict[Any, ManifestEntry] = {}
    for entry in entries:
        identity = entry.identity
        if entry.kind is FileKind.ADD:
            if identity in merged:
                raise CorruptTable(
                    f"data file {entry.file.file_name} of bucket {entry.bucket}, level {entry.file.level} is added "
                    f"twice, or again after it was deleted",
                    file=entry.file.file_name,
                    bucket=entry.bucket,
                )
            merged[identity] = entry
        elif merged.pop(identity, None) is None:
            merged[identity] = entry
    return list(merged.values())


def live_entries(entries: Iterable[ManifestEntry]) -> list[ManifestEntry]:
    """Return the ADD entries that no DELETE cancels.

    If ``entries`` are the base entries of a snapshot followed by its delta entries, the result is the live files of the
    snapshot. A DELETE without an earlier ADD is ignored.
    """
    return [entry for entry in merge_entries(entries) if entry.kind is FileKind.ADD]
