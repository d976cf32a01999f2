"""CommitMessage: what writers and compactors hand to the commit, per bucket (format 14.1)."""

from __future__ import annotations

import base64
import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.stats import ColumnStats

MESSAGE_VERSION = 1


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """The files that one (partition, bucket) gains and loses; nothing is visible until it is committed."""

    partition: bytes
    """A serialized BinaryRow of the partition columns."""
    bucket: int
    total_buckets: int
    new_files: tuple[DataFile, ...] = ()
    deleted_files: tuple[DataFile, ...] = ()
    compact_before: tuple[DataFile, ...] = ()
    compact_after: tuple[DataFile, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether committing it would change nothing."""
        return not (self.new_files or self.deleted_files or self.compact_before or self.compact_after)

    def to_bytes(self) -> bytes:
        """Versioned JSON, to travel between processes."""
        return json.dumps({"version": MESSAGE_VERSION, **_plain(self)}, separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(data: bytes) -> CommitMessage:
        """The inverse of ``to_bytes``; raises InvalidRequest for other bytes, UnsupportedFeature for a newer version."""
        try:
            value = json.loads(data)
            version = value.pop("version")
        except (ValueError, KeyError, AttributeError) as error:
            raise InvalidRequest(f"not a commit message: {error!r}") from error
        if version != MESSAGE_VERSION:
            raise UnsupportedFeature(f"commit message version {version} is not {MESSAGE_VERSION}", version=version)
        try:
            files = {k: tuple(map(_data_file, value.pop(k))) for k in _FILE_MEMBERS}
            return CommitMessage(partition=base64.b64decode(value.pop("partition")["b"]), **value, **files)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidRequest(f"not a commit message: {error!r}") from error


_FILE_MEMBERS = ("new_files", "deleted_files", "compact_before", "compact_after")


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"b": base64.b64encode(value).decode()}
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value


def _revive(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"b"}:
        return base64.b64decode(value["b"])
    if isinstance(value, dict):
        return ColumnStats(**{k: _revive(v) for k, v in value.items()})
    if isinstance(value, list):
        return tuple(map(_revive, value))
    return value


def _data_file(value: dict[str, Any]) -> DataFile:
    out = {k: _revive(v) for k, v in value.items()}
    if out["file_source"] is not None:
        out["file_source"] = FileSource(out["file_source"])
    return DataFile(**out)
