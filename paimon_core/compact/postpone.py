"""Postpone: compaction of the postpone bucket, which moves rows from this bucket to fixed buckets (format 11.3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from paimon_core.errors import CommitConflict, CorruptTable
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.table_identity import refreshed
from paimon_core.storage.paths import POSTPONE_BUCKET
from paimon_core.write.postpone import bucket_counts, spread
from paimon_core.write.table_writer import TableWriter


def spread_messages(context: TableContext, entries: Sequence[ManifestEntry]) -> list[CommitMessage]:
    """Write the postponed rows among the live ``entries`` to fixed buckets; return the messages of one COMPACT commit.

    Files are read in the order of their creation, so the rows of a later file count as newer. If a file has a newer
    schema than ``context``, the rows are written with the table's latest schema. Raises CommitConflict when a
    concurrent commit has removed a file.
    """
    context.options.check_writable(context.name)
    postponed = [e for e in entries if e.bucket == POSTPONE_BUCKET]
    if any(e.file.schema_id > context.schema.id for e in postponed):
        context = refreshed(context)
    files: dict[bytes, list[DataFile]] = defaultdict(list)
    for entry in sorted(postponed, key=lambda e: e.file.creation_time_millis or 0):
        files[entry.partition].append(entry.file)
    counts = bucket_counts(context, files, entries)
    try:
        written = spread(context, files, counts, TableWriter)
    except CorruptTable as error:
        live = {e.file.file_name for e in latest_entries(context)}
        if error.facts.get("missing") and any(e.file.file_name not in live for e in postponed):
            raise CommitConflict(
                f"table {context.name}: files of the postpone bucket were removed during the compaction, run it "
                f"again: {error}",
                table=context.name,
            ) from error
        raise
    return [
        *(
            CommitMessage(place, POSTPONE_BUCKET, POSTPONE_BUCKET, compact_before=tuple(f))
            for place, f in files.items()
        ),
        *map(_as_compaction, written),
    ]


def _as_compaction(message: CommitMessage) -> CommitMessage:
    """Return the message with its new files as files of a compaction, because the rows are not new in the table."""
    return replace(
        message,
        new_files=(),
        changelog_files=(),
        compact_after=message.new_files,
        compact_changelog=message.changelog_files,
    )
