"""Rewriting of file indexes: give existing data files the indexes that the table's options ask for (format 13.1).

Rows do not change: a data file keeps its name, and only the index in its manifest entry is replaced. The replaced index
file stays until a removal of orphans, because older snapshots may use it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_core.argument_checks import flag
from paimon_core.errors import CorruptTable
from paimon_core.fileindex.builder import IndexBuilder, IndexedField, indexed_fields
from paimon_core.fileindex.container import FileIndex
from paimon_core.fileindex.keys import supports
from paimon_core.metadata.abort import aborted_on_error
from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, index_file_name
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_core.parallel_work import run_parallel
from paimon_core.plan.partitions import matching_partitions
from paimon_core.predicate import Where
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import TableSchema

IndexWork = Callable[[TableContext, Sequence[CommitMessage], bool], list[CommitMessage]]
"""Runs tasks as ``index_files`` does, in this process or in other processes; it raises if one task fails."""


def index_files(context: TableContext, tasks: Sequence[CommitMessage], every: bool) -> list[CommitMessage]:
    """Write the indexes of the files in ``compact_before`` of each task; return a message for each changed bucket.

    Without ``every``, files that already have exactly the indexes of the options are skipped. A data file that a
    concurrent commit removes is skipped. If one file fails, the new index files are deleted.
    """
    indexes = indexed_fields(context.options.file_indexes, context.schema.by_name)
    done: list[CommitMessage] = []

    def rewrite(task: CommitMessage) -> CommitMessage | None:
        (before,) = task.compact_before
        file = _rewritten(context, task, before, indexes, every=every)
        if file is None:
            return None
        done.append(message := replace(task, compact_after=(file,)))
        return message

    each = [replace(task, compact_before=(file,)) for task in tasks for file in task.compact_before]
    with aborted_on_error(done, context):
        rewritten = by_bucket(m for m in run_parallel(rewrite, each) if m is not None)
    return [_joined(messages) for messages in rewritten.values()]


def rewrite_indexes(
    context: TableContext, where: Where | None, *, every: bool, work: IndexWork = index_files
) -> list[CommitMessage]:
    """Write the indexes that ``index_files`` describes for the partitions that ``where`` selects."""
    flag("every", every)
    matches = None if where is None else matching_partitions(context, where)
    entries = by_bucket(e for e in latest_entries(context) if matches is None or matches(e.partition))
    tasks = [
        CommitMessage(*place, some[0].total_buckets, compact_before=tuple(e.file for e in some))
        for place, some in entries.items()
    ]
    return work(context, tasks, every) if tasks else []


def can_have_indexes(context: TableContext, schema_id: int) -> bool:
    """Whether files that were written with a schema can have at least one of the indexes that the options declare."""
    indexes = indexed_fields(context.options.file_indexes, context.schema.by_name)
    return bool(_Wanted.of(context, indexes, schema_id).fields)


def _joined(messages: Sequence[CommitMessage]) -> CommitMessage:
    before, after = ([f for m in messages for f in getattr(m, k)] for k in ("compact_before", "compact_after"))
    return replace(messages[0], compact_before=tuple(before), compact_after=tuple(after))


@dataclass(frozen=True)
class _Wanted:
    """The indexes that a file should have, with the column names and types of the schema that wrote the file."""

    fields: tuple[IndexedField, ...]
    schema: TableSchema

    @staticmethod
    def of(context: TableContext, indexes: Sequence[IndexedField], schema_id: int) -> _Wanted:
        """Return the wanted indexes of the files of one schema; columns are matched by field id.

        A column has no index in these files when the schema lacks the column, when the column has another type in the
        schema, or when the type does not support the index.
        """
        schema = context.schemas.read(schema_id)
        by_id = {f.id: f for f in schema.fields}
        fields = []
        for wanted in indexes:
            old = by_id.get(context.schema.by_name[wanted.index.column].id)
            if old is None or (old.type.root != context.schema.by_name[wanted.index.column].type.root):
                continue
            kind = old.type if wanted.index.key is None else old.type.children[1].type
            if supports(wanted.index.kind, kind):
                fields.append(IndexedField(replace(wanted.index, column=old.name), kind))
        return _Wanted(tuple(fields), schema)


def _rewritten(
    context: TableContext, task: CommitMessage, file: DataFile, indexes: Sequence[IndexedField], *, every: bool
) -> DataFile | None:
    """Return the file with the wanted indexes; None when nothing changes or another commit has removed the file."""
    wanted = _Wanted.of(context, indexes, file.schema_id)
    reader = BucketReader(context, task.partition, task.bucket, threads=False)
    others = tuple(name for name in file.extra_files if name not in file.index_files)
    try:
        held = _held(context, reader, file)
        if not every and held is not None and _places(held) == {(f.index.name, f.index.kind) for f in wanted.fields}:
            return None
        if not wanted.fields:
            return None if held is None else replace(file, extra_files=others, embedded_index=None)
        data = _build(reader, file, wanted)
    except CorruptTable as error:
        if error.facts.get("missing") and not _is_live(context, task, file):
            return None
        raise
    if data == held:
        return None
    if len(data) <= context.options["file-index.in-manifest-threshold"]:
        return replace(file, extra_files=others, embedded_index=data)
    # The name is random, because an older snapshot or another call may use the names that the data file's name implies.
    name = index_file_name(f"{file.file_name}-{uuid.uuid4().hex}")
    context.storage.write(reader.path_of(file, name), data)
    return replace(file, extra_files=(*others, name), embedded_index=None)


def _is_live(context: TableContext, task: CommitMessage, file: DataFile) -> bool:
    """Whether the latest snapshot has the file in the bucket of the task."""
    place = (task.partition, task.bucket, file.file_name)
    return any((e.partition, e.bucket, e.file.file_name) == place for e in latest_entries(context))


def _held(context: TableContext, reader: BucketReader, file: DataFile) -> bytes | None:
    """Return the bytes of the file's current index; None when the file has no index."""
    if file.embedded_index is not None or not file.index_files:
        return file.embedded_index
    path = reader.path_of(file, file.index_files[0])
    try:
        return context.storage.read(path)
    except FileNotFoundError:
        return None  # a lost index file is written again


def _places(held: bytes) -> set[tuple[str, str]] | None:
    """Return the column and the kind of each index; None for bytes that do not decode and must be replaced."""
    try:
        index = FileIndex.of_bytes(held, "present index")
    except CorruptTable:
        return None
    return {(column, kind) for column, kinds in index.places.items() for kind in kinds}


def _build(reader: BucketReader, file: DataFile, wanted: _Wanted) -> bytes:
    columns = dict.fromkeys(f.index.column for f in wanted.fields)
    builder = IndexBuilder(wanted.fields)
    for batch in reader.file(file, wanted.schema.select(list(columns))):
        builder.add(pa.Table.from_batches([batch]))
    return builder.finish()
