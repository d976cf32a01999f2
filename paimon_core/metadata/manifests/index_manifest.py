"""Index manifests: the table index files of a snapshot, such as hash indexes and deletion vectors (format 4.4).

An index manifest is complete: it lists every index file of its snapshot. Decoding raises CorruptTable for a value of a
wrong type, and UnsupportedFeature for an entry of another version; both errors name the path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paimon_core.codec.record_file import read_records, write_records
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.manifests.index_names import INDEX_MANIFEST_VERSION

HASH = "HASH"
"""The index type of the key hashes of a dynamic bucket. DO NOT CHANGE, on disk."""
DELETION_VECTORS = "DELETION_VECTORS"
"""The index type of deletion vectors. DO NOT CHANGE, on disk."""
_ADD = 0
_ROW_RANGE = ("_ROW_RANGE_START", "_ROW_RANGE_END", "_INDEX_FIELD_ID")


@dataclass(frozen=True, slots=True)
class VectorRange:
    """The place of one deletion vector in its index file."""

    data_file: str
    """The name of the data file whose rows the vector deletes."""
    offset: int
    """The position in the index file, in bytes, at which the record of the vector starts."""
    length: int
    """The recorded length in bytes (format 12.1).

    For a vector of 32-bit positions, it is the length of the payload; for 64-bit positions, of the whole record.
    """

    cardinality: int | None = None
    """The number of deleted rows; None: not recorded."""


@dataclass(frozen=True, slots=True)
class IndexFile:
    """The record of one immutable table index file."""

    index_type: str
    file_name: str
    file_size: int
    row_count: int
    """The number of hashes, or of deletion vectors, in the file."""
    vectors: tuple[VectorRange, ...] | None = None
    """The deletion vectors of the file; None for other index types."""
    external_path: str | None = None
    is_global: bool = False
    """Whether the file is a global index, which this library does not write."""
    row_range: tuple[int, int, int] | None = None
    """The first and last row of a global index, and the id of its column."""

    @property
    def data_files(self) -> list[str]:
        """The names of the data files whose deletion vectors are in the file."""
        return [vector.data_file for vector in self.vectors or ()]


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One index file of a (partition, bucket); ``partition`` is a serialized BinaryRow."""

    partition: bytes
    bucket: int
    file: IndexFile


def _nullable(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None}


def _fields(**kinds: Any) -> list[dict[str, Any]]:
    return [{"name": name, "type": kind} for name, kind in kinds.items()]


INDEX_MANIFEST_SCHEMA = {
    "type": "record",
    "name": "record",
    "namespace": "org.apache.paimon.avro.generated",
    "fields": [
        *_fields(_VERSION="int", _KIND="int", _PARTITION="bytes", _BUCKET="int", _INDEX_TYPE="string"),
        *_fields(_FILE_NAME="string", _FILE_SIZE="long", _ROW_COUNT="long"),
        _nullable(
            "_DELETIONS_VECTORS_RANGES",
            {
                "type": "array",
                "items": [
                    "null",
                    {
                        "type": "record",
                        "name": "record__DELETIONS_VECTORS_RANGES",
                        "fields": [*_fields(f0="string", f1="int", f2="int"), _nullable("_CARDINALITY", "long")],
                    },
                ],
            },
        ),
        _nullable("_EXTERNAL_PATH", "string"),
        _nullable(
            "_GLOBAL_INDEX",
            {
                "type": "record",
                "name": "record__GLOBAL_INDEX",
                "fields": [
                    *_fields(_ROW_RANGE_START="long", _ROW_RANGE_END="long", _INDEX_FIELD_ID="int"),
                    _nullable("_EXTRA_FIELD_IDS", {"type": "array", "items": "int"}),
                    _nullable("_INDEX_META", "bytes"),
                ],
            },
        ),
    ],
}
"""The writer schema of an index manifest (format 4.4)."""


def encode_indexes(entries: Iterable[IndexEntry], compression: str, form: str = "avro") -> bytes:
    """Return the bytes of an index manifest; the entries must not contain global indexes.

    ``compression`` and ``form`` are values of the options ``manifest.compression`` and ``manifest.format``.
    """
    return write_records(INDEX_MANIFEST_SCHEMA, map(_record, entries), compression, form)


def _record(entry: IndexEntry) -> dict[str, Any]:
    file = entry.file
    ranges = None
    if file.vectors is not None:
        ranges = [
            {"f0": v.data_file, "f1": v.offset, "f2": v.length, "_CARDINALITY": v.cardinality} for v in file.vectors
        ]
    return {
        "_VERSION": INDEX_MANIFEST_VERSION,
        "_KIND": _ADD,
        "_PARTITION": entry.partition,
        "_BUCKET": entry.bucket,
        "_INDEX_TYPE": file.index_type,
        "_FILE_NAME": file.file_name,
        "_FILE_SIZE": file.file_size,
        "_ROW_COUNT": file.row_count,
        "_DELETIONS_VECTORS_RANGES": ranges,
        "_EXTERNAL_PATH": file.external_path,
        "_GLOBAL_INDEX": None,
    }


