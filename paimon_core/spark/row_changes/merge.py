"""merge_spark: merge a DataFrame into a table in Spark tasks; the driver plans and commits.

Tasks read the columns of the target that the merge needs, Spark joins them with the source and evaluates the clauses,
and tasks write the changes (``row_messages``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.storagelevel import StorageLevel

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.predicate import Predicate
from paimon_core.spark.arguments import check_session_and_table
from paimon_core.spark.row_changes.delete_update import settled
from paimon_core.spark.row_changes.merge_changes import merge_changes
from paimon_core.spark.row_changes.merge_clauses import SparkClauses
from paimon_core.spark.row_changes.merge_source import converted, key_statistics
from paimon_core.spark.row_changes.row_messages import row_messages
from paimon_core.spark.task_errors import errors_of_tasks
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.rows.delete_update import commit_change
from paimon_core.table.rows.merge_clauses import Delete, Insert, Update
from paimon_core.table.table import Table

_UPDATE, _INSERT = Update(), Insert()


def merge_spark(
    spark: SparkSession,
    table: Table,
    source: DataFrame,
    on: str | Sequence[str],
    *,
    when_matched: Update | Delete | Sequence[Update | Delete] | None = _UPDATE,
    when_not_matched: Insert | Sequence[Insert] | None = _INSERT,
    when_not_matched_by_source: Update | Delete | Sequence[Update | Delete] | None = None,
    user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
) -> Snapshot | None:
    """Update, delete and insert rows by the rows of ``source``, as ``Table.merge`` does; None when nothing changes.

    ``on``, the clauses and their order, nulls, errors and engines: see ``Table.merge``. Values may also be Columns of
    Spark, not functions. Conditions are predicates, texts of Spark SQL or Columns. Columns of the target are named
    ``x`` or ``target.x``, columns of the source ``source.x``. ``source_where`` and the values of ``Insert`` can use
    only the source; in ``source_where``, ``x`` is a column of the source.

    The driver holds commit messages, and the keys of the source if there are at most 10,000. If there are at most
    4,000,000 keys, the driver also makes a filter of the keys, for which it needs 8 bytes a key. The source is cached
    by Spark during the call. All jobs read one snapshot. When a concurrent commit changes partitions that may contain
    keys of the source (with ``when_not_matched_by_source``: any partition), the merge is computed again, up to
    ``commit.max-retries`` times; then CommitConflict is raised. After an error nothing is changed. With ``user`` and
    ``identifier`` a repeated call commits exactly once.
    """
    check_session_and_table(spark, table, Table)
    request = CommitRequest.of(table.context, user, identifier, properties)
    if (committed := request.committed_snapshot()) is not None:
        return table.settle(committed)
    if not isinstance(source, DataFrame):
        raise InvalidRequest(f"the source of merge_spark is a DataFrame of Spark, not {source!r:.60}")
    if source.isStreaming:
        raise InvalidRequest("the source of merge_spark must not be streaming: call merge_spark in foreachBatch")
    clauses = SparkClauses.of(table.context, source, on, when_matched, when_not_matched, when_not_matched_by_source)
    cached = not source.is_cached
    rows = source.persist(StorageLevel.MEMORY_AND_DISK) if cached else source
    try:

        def change(context: TableContext, plan: ScanPlan, where: Predicate | None) -> list[CommitMessage]:
            fitting = clauses if context is table.context else clauses.again(context)
            with errors_of_tasks(context.name):
                changes = merge_changes(spark, context, plan, where, fitting, prepared(fitting), keys)
            return row_messages(changes, table, context, plan)

        def prepared(fitting: SparkClauses) -> DataFrame:
            return converted(rows, fitting.fields, fitting.known, fitting.source_flags)

        with errors_of_tasks(table.name):
            keys = key_statistics(prepared(clauses), table.context, clauses.on)
        where = None if clauses.checked.not_matched_by_source else keys.may_match
        return settled(spark, table, commit_change(request, where, change))
    finally:
        if cached:
            rows.unpersist()
