"""CommitMessage: what writers and compactors hand to the commit, per bucket (format 14.1)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.metadata.data_file import DataFile, bytes_from_plain, bytes_to_plain, from_plain, to_plain

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
        out: dict[str, Any] = {
            "version": MESSAGE_VERSION,
            "partition": bytes_to_plain(self.partition),
            "bucket": self.bucket,
            "total_buckets": self.total_buckets,
        }
        out.update({member: [to_plain(f) for f in getattr(self, member)] for member in _FILE_MEMBERS})
        return json.dumps(out, separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(data: bytes) -> CommitMessage:
        """The inverse of ``to_bytes``.

        Raises InvalidRequest for other bytes, UnsupportedFeature for a newer version.
        """
        try:
            value = json.loads(data)
            version = value.pop("version")
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise InvalidRequest(f"not a commit message: {error!r}") from error
        if version != MESSAGE_VERSION:
            raise UnsupportedFeature(f"commit message version {version} is not {MESSAGE_VERSION}", version=version)
        try:
            files: dict[str, Any] = {k: tuple(map(from_plain, value.pop(k))) for k in _FILE_MEMBERS}
            return CommitMessage(partition=bytes_from_plain(value.pop("partition")), **value, **files)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidRequest(f"not a commit message: {error!r}") from error


_FILE_MEMBERS = ("new_files", "deleted_files", "compact_before", "compact_after")