def decode_indexes(data: bytes, path: str) -> list[IndexEntry]:
    """Return the entries of an index manifest, in order; ``path`` names the manifest in errors."""
    return [_entry(record, path) for record in read_records(data, path)]


def _entry(record: Mapping[str, Any], path: str) -> IndexEntry:
    version = _value(record, "_VERSION", int, path)
    if version != INDEX_MANIFEST_VERSION:
        raise UnsupportedFeature(
            f"{path}: index manifest version {version!r} is not {INDEX_MANIFEST_VERSION}", path=path
        )
    if _value(record, "_KIND", int, path) != _ADD:
        raise CorruptTable(
            f"{path}: its field _KIND holds {record['_KIND']!r}; an index manifest has only adds", path=path
        )
    external = record.get("_EXTERNAL_PATH")
    if external is not None and not isinstance(external, str):
        raise CorruptTable(f"{path}: its field _EXTERNAL_PATH holds {external!r:.80}", path=path)
    kind = _value(record, "_INDEX_TYPE", str, path)
    ranges = record.get("_DELETIONS_VECTORS_RANGES")
    if kind == DELETION_VECTORS and not isinstance(ranges, Sequence):
        raise CorruptTable(f"{path}: deletion vectors have the ranges {ranges!r:.80}", path=path)
    vectors = None if kind != DELETION_VECTORS else tuple(_range(item, path) for item in ranges or ())
    return IndexEntry(
        _value(record, "_PARTITION", bytes, path),
        _value(record, "_BUCKET", int, path),
        IndexFile(
            kind,
            _value(record, "_FILE_NAME", str, path),
            _count(record, "_FILE_SIZE", path),
            _count(record, "_ROW_COUNT", path),
            vectors,
            external,
            record.get("_GLOBAL_INDEX") is not None or kind not in (HASH, DELETION_VECTORS),
            _row_range(record.get("_GLOBAL_INDEX"), path),
        ),
    )


def _row_range(item: Any, path: str) -> tuple[int, int, int] | None:
    if item is None:
        return None
    if not isinstance(item, Mapping):
        raise CorruptTable(f"{path}: a global index has the range {item!r:.80}", path=path)
    start, end, column = (_value(item, name, int, path) for name in _ROW_RANGE)
    return start, end, column


def _range(item: Any, path: str) -> VectorRange:
    if not isinstance(item, Mapping):
        raise CorruptTable(f"{path}: a deletion vector has the range {item!r:.80}", path=path)
    cardinality = item.get("_CARDINALITY")
    return VectorRange(
        _value(item, "f0", str, path),
        _count(item, "f1", path),
        _count(item, "f2", path),
        None if cardinality is None else _count(item, "_CARDINALITY", path),
    )


def _value(record: Mapping[str, Any], name: str, kind: type, path: str) -> Any:
    value = record.get(name)
    if type(value) is not kind:
        raise CorruptTable(f"{path}: its field {name} holds {value!r:.80}", path=path, field=name)
    return value


def _count(record: Mapping[str, Any], name: str, path: str) -> int:
    value: int = _value(record, name, int, path)
    if value < 0:
        raise CorruptTable(f"{path}: its field {name} holds {value!r}", path=path, field=name)
    return value


# -- JSON --------------------------------------------------------------------------------------------------------------


def index_to_plain(file: IndexFile) -> dict[str, Any]:
    """Return an index file as JSON values, for commit messages."""
    vectors = None if file.vectors is None else [range_to_plain(v) for v in file.vectors]
    return {
        "type": file.index_type,
        "name": file.file_name,
        "size": file.file_size,
        "rows": file.row_count,
        "vectors": vectors,
    }


def index_from_plain(value: Any) -> IndexFile:
    """Return the file that ``index_to_plain`` encoded; raises KeyError, TypeError or ValueError for any other value."""
    vectors = value["vectors"]
    return IndexFile(
        str(value["type"]),
        str(value["name"]),
        int(value["size"]),
        int(value["rows"]),
        None if vectors is None else tuple(map(range_from_plain, vectors)),
    )


def range_to_plain(item: VectorRange) -> list[Any]:
    """Return a range as JSON values, for commit messages, splits and tasks."""
    return [item.data_file, item.offset, item.length, item.cardinality]


def range_from_plain(value: Any) -> VectorRange:
    """Return the range that ``range_to_plain`` encoded; raises TypeError or ValueError for any other value."""
    name, offset, length, cardinality = value
    return VectorRange(str(name), int(offset), int(length), None if cardinality is None else int(cardinality))
