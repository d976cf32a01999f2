"""Message check: checks that commit messages fit this table and that their files exist (format 14.5).

Messages may come from other processes or queues, and may belong to another table. Readers must be able to read every
committed file, so messages that this process did not just write are checked against the table and the storage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.errors import CommitConflict, CorruptTable, InvalidRequest
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.index_manifest import DELETION_VECTORS, HASH
from paimon_core.options import MAX_DYNAMIC_BUCKETS
from paimon_core.storage.paths import POSTPONE_BUCKET, stem_of

_COMMITTED_BEFORE = (
    "these messages were committed before, with higher sequence numbers: commit with a user and an identifier to "
    "commit exactly once"
)


def check_messages(messages: Sequence[Any], context: TableContext) -> None:
    """Raise InvalidRequest for a message that does not fit this table, CommitConflict if a new file is missing."""
    if not isinstance(messages, Sequence) or not all(isinstance(m, CommitMessage) for m in messages):
        raise InvalidRequest(f"commit takes a list of commit messages, not {messages!r:.80}")
    schema_ids = frozenset(context.schemas.ids()) if messages else frozenset()
    for message in messages:
        _check_place(message, context)
        changelog = (*message.changelog_files, *message.compact_changelog)
        _check_changelog(message, context)
        added = (*message.new_files, *message.compact_after, *changelog)
        for file in added:
            _check_file(file, context, schema_ids)
        # Files that a compaction only moves to another level exist, because they are files of the table.
        kept = {name for f in message.compact_before for name in (f.file_name, *f.extra_files)}
        wanted: dict[str, dict[str, int | None]] = {}
        for file in added:
            for path in context.file_paths(message.partition, message.bucket, file):
                directory, _, name = path.rpartition("/")
                if name not in kept:
                    wanted.setdefault(directory, {})[name] = file.file_size if name == file.file_name else None
        _check_indexes(message, context)
        for directory, files in wanted.items():
            _check_existing(directory, files, context)


def _check_existing(directory: str, wanted: Mapping[str, int | None], context: TableContext) -> None:
    """Raise CommitConflict for a file that is not in the directory, or not of the wanted size (None: any size)."""
    found = {i.name: i.size for i in context.storage.list(directory)}
    for name, size in wanted.items():
        if name not in found or size not in (None, found[name]):
            renumbered = any(other.startswith(f"{stem_of(name)}-") for other in found)
            why = _COMMITTED_BEFORE if renumbered else "it was deleted, or written to another table"
            raise CommitConflict(
                f"table {context.name}: file {name} of the commit is not in {directory}"
                + (f" with its {size} bytes: " if size is not None else ": ")
                + why,
                table=context.name,
                file=name,
            )


def _check_indexes(message: CommitMessage, context: TableContext) -> None:
    """Raise InvalidRequest for an index file that the table cannot have, CommitConflict for a missing index file."""
    indexes = (*message.new_indexes, *message.compact_new_indexes)
    if not indexes:
        return
    found = {i.name: i.size for i in context.storage.list(context.paths.index_directory)}
    for file in indexes:
        is_vectors = file.index_type == DELETION_VECTORS and context.options["deletion-vectors.enabled"]
        hashed = context.has_dynamic_buckets and not context.is_cross_partition
        if not is_vectors and not (file.index_type == HASH and hashed):
            raise InvalidRequest(
                f"a commit message has an index file of type {file.index_type!r:.40}, which table {context.name} "
                "does not have",
                file=file.file_name,
            )
        if found.get(file.file_name) != file.file_size:
            raise CommitConflict(
                f"table {context.name}: index file {file.file_name} of the commit is not in "
                f"{context.paths.index_directory} with its {file.file_size} bytes",
                table=context.name,
                file=file.file_name,
            )


def _check_place(message: CommitMessage, context: TableContext) -> None:
    """Raise InvalidRequest for a partition or bucket that the table cannot have."""
    buckets = context.options["bucket"]
    try:
        decode_row(message.partition, [f.type for f in context.schema.partition_fields])
        context.partition_path(message.partition)
    except CorruptTable as error:
        raise InvalidRequest(f"the partition of a commit message does not fit table {context.name}: {error}") from error
    if context.is_postponed:
        postponed = message.bucket == message.total_buckets == POSTPONE_BUCKET
        if not postponed and not 0 <= message.bucket < message.total_buckets:
            raise InvalidRequest(
                f"a commit message has bucket {message.bucket} of {message.total_buckets}, which table {context.name} "
                "with bucket = -2 cannot have",
                bucket=message.bucket,
            )
        return
    if not isinstance(message.total_buckets, int) or (message.total_buckets > 0) != (buckets > 0):
        raise InvalidRequest(
            f"a commit message states {message.total_buckets!r:.40} buckets, but table {context.name} has "
            f"bucket = {buckets}",
            bucket=message.bucket,
        )
    # A partition may have another number of buckets than the option; the commit compares that number with the message.
    highest = MAX_DYNAMIC_BUCKETS if context.has_dynamic_buckets else max(1, message.total_buckets)
    if not 0 <= message.bucket < highest:
        raise InvalidRequest(
            f"a commit message has bucket {message.bucket} of {message.total_buckets}, but table {context.name} has "
            f"bucket = {buckets}",
            bucket=message.bucket,
        )


def _check_changelog(message: CommitMessage, context: TableContext) -> None:
    """Raise InvalidRequest when the table has no changelog producer, or a changelog file has the name of another file.

    Names must differ because expiry deletes changelog files by name.
    """
    names = [f.file_name for f in (*message.changelog_files, *message.compact_changelog)]
    if names and not (context.is_keyed and context.options["changelog-producer"] != "none"):
        raise InvalidRequest(
            f"a commit message has changelog file {names[0]!r}, but table {context.name} has no changelog producer",
            file=names[0],
        )
    rows = (*message.new_files, *message.deleted_files, *message.compact_before, *message.compact_after)
    taken = {f.file_name for f in rows}
    for name in names:
        if name in taken:
            raise InvalidRequest(
                f"changelog file {name!r} of a commit message must not occur in it a second time", file=name
            )
        taken.add(name)


def _check_file(file: DataFile, context: TableContext, schema_ids: frozenset[int]) -> None:
    problem = ""
    if file.row_count < 1 or file.file_size < 1:
        problem = f"{file.row_count} rows in {file.file_size} bytes"
    elif not 0 <= file.level < 100:
        problem = f"level {file.level}"
    elif file.external_path is not None and context.paths.external.find(file.external_path) is None:
        problem = f"the external path {file.external_path}, which is not below one of allowed_roots"
    elif file.schema_id not in schema_ids:
        problem = f"schema {file.schema_id}, which table {context.name} does not have"
    else:
        try:
            for name in (file.file_name, *file.extra_files):
                context.paths.manifest(name)
            kinds = [f.type for f in context.schema.key_fields]
            decode_row(file.min_key, kinds)
            decode_row(file.max_key, kinds)
        except CorruptTable as error:
            problem = str(error)
    if problem:
        raise InvalidRequest(f"file {file.file_name!r} of a commit message has {problem}", file=file.file_name)
