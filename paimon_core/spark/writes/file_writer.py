"""Write files: Python tasks read files with Arrow and write their rows to a table; no row passes through the JVM.

Task n reads part n of all files, and writes with sequence numbers that are higher than those of task n - 1 (lane n).
So of rows with the same key, the row of the later file, or the later row of a file, is the newest. A retried task
writes files with new names, and only the messages that Spark returns are committed, so each row is committed exactly
once. The driver holds the list of files and the commit messages. The memory of a task is about ``write-buffer-size``
and some blocks of the files, even if the files are large.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from paimon_core.errors import InvalidRequest, PaimonError, SchemaMismatch
from paimon_core.files.columns import written_fields
from paimon_core.files.file_format import FileFormat
from paimon_core.files.reading import FileRules, read_split
from paimon_core.files.splits import FileSplit, cut_files, list_files, task_count
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Predicate, Where, parse_where
from paimon_core.spark.arguments import check_session_and_table
from paimon_core.spark.compactor import maintenance_work
from paimon_core.spark.reference import TableReference
from paimon_core.spark.task_errors import errors_raised_in_tasks
from paimon_core.spark.tasks import collect_tasks, cores
from paimon_core.spark.writes.placement import place
from paimon_core.spark.writes.writer import checked_tasks, overwritten
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table
from paimon_core.write.postpone import writer_name
from paimon_core.write.staging import Staged, StagingWriter, is_staged
from paimon_core.write.table_writer import TableWriter

_WRITTEN, _REFUSED = b"\0", b"\1"
"""The first byte of a task's answer: the files that it wrote, or why it refused a file."""


def write_files_spark(
    spark: SparkSession,
    table: Table,
    paths: str | Iterable[str],
    format: str,
    *,
    columns: Sequence[str] | None = None,
    where: Where | None = None,
    options: Mapping[str, Any] | None = None,
    storage: Mapping[str, str] | None = None,
    overwrite: str | Predicate | None = None,
    user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    tasks: int | None = None,
) -> Snapshot | None:
    """Write the rows of files to ``table`` in one commit; return None when there was nothing to commit.

    ``paths``: a file, a folder with all files below it, or a list of these, on the local disk of all machines or in an
    object store; ``storage``: the options of the store, as for ``open_catalog``. ``format``: "parquet", "orc", "csv" or
    "json" (one object on each line), with ``options`` for CSV (delimiter, header, quote, escape, null_value, multiline,
    timestamp_format) and JSON (timestamp_format). Columns are matched by name, and every file must have exactly the
    columns of the table; with ``columns`` only these columns are read, and the other columns are null or have their
    default. A JSON file has a column when one of its objects has the member; the column is null for objects without the
    member. ``where`` selects rows by columns of the table. ``overwrite``, ``user``, ``identifier`` and the steps after
    the commit are as for ``write_spark``. ``tasks``: the number of tasks (default: from the bytes of the files).

    The files are listed once, when the job starts, and must not change until the job ends. Other writers may commit to
    the table meanwhile; conflicts are those of ``Table.write``. Raises NotFound for a path that does not exist;
    InvalidRequest for a path without files, a file that cannot be read, and wrong options; SchemaMismatch, which names
    the file and the row, for a row that does not fit the table; StorageError when a store fails, a file was changed or
    a task was lost; CommitConflict for a conflict with another commit. When an error is raised before the commit,
    nothing is committed, and the files of finished tasks are deleted. Only when Spark itself failed, these files remain
    as orphans.
    """
    check_session_and_table(spark, table, Table)
    spec = overwritten(table, overwrite)
    request = CommitRequest.of(table.context, user, identifier, properties)
    schema = table.context.schema
    fields = written_fields(schema, columns, table.name)
    filters = parse_where(where, schema.fields)
    checked_tasks(tasks)
    form = FileFormat.of(format, options)
    if (committed := request.committed_snapshot()) is not None:
        return table.settle(committed)
    files = list_files(paths, storage)
    parts = cut_files(files, form, 1 if table.context.is_cross_partition else tasks or task_count(files, cores(spark)))
    job = _Job(
        TableReference.of(table.context),
        FileRules(form, fields, schema.fields, is_exact=columns is None, where=filters),
        parts,
        overwrites=spec is not None,
        staging=writer_name() if is_staged(table.context) else None,
    )
    with errors_raised_in_tasks(table.name):
        messages = _collected(spark, job, table)
    return table.complete(request, messages, spec, work=maintenance_work(spark))


@dataclass(frozen=True)
class _Job:
    """The values that a task needs to write its part of the files."""

    target: TableReference
    rules: FileRules
    parts: Sequence[Sequence[FileSplit]]
    overwrites: bool
    staging: str | None
    """The name of the writer in the names of staged files; None when the tasks write the rows to buckets directly."""

    def __call__(self, payload: bytes) -> bytes:
        """Write one part; return its files, or the error of a refused file (Spark would repeat a task that raises)."""
        lane = int.from_bytes(payload, "big")
        try:
            return _WRITTEN + self._written(lane).to_bytes()
        except InvalidRequest as error:
            found = ["mismatch" if isinstance(error, SchemaMismatch) else "", error.message]
            return _REFUSED + json.dumps(found).encode()

    def _written(self, lane: int) -> Staged:
        context = self.target.open()
        staging = None if self.staging is None else StagingWriter(context, name=self.staging)
        with staging or TableWriter(context, ignore_existing=self.overwrites, lane=lane) as writer:
            for split in self.parts[lane]:
                for rows in read_split(split, self.rules):
                    writer.write(rows)
            return staging.finish() if staging else Staged(tuple(writer.flush()))


def _collected(spark: SparkSession, job: _Job, table: Table) -> list[CommitMessage]:
    """Run the tasks and return the messages of all rows; deletes all new files when a file was refused."""
    payloads = [lane.to_bytes(4, "big") for lane in range(len(job.parts))]
    answers = collect_tasks(spark, payloads, job)
    written = [Staged.from_bytes(answer[1:]) for answer in answers if answer[:1] == _WRITTEN]
    refused = [json.loads(answer[1:]) for answer in answers if answer[:1] == _REFUSED]
    messages = [message for one in written for message in one.messages]
    if refused:
        abort(messages, table.context)
        kind, message = refused[0]
        error: PaimonError = SchemaMismatch(message) if kind else InvalidRequest(message)
        raise error
    if job.staging is None:
        return messages
    return place(table.context, written, partial(collect_tasks, spark), overwrites=job.overwrites)
