"""Upserts: a streaming query that writes each micro-batch with ``write_spark``, also in output mode ``update``.

Spark supports no output mode ``update`` for sinks in Python. Here ``foreachBatch`` writes the rows that a batch has
changed, and their keys replace the older rows. Tasks shuffle the rows to their buckets, also to dynamic and postponed
buckets, so no row passes through the driver.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from paimon_core.errors import InvalidRequest
from paimon_core.spark.arguments import check_table
from paimon_core.spark.streams.sink import query_user
from paimon_core.spark.writes.batch_settings import known_python, runs_python
from paimon_core.spark.writes.data_columns import check_columns
from paimon_core.spark.writes.writer import write_spark
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table

MODES = ("append", "update")
_REPLACING = ("deduplicate", "partial-update")


def write_stream_spark(
    frame: DataFrame,
    table: Table,
    *,
    checkpoint: str,
    mode: str = "append",
    user: str | None = None,
    kinds: str | None = None,
) -> DataStreamWriter:
    """Return a writer of a streaming DataFrame; ``.trigger(...)`` and ``.start()`` of the writer start the query.

    Each batch is one commit, exactly once, even if Spark repeats tasks or the whole batch after a restart.
    ``checkpoint`` is the directory of Spark's checkpoint of this query. ``user`` is the commit user; it must be given
    when the checkpoint is not on a local disk, and belongs to this checkpoint only. ``mode``: "append", or "update" for
    queries with aggregations, whose changed rows replace the rows with their keys. ``kinds`` is the column of row
    kinds, as in ``write_spark``.

    Raises InvalidRequest for another mode, for a DataFrame that is not streaming, and for mode "update" of a table
    without a primary key or with a merge engine that would count a replaced row again; SchemaMismatch for columns that
    do not fit. A failing batch ends the query with the error of ``write_spark``.
    """
    check_table(table, Table)
    if not isinstance(frame, DataFrame) or not frame.isStreaming:
        raise InvalidRequest(f"table {table.name}: write_stream_spark takes a streaming DataFrame: use write_spark")
    if mode not in MODES:
        hint = "; format('paimon') writes output mode complete" if mode == "complete" else ""
        raise InvalidRequest(f"mode is one of {', '.join(MODES)}, not {mode!r:.40}{hint}", name="mode")
    if mode == "update":
        _check_updates(table)
    if not isinstance(checkpoint, str) or not checkpoint:
        raise InvalidRequest(
            f"checkpoint is the directory of the checkpoint, not {checkpoint!r:.80}", name="checkpoint"
        )
    table.context.options.check_writable(table.name)
    check_columns(table.schema, frame.schema, () if kinds is None else {kinds})
    if user is not None:
        CommitRequest.of(table.context, user, 0, None)  # refuses a wrong user now, not in the first batch
    given = {} if user is None else {"commit.user": user}
    python = runs_python(frame)  # a batch does not show the query that makes its rows

    def write(batch: DataFrame, number: int) -> None:
        # Spark has written the id of the query to the checkpoint before its first batch.
        of_query = query_user({**given, "checkpointLocation": checkpoint}, table.name)
        if CommitRequest.of(table.context, of_query, number, None).committed_snapshot() is not None:
            # The commit is there, but Spark may not have stored the state of aggregations: it does so in the tasks.
            batch.write.format("noop").mode("overwrite").save()
        with known_python(python):
            write_spark(batch, table, kinds=kinds, user=of_query, identifier=number)

    return frame.writeStream.outputMode(mode).option("checkpointLocation", checkpoint).foreachBatch(write)


def _check_updates(table: Table) -> None:
    if not table.context.is_keyed:
        raise InvalidRequest(
            f"table {table.name} has no primary key: a row that mode 'update' writes again would be added again",
            table=table.name,
        )
    engine = table.context.options["merge-engine"]
    if engine not in _REPLACING:
        raise InvalidRequest(
            f"table {table.name} has merge-engine = {engine}: mode 'update' needs one of {', '.join(_REPLACING)}, "
            "because a row that it writes again replaces the row with its key",
            table=table.name,
            option="merge-engine",
        )
