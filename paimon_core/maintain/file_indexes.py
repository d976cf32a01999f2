"""Rewriting of file indexes: give existing data files the indexes that the table's options ask for (format 13.1).

Rows do not change: a data file keeps its name, and its manifest entry gets another index. The replaced index file stays
until a removal of orphans, because older snapshots may use it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

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
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.parallel_work import run_parallel
from paimon_core.plan.partitions import matching_partitions
from paimon_core.predicate import Where
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import TableSchema


def rewrite_indexes(context: TableContext, where: Where | None, *, every: bool) -> list[CommitMessage]:
    """Write the indexes and return a message for each bucket with a changed file.

    ``where`` selects partitions. Without ``every``, files that already have exactly the indexes of the options are
    skipped. A data file that a concurrent commit removes is skipped. If one file fails, the new index files are
    deleted.
    """
    indexes = indexed_fields(context.options.file_indexes, context.schema.by_name)
    matches = None if where is None else matching_partitions(context, where)
    entries = [e for e in latest_entries(context) if matches is None or matches(e.partition)]
    done: list[CommitMessage] = []

    def rewrite(entry: ManifestEntry) -> CommitMessage | None:
        file = _rewritten(context, entry, indexes, every=every)
        if file is None:
            return None
        place = (entry.partition, entry.bucket, entry.total_buckets)
        done.append(message := CommitMessage(*place, compact_before=(entry.file,), compact_after=(file,)))
        return message

    with aborted_on_error(done, context):
        rewritten = by_bucket(m for m in run_parallel(rewrite, entries) if m is not None)
    return [_joined(messages) for messages in rewritten.values()]


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
    context: TableContext, entry: ManifestEntry, indexes: Sequence[IndexedField], *, every: bool
) -> DataFile | None:
    """Return the file with the wanted indexes; None when nothing changes or another commit has removed the file."""
    wanted = _Wanted.of(context, indexes, entry.file.schema_id)
    reader = BucketReader(context, entry.partition, entry.bucket, threads=False)
    file = entry.file
    others = tuple(name for name in file.extra_files if name not in file.index_files)
    try:
        held = _held(context, reader, file)
        if not every and held is not None and _places(held) == {(f.index.name, f.index.kind) for f in wanted.fields}:
            return None
        if not wanted.fields:
            return None if held is None else replace(file, extra_files=others, embedded_index=None)
        data = _build(reader, file, wanted)
    except CorruptTable as error:
        if error.facts.get("missing") and entry.identity not in {e.identity for e in latest_entries(context)}:
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
    """Return the column and the kind of each index; None for bytes that do not decode: the caller replaces them."""
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
