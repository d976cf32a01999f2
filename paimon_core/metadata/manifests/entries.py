"""ManifestFile and ManifestEntry: the records of manifest lists and of manifests (format 4.2, 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from paimon_core.metadata.column_stats import EMPTY_STATS, ColumnStats
from paimon_core.metadata.data_file import DataFile


class FileKind(IntEnum):
    """Whether an entry adds or deletes its file; DO NOT CHANGE, on disk."""

    ADD = 0
    DELETE = 1


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One file added to or deleted from a bucket; ``partition`` is a serialized BinaryRow."""

    kind: FileKind
    partition: bytes
    bucket: int
    total_buckets: int
    file: DataFile

    @property
    def identity(self) -> tuple[bytes, int, int, str, tuple[str, ...], bytes | None, str | None]:
        """The values that a DELETE entry shares with the ADD entry that it cancels (format 4.6)."""
        f = self.file
        return (
            self.partition,
            self.bucket,
            f.level,
            f.file_name,
            f.extra_files,
            f.embedded_index,
            f.external_path,
        )


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """The record of one manifest in a manifest list.

    Its ranges (partitions, buckets, levels, row ids) show whether a reader needs the manifest.
    """

    file_name: str
    file_size: int
    num_added_files: int
    num_deleted_files: int
    partition_stats: ColumnStats = EMPTY_STATS
    schema_id: int = 0
    min_bucket: int | None = None
    max_bucket: int | None = None
    min_level: int | None = None
    max_level: int | None = None
    min_row_id: int | None = None
    max_row_id: int | None = None
