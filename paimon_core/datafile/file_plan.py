"""FilePlan: the settings of one writer's files: name, level, source, format, compression, statistics and row limit."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.datafile.compressions import extension_of
from paimon_core.metadata.data_file import FileSource
from paimon_core.options import TableOptions


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The settings of the files of one writer (format 7.8)."""

    prefix: str
    """The first part of the file names."""
    level: int
    source: FileSource
    format: str
    """The format of the files: ``parquet``, ``orc`` or ``avro``."""
    compression: str
    stats_mode: str
    """The statistics mode of value columns for which no option sets a mode, in a table with a primary key."""
    row_limit: int | None
    """The maximum number of rows in a file; None: only the size limits a file."""
    indexed: bool = True
    """Whether the files get the table's file indexes; changelog files never do."""
    name_compression: str = ""
    """The compression that the file names contain; "" for none."""

    @property
    def suffix(self) -> str:
        """The end of the file names, which states the format."""
        return f".{self.name_compression}.{self.format}" if self.name_compression else f".{self.format}"

    @staticmethod
    def data(options: TableOptions, level: int, source: FileSource) -> FilePlan:
        """Return the plan of the data files of one level; target-file-row-num limits only files of source APPEND."""
        return FilePlan(
            prefix=options["data-file.prefix"],
            level=level,
            source=source,
            format=file_format(options, level),
            compression=_compression(options, level),
            stats_mode=_stats_mode(options, level),
            row_limit=options["target-file-row-num"] if source is FileSource.APPEND else None,
            name_compression=_name_compression(options),
        )

    @staticmethod
    def postponed(options: TableOptions, *, avro: bool) -> FilePlan:
        """Return the plan of the files of the postpone bucket (format 11.3).

        ``avro``: whether the format Avro can store the rows. The writer appends its name to the prefix ``data-``.
        """
        return FilePlan(
            prefix="data-",
            level=0,
            source=FileSource.APPEND,
            format=str(options["file.format.per.level"].get(0, "avro")) if avro else file_format(options, 0),
            compression=_compression(options, 0),
            stats_mode="none" if avro else _stats_mode(options, 0),
            row_limit=options["target-file-row-num"],
            indexed=False,
        )

    @staticmethod
    def changelog(options: TableOptions, level: int) -> FilePlan:
        """Return the plan of the changelog files of a flush (level 0) or of a compaction into ``level``."""
        return FilePlan(
            prefix=options["changelog-file.prefix"],
            level=level,
            source=FileSource.APPEND,
            format=options["changelog-file.format"] or file_format(options, level),
            compression=options["changelog-file.compression"] or _compression(options, level),
            stats_mode=options["changelog-file.stats-mode"] or _stats_mode(options, level),
            row_limit=None,
            indexed=False,
            name_compression=_name_compression(options),
        )


def file_format(options: TableOptions, level: int) -> str:
    """Return the format of new data files of ``level``."""
    return str(options["file.format.per.level"].get(level, options["file.format"]))


def _compression(options: TableOptions, level: int) -> str:
    return str(options["file.compression.per.level"].get(level, options["file.compression"]))


def _name_compression(options: TableOptions) -> str:
    """Return the extension for option file.compression, even for levels and changelogs with another compression.

    Return "" unless option file.suffix.include.compression is true. Java does the same.
    """
    return (extension_of(options["file.compression"]) or "") if options["file.suffix.include.compression"] else ""


def _stats_mode(options: TableOptions, level: int) -> str:
    return str(options["metadata.stats-mode.per.level"].get(level, options["metadata.stats-mode"]))
