"""DataFile: the record of one immutable data file in a manifest (format 4.3), and its form in JSON messages."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any

from paimon_core.metadata.column_stats import EMPTY_ROW, EMPTY_STATS, ColumnStats
from paimon_core.metadata.member_types import checked

INDEX_SUFFIX = ".index"
"""The end of the name of an index file, which contains the indexes of one data file."""


def index_file_name(name: str) -> str:
    """Return the name of the index file that is written with the data file ``name`` (format 13.1)."""
    return name + INDEX_SUFFIX


class FileSource(IntEnum):
    """Whether a write or a compaction wrote a file; DO NOT CHANGE, on disk."""

    APPEND = 0
    COMPACT = 1


@dataclass(frozen=True, slots=True)
class DataFile:
    """One immutable file and its statistics.

    Keys are serialized BinaryRows of the primary key without the partition keys.
    """

    file_name: str
    file_size: int
    row_count: int
    schema_id: int
    level: int = 0
    min_key: bytes = EMPTY_ROW
    max_key: bytes = EMPTY_ROW
    key_stats: ColumnStats = EMPTY_STATS
    value_stats: ColumnStats = EMPTY_STATS
    min_sequence_number: int = 0
    max_sequence_number: int = 0
    extra_files: tuple[str, ...] = ()
    creation_time_millis: int | None = None
    """The local wall clock time of the writer in milliseconds since 1970-01-01 00:00 local time (format 4.1)."""
    delete_row_count: int | None = None
    """The number of rows of kind -U and -D; None: not known, because an older writer did not record it."""
    embedded_index: bytes | None = None
    file_source: FileSource | None = None
    value_stats_cols: tuple[str, ...] | None = None
    """The columns of value_stats, in order; None: all columns of the file's schema."""
    external_path: str | None = None
    first_row_id: int | None = None
    write_cols: tuple[str, ...] | None = None
    write_cols_sequences: tuple[int, ...] | None = None

    @property
    def index_files(self) -> tuple[str, ...]:
        """The names of the files that contain the indexes of this file, in the same directory.

        In a valid table, each data file has at most one index file.
        """
        return tuple(name for name in self.extra_files if name.endswith(INDEX_SUFFIX))

    def upgraded(self, level: int) -> DataFile:
        """Return the record of the same file at another level; the file itself is not rewritten (format 8.5)."""
        return replace(self, level=level)


def bytes_to_plain(value: bytes) -> dict[str, str]:
    """Return ``value`` as a JSON value, ``{"b": base64}``."""
    return {"b": base64.b64encode(value).decode()}


def bytes_from_plain(value: Any) -> bytes:
    """Return the bytes that ``bytes_to_plain`` encoded; raises ValueError for any other value."""
    if not isinstance(value, Mapping) or value.keys() != {"b"} or not isinstance(value["b"], str):
        raise ValueError(f"{value!r:.80} is not bytes")
    return base64.b64decode(value["b"], validate=True)


def to_plain(file: DataFile) -> dict[str, Any]:
    """Return the file as JSON values, for commit messages and splits; manifests use another form."""
    return {f.name: _plain(getattr(file, f.name)) for f in fields(file)}


def from_plain(value: Any) -> DataFile:
    """Return the file that ``to_plain`` encoded; raises KeyError, TypeError or ValueError for any other value."""
    if not isinstance(value, dict):
        raise ValueError(f"{value!r:.80} is not a data file")
    out = {k: _revive(v) for k, v in value.items()}
    if out["file_source"] is not None:
        out["file_source"] = FileSource(out["file_source"])
    return checked(DataFile(**out))


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return bytes_to_plain(value)
    if isinstance(value, ColumnStats):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    return list(value) if isinstance(value, tuple) else value


def _revive(value: Any) -> Any:
    if isinstance(value, dict):  # a test for Mapping takes ten times as long, and a task decodes thousands of files
        if value.keys() == {"b"}:
            return bytes_from_plain(value)
        return checked(ColumnStats(**{k: _revive(v) for k, v in value.items()}))
    return tuple(value) if isinstance(value, list) else value
