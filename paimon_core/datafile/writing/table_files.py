"""Table files: creates the writers of a table's data and changelog files from the table's context."""

from __future__ import annotations

from typing import cast

from paimon_core.datafile.file_layout import FileLayout
from paimon_core.datafile.file_plan import FilePlan
from paimon_core.datafile.format_rules import fits_avro
from paimon_core.datafile.writing.external_places import ExternalPlaces
from paimon_core.datafile.writing.rolling_writer import RollingWriter
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import FileSource
from paimon_core.storage.paths import POSTPONE_BUCKET, FileNames


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
    """Return a writer of the data files of one bucket and level.

    With ``changelog``, the writer creates the changelog files of a flush or of a compaction into this level.

    Changelog files always have the source APPEND. ``names`` generates the file names; the default is a new generator.
    Raises InvalidRequest for a table whose options put new files outside of the allowed roots.
    """
    return RollingWriter(
        context.storage,
        context.paths,
        layout=_postponed_layout(context)
        if bucket == POSTPONE_BUCKET
        else _layout(context, level, None if changelog else source),
        partition=partition,
        partition_path=context.partition_path(partition),
        bucket=bucket,
        first_sequence=first_sequence,
        names=names,
        external=ExternalPlaces.of(context.options, context.paths.external),
    )


def _postponed_layout(context: TableContext) -> FileLayout:
    """Return the layout of the files of the postpone bucket; cached in the table's context."""
    found = context.derived.get(_postponed_layout)
    if found is None:
        plan = FilePlan.postponed(context.options, avro=fits_avro(context.schema))
        found = context.derived.setdefault(_postponed_layout, FileLayout(context.schema, context.options, plan))
    return cast(FileLayout, found)


def _layout(context: TableContext, level: int, source: FileSource | None) -> FileLayout:
    """Return the layout of data files, or of changelog files if ``source`` is None; cached in the table's context."""
    key = (FileLayout, level, source)
    found = context.derived.get(key)
    if found is None:
        options = context.options
        plan = FilePlan.changelog(options, level) if source is None else FilePlan.data(options, level, source)
        found = context.derived.setdefault(key, FileLayout(context.schema, options, plan))
    return cast(FileLayout, found)
