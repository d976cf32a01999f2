"""FilePlan: what sets the files of one writer apart: their name, level, source, compression, statistics and length."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.metadata.data_file import FileSource
from paimon_core.options import TableOptions


@dataclass(frozen=True, slots=True)
class FilePlan:
    """How one writer makes its files (format 7.8)."""

    prefix: str
    """The first part of their names."""
    level: int
    source: FileSource
    format: str
    """Of what format they are; the last part of their names."""
    compression: str
    stats_mode: str
    """The statistics of value columns that have no mode of their own."""
    row_limit: int | None
    """The most rows of a file; None: only its size counts."""

    @staticmethod
    def data(options: TableOptions, level: int, source: FileSource) -> FilePlan:
        """Data files of one level; the option target-file-row-num holds for new rows, not for compacted ones."""
        return FilePlan(
            prefix="data-",
            level=level,
            source=source,
            format=file_format(options, level),
            compression=_compression(options, level),
            stats_mode=options["metadata.stats-mode"],
            row_limit=options["target-file-row-num"] if source is FileSource.APPEND else None,
        )

    @staticmethod
    def changelog(options: TableOptions, level: int) -> FilePlan:
        """Changelog files of a flush (level 0) or of a compaction into ``level``: sorted by key, which may repeat."""
        return FilePlan(
            prefix=options["changelog-file.prefix"],
            level=level,
            source=FileSource.APPEND,
            format=options["changelog-file.format"] or file_format(options, level),
            compression=options["changelog-file.compression"] or _compression(options, level),
            stats_mode=options["changelog-file.stats-mode"] or options["metadata.stats-mode"],
            row_limit=None,
        )


def file_format(options: TableOptions, level: int) -> str:
    """The format of data files that are written for ``level``."""
    return str(options["file.format.per.level"].get(level, options["file.format"]))


def _compression(options: TableOptions, level: int) -> str:
    return str(options["file.compression.per.level"].get(level, options["file.compression"]))
