"""abort: deletes the files of messages that will never be committed (format 14.6)."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence

from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile


def abort(messages: Sequence[CommitMessage], context: TableContext) -> None:
    """Delete the new files of ``messages``, including changelog files and index files.

    A file that a compaction only moves to another level is kept, but extra files that the messages add to this file are
    deleted. ``abort`` must not be called when the outcome of a commit is unknown. Storage errors are suppressed: a file
    that cannot be deleted becomes an orphan.
    """
    paths: list[str] = []
    for message in messages:
        kept = {name for f in message.compact_before for name in (f.file_name, *f.extra_files)}
        paths += _paths(message.new_files, message, context)
        paths += _paths(message.compact_after, message, context, kept)
        paths += [context.paths.index(f.file_name) for f in (*message.new_indexes, *message.compact_new_indexes)]
    _delete(paths, context)
    abort_changelog(messages, context)


@contextlib.contextmanager
def aborted_on_error(messages: Sequence[CommitMessage], context: TableContext) -> Iterator[None]:
    """Return a context that deletes the files of ``messages`` when its ``with`` block raises an error.

    The block may add messages to the list; their files are deleted as well.
    """
    try:
        yield
    except BaseException:
        abort(messages, context)
        raise


def abort_changelog(messages: Sequence[CommitMessage], context: TableContext) -> None:
    """Delete only the changelog files of ``messages``: a committed overwrite does not reference them (format 14.2)."""
    paths: list[str] = []
    for message in messages:
        paths += _paths((*message.changelog_files, *message.compact_changelog), message, context)
    _delete(paths, context)


def _paths(
    files: Sequence[DataFile], message: CommitMessage, context: TableContext, kept: Collection[str] = ()
) -> list[str]:
    names = [(f, name) for f in files for name in (f.file_name, *f.extra_files) if name not in kept]
    return [context.file_path(message.partition, message.bucket, f, name) for f, name in names]


def _delete(paths: Sequence[str], context: TableContext) -> None:
    with contextlib.suppress(OSError):
        context.storage.delete(paths)
