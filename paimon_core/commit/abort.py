"""abort: delete the files of messages that will never be committed (format 14.6)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext


def abort(messages: Sequence[CommitMessage], context: TableContext) -> None:
    """Delete the new files of ``messages``; upgraded files, which a compaction kept as they were, stay.

    Never call it when the outcome of a commit is unknown. What cannot be deleted stays as an unreferenced file.
    """
    paths: list[str] = []
    for message in messages:
        kept = {f.file_name for f in message.compact_before}
        made = {f.file_name for f in (*message.new_files, *message.compact_after)} - kept
        partition = context.partition_path(message.partition)
        paths += [context.paths.data_file(partition, message.bucket, name) for name in sorted(made)]
    with contextlib.suppress(OSError):
        context.storage.delete(paths)
