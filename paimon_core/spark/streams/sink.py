"""PaimonStreamWriter: the sink of Spark Structured Streaming (``df.writeStream.format("paimon")``).

Each micro-batch is one commit. The commit identifier is the number of the batch, and the commit user is the user of the
query. When Spark does not know whether a batch was committed, it repeats the batch; the repeated commit finds the first
commit and only deletes its own files. A batch is committed twice only when the snapshot of the first commit has expired
before the repetition.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import InvalidOption
from paimon_core.metadata.abort import abort
from paimon_core.spark.reference import TableReference
from paimon_core.spark.writes.task_writer import committed_messages, placed_messages, write_task
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table

USER = "commit.user"


class PaimonStreamWriter(DataSourceStreamArrowWriter):
    """Writes files in the tasks, and commits each batch exactly once on the driver."""

    def __init__(self, table: Table, kinds: str | None, user: str, *, overwrite: bool) -> None:
        """With ``overwrite``, each batch replaces the whole content of the table (output mode complete)."""
        table.context.options.check_writable(table.name)
        self._reference = TableReference.of(table.context)
        self._kinds = kinds
        self._user = user
        self._overwrite = overwrite

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the files of one task and return their messages; delete the files when the task fails."""
        return write_task(self._reference.open(), iterator, self._kinds, overwrite=self._overwrite)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Commit a batch; when the batch was committed before, delete the new files instead.

        With dynamic or postponed buckets, the driver first writes the rows of the batch to their buckets. Raises
        CommitConflict for the conflicts that any write may have; Spark repeats the batch when the query is started
        again.
        """
        table = Table(self._reference.open())
        request = CommitRequest.of(table.context, self._user, batchId, None, ends_input=False)
        if request.committed_snapshot() is not None:
            abort(committed_messages(messages), table.context)
            return
        found = placed_messages(table.context, messages, overwrites=self._overwrite)
        table.complete(request, found, Overwrite(lambda partition: True) if self._overwrite else None)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Keep all files: Spark also calls this when the commit has succeeded, or when its result is not known."""


def query_user(options: Mapping[str, str], table: str) -> str:
    """Return the commit user of a streaming query: the option ``commit.user``, else ``spark-<id of the query>``.

    The checkpoint contains the id of the query. So the id is the same after a restart. A new checkpoint, in which
    batches count from 0 again, has another id. Raises InvalidOption when there is neither an option nor a checkpoint:
    with a random user, a repeated batch would be committed twice.
    """
    if user := options.get(USER):
        return user
    place = options.get("checkpointlocation") or options.get("checkpointLocation")
    if place:
        try:
            return f"spark-{json.loads(Path(place.removeprefix('file:'), 'metadata').read_bytes())['id']}"
        except (OSError, ValueError, KeyError, TypeError):
            pass
    raise InvalidOption(
        f"a streaming write to {table} needs a checkpointLocation on a local disk, or option {USER}: a name that is "
        "used by this query and checkpoint only. Without it, a batch that Spark repeats would be committed twice",
        option=USER,
    )
