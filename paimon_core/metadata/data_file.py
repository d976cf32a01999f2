"""DataFile: what a manifest records of one immutable data file (format 4.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from paimon_core.metadata.stats import EMPTY_ROW, EMPTY_STATS, ColumnStats


class FileSource(IntEnum):
    """What wrote a file; DO NOT CHANGE, on disk."""

    APPEND = 0
    COMPACT = 1


@dataclass(frozen=True, slots=True)
class DataFile:
    """One immutable file and its statistics; keys are serialized BinaryRows of the trimmed primary key."""

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
    """The writer's local wall clock read as if it were UTC (format 4.1)."""
    delete_row_count: int | None = None
    """Rows of kind -U and -D; None in old files: unknown."""
    embedded_index: bytes | None = None
    file_source: FileSource | None = None
    value_stats_cols: tuple[str, ...] | None = None
    """The columns that value_stats cover, in order; None: all columns of the file's schema."""
    external_path: str | None = None
    first_row_id: int | None = None
    write_cols: tuple[str, ...] | None = None
    write_cols_sequences: tuple[int, ...] | None = None

    def upgraded(self, level: int) -> DataFile:
        """The same file at another level: an upgrade rewrites no bytes (format 8.5)."""
        return replace(self, level=level)
