"""Writers of the files of one table: what sets them up comes from the table's context, once a table."""

from __future__ import annotations

from typing import cast

from paimon_core.datafile.file_layout import FileLayout
from paimon_core.datafile.file_plan import FilePlan
from paimon_core.datafile.rolling_writer import RollingWriter
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import FileSource
from paimon_core.storage.paths import FileNames


def rolling_writer(
    context: TableContext,
    partition: bytes,
    bucket: int,
    *,
    level: int,
    source: FileSource = FileSource.APPEND,
    first_sequence: int = 0,
    changelog: bool = False,
    names: FileNames | None = None,
) -> RollingWriter:
    """A writer of data files into one bucket at one level, or of the changelog files of a flush or compaction into it.

    Changelog files are of source APPEND, whatever ``source`` says. ``names``: of the files, by default fresh ones.
    """
    return RollingWriter(
        context.storage,
        context.paths,
        layout=_layout(context, level, None if changelog else source),
        partition=partition,
        partition_path=context.partition_path(partition),
        bucket=bucket,
        first_sequence=first_sequence,
        names=names,
    )


def _layout(context: TableContext, level: int, source: FileSource | None) -> FileLayout:
    """The layout of data files, or (``source`` None) of changelog files; made once a table."""
    key = (FileLayout, level, source)
    found = context.derived.get(key)
    if found is None:
        options = context.options
        plan = FilePlan.changelog(options, level) if source is None else FilePlan.data(options, level, source)
        found = context.derived.setdefault(key, FileLayout(context.schema, options, plan))
    return cast(FileLayout, found)
