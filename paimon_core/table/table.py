"""Table: the user's handle on one table, to read, write and maintain it.

Every method checks its request and calls the sub-package that does the work. The methods that write rows are in
``writable``, the methods that read in ``view`` (decision 0051).
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from paimon_core.argument_checks import given_millis
from paimon_core.errors import InvalidRequest
from paimon_core.health.plan.candidates import SAFE_ACTIONS
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import changing_same_table, same_table
from paimon_core.predicate import Where
from paimon_core.query.fallback import refuse_other_branch
from paimon_core.table.on_demand import (
    alter_table,
    analyze,
    branches_of,
    commit_request,
    compaction,
    expire_retained,
    idle_partitions,
    index_files,
    no_report,
    open_stream,
    parse_changes,
    plan,
    plan_sorted,
    requested_retentions,
    rescale,
    rewrite_indexes,
    rollback,
    rollback_target,
    run_rescales,
    run_task,
    run_tasks,
    sort_order,
)
from paimon_core.table.writable import WritableTable

if TYPE_CHECKING:
    from paimon_core.alter.changes import SchemaChange
    from paimon_core.compact.report import CompactReport
    from paimon_core.compact.task import CompactionTask
    from paimon_core.health.finding import Finding
    from paimon_core.health.plan.candidates import Budget
    from paimon_core.health.plan.outcome import OutcomeLog
    from paimon_core.health.plan.policy import Policy
    from paimon_core.maintain.expiry.snapshots import ExpireReport
    from paimon_core.maintain.file_indexes import IndexWork
    from paimon_core.metadata.commit_message import CommitMessage
    from paimon_core.table.refs.branches import Branches
    from paimon_core.table.stream.start import Start
    from paimon_core.table.stream.table_stream import TableStream
    from paimon_core.table.upkeep.maintenance import Maintenance
    from paimon_core.table.upkeep.maintenance_plan import MaintenancePlan
    from paimon_core.table.upkeep.maintenance_report import MaintenanceReport
    from paimon_core.table.upkeep.rescale_task import RescaleWork

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Table(WritableTable):
    """One table at its latest snapshot, to read, write and maintain; ``at`` returns a view of another snapshot.

    >>> orders = catalog.table("shop.orders")  # doctest: +SKIP
    >>> orders.write([{"id": 1, "price": 9.5}])  # doctest: +SKIP
    >>> orders.scan(where=col("price") > 5).to_arrow()  # doctest: +SKIP
    """

    # -- schema

    def alter(self, *changes: SchemaChange | str) -> Self:
        """Change columns, comments and options; return the table at its new schema (format 2.3).

        A change is a value of ``paimon_core.alter``, or a text (``alter.text``), which may state several changes:

        >>> orders = orders.alter(AddColumn("note", "STRING", after="id"), SetOption("write-only", "true"))
        ... # doctest: +SKIP
        >>> orders = orders.alter("RENAME COLUMN note TO remark, ALTER COLUMN price TYPE DOUBLE")  # doctest: +SKIP

        All changes apply, or none. Existing files are not rewritten: columns are found by field id, a new column is
        null in old rows even if it has a default, and values are cast when they are read. Concurrent alterations are
        all applied; an alteration that contradicts an earlier alteration fails. Other handles of the table, and writers
        that have started, keep the schema before the alteration and can still commit. Raises InvalidRequest, which
        names the column and the rule, InvalidOption, TableNotFound, CommitConflict when concurrent alterations were
        first at every attempt or concurrent commits make the change unsafe, and CommitStateUnknown.
        """
        values = [v for c in changes for v in (parse_changes(c) if isinstance(c, str) else [c])]
        committed: list[Snapshot] = []
        altered = replace(self, context=alter_table(self.context, values, committed))
        for snapshot in committed:
            altered.settle(snapshot)
        return altered

    def analyze(self, columns: Sequence[str] | None = None) -> Snapshot | None:
        """Compute and commit the row count, and planner statistics of ``columns`` (default: see below).

        The default is all columns except columns of nested types and VARIANT. Reads the latest snapshot and commits an
        ANALYZE snapshot; later commits inherit the statistics until the schema changes. Returns None for a table
        without snapshots. Raises SchemaMismatch for an unknown column or a column of a nested type or VARIANT,
        CommitConflict when the schema changed during the call.
        """
        return self._settled(analyze(commit_request(self.context, None, None, None), columns))

    # -- streams

    def stream(
        self,
        start: Start = None,
        *,
        full: bool = False,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        consumer: str | None = None,
        on_overwrite: str | None = None,
    ) -> TableStream:
        """Return a stream that follows the table; read it with ``poll`` or ``follow`` (docs/streams.md).

        ``start``: "full" (the content, then all changes), "latest" (only changes from now on), "earliest",
        "compacted-full" (the content at the latest compaction, then all changes), a snapshot id (the changes from that
        snapshot on; with ``full`` first its content), a datetime (the changes from the first snapshot at or after that
        time on), or a stored ``Position``. None: the options ``scan.*`` decide, by default "full". ``consumer`` names
        the file in which ``commit`` stores the progress. If the consumer exists, the stream continues at its progress,
        and ``start`` is ignored unless it is a ``Position``. ``on_overwrite``: "changes" (default), "skip" (as Java),
        "added" or "fail". Rows have the columns of this handle. Raises InvalidRequest for a wrong argument,
        SchemaMismatch for ``columns`` and ``where`` that do not fit, SnapshotNotFound for a start that has expired,
        UnsupportedFeature.
        """
        refuse_other_branch(self.context)
        return open_stream(
            self.context, start, full=full, columns=columns, where=where, consumer=consumer, on_overwrite=on_overwrite
        )

    # -- maintenance

    def plan_compaction(
        self,
        *,
        full: bool = False,
        where: Where | None = None,
        partition_idle_time: datetime.timedelta | None = None,
    ) -> list[CompactionTask]:
        """Return the compactions that the buckets need, largest first; ``where`` is on partition columns.

        ``partition_idle_time``: see ``compact``.

        When option ``full-compaction.delta-commits`` makes a full compaction due, the tasks are for all buckets that
        are not fully compacted. Later calls recognize this full compaction only if it is committed with the properties
        that ``compact.recent_compactions.marked`` returns.
        """
        context, idle = same_table(self.context), given_millis("partition_idle_time", partition_idle_time)
        partitions = None if idle is None else idle_partitions(context, where, idle)
        return plan(context, full=full, where=where, partitions=partitions)

    def run_compaction(self, task: CompactionTask) -> CommitMessage:
        """Run one planned compaction, in this process or in another process, and return the message to commit."""
        from paimon_core.compact.task import CompactionTask

        if not isinstance(task, CompactionTask):
            raise InvalidRequest(f"run_compaction takes a task of plan_compaction, not {task!r:.60}")
        return run_task(same_table(self.context), task)

    def compact(
        self,
        full: bool = False,
        where: Where | None = None,
        *,
        partition_idle_time: datetime.timedelta | None = None,
        user: str | None = None,
        properties: Mapping[str, str] | None = None,
        work: compaction.Work = run_tasks,
    ) -> CompactReport:
        """Merge sorted runs (or pack small files) as the options require; ``full`` merges each bucket into one run.

        The content of the table does not change, with one exception: a separate commit first moves the rows of the
        postpone bucket (``bucket = -2``) to their buckets. The moved rows count as later than all rows committed
        before; the separate commit raises CommitConflict when a concurrent commit removed these rows. The report states
        which files were picked, rewritten and committed; ``bool(report)`` is False when nothing was committed,
        ``report.snapshot`` is the last snapshot. All buckets are committed together; after a conflict, each bucket is
        committed separately. Buckets that still have ``num-sorted-run.stop-trigger`` runs or more are compacted again.
        Raises CommitConflict when concurrent commits conflicted in every bucket; the files of this compaction are then
        deleted. ``work`` runs the tasks; the default runs them in this process, as many at once as there are
        processors.

        With ``partition_idle_time``, a partition is compacted only if it had got no new file for this time when the
        call started; files of compactions count as new files. Raises InvalidRequest unless this time is a timedelta of
        0 or more.

        With ``clustering.incremental``, the rows of the runs that are merged are sorted by ``clustering.columns``. With
        ``where``, partitions that do not match are sorted too if they had no new files for
        ``clustering.history-partition.idle-to-full-sort``. Raises InvalidRequest for columns by which rows cannot be
        sorted.
        """
        author = commit_request(self.context, user, None, properties).author()
        idle = given_millis("partition_idle_time", partition_idle_time)
        with changing_same_table(self.context, guarded=False) as context:
            report = compaction.compact(context, author, full=full, where=where, idle_millis=idle, work=work)
        self._settled(report.snapshot)
        return report

    def sort_compact(
        self,
        order_by: Sequence[str],
        strategy: str = "order",
        where: Where | None = None,
        *,
        user: str | None = None,
        properties: Mapping[str, str] | None = None,
        work: compaction.Work = run_tasks,
    ) -> CompactReport:
        """Sort all rows of each partition of an append table without buckets, so that filters skip more files.

        ``strategy``: "order" compares the columns one after the other. "zorder" and "hilbert" (two columns or more) put
        rows close together whose values are similar in all columns. ``where`` is on partition columns. No row changes,
        and files that concurrent commits add are not changed. All partitions are committed together. After a conflict,
        each partition is committed separately. A partition in which a concurrent commit removed a file, or deleted rows
        of a file, is not changed. ``bool(report)`` is False when there was nothing to sort.

        Memory for each partition that is sorted at the same time: about twice ``write-buffer-size``. A larger partition
        is written to local disk, and needs about 2 MiB of memory for each ``write-buffer-size`` of rows. Raises
        InvalidRequest and SchemaMismatch for tables and columns that cannot be sorted, and CommitConflict when
        concurrent commits conflicted in every partition; the new files are then deleted.
        """
        author = commit_request(self.context, user, None, properties).author()
        with changing_same_table(self.context, guarded=False) as context:
            tasks = plan_sorted(context, sort_order(context, order_by, strategy), where)
            report = compaction.run(context, author, tasks, work) if tasks else no_report()
        self._settled(report.snapshot)
        return report

    def rescale(
        self,
        buckets: int | None = None,
        where: Where | None = None,
        *,
        user: str | None = None,
        properties: Mapping[str, str] | None = None,
        work: RescaleWork = run_rescales,
    ) -> Snapshot | None:
        """Rewrite partitions into another number of fixed ``buckets`` (default: option ``bucket``) in one commit.

        ``where`` is on partition columns; partitions that already have ``buckets`` buckets are skipped. No row changes.
        As in Java, the option ``bucket`` does not change. A partition whose number of buckets differs from the option
        can be read and compacted but not written, so alter the option to the new number first. Rows in the postpone
        bucket (``bucket = -2``) stay in this bucket. With the changelog producers lookup and full-compaction, only a
        compaction writes changes to the changelog: partitions with changes that the changelog lacks are compacted
        first, in a separate commit. Returns None when there was nothing to do.

        When another commit changes one of the partitions between the read and the commit, the rescale starts again, up
        to ``commit.max-retries`` times. A concurrent compaction that changes no row is no such change. After the
        rescale, a commit of rows that were written for the old number of buckets fails. Raises CommitConflict when each
        attempt was outdated (nothing is changed then), and InvalidRequest for a table without fixed buckets. Memory:
        about ``write-buffer-size`` and the memory of a compaction; with a primary key, other rows of a partition are
        stored on local disk until they are written. ``work`` runs the tasks, one for each partition.
        """
        request = commit_request(self.context, user, None, properties)
        with changing_same_table(self.context, guarded=False):
            return self._completed(rescale(request, buckets, where, work))

    def rewrite_file_index(
        self,
        where: Where | None = None,
        *,
        every: bool = False,
        user: str | None = None,
        properties: Mapping[str, str] | None = None,
        work: IndexWork = index_files,
    ) -> Snapshot | None:
        """Give existing data files the indexes of the options ``file-index.<kind>.columns`` (format 13.1).

        ``where`` is on partition columns. Files that have an index for all columns that the options name are skipped,
        unless ``every``. Indexes that the options do not name are removed. No row changes, and files that concurrent
        commits add keep the indexes that they have. All buckets are committed together. After a conflict, each bucket
        is committed separately. A bucket in which a concurrent commit removed or re-indexed one of the files is not
        changed. Returns None when there was nothing to do. Raises CommitConflict when every bucket had a conflict,
        CorruptTable for a data file that cannot be read. ``work`` runs the tasks, one for each bucket.
        """
        author = commit_request(self.context, user, None, properties).author()
        with changing_same_table(self.context, guarded=False) as context:
            messages = rewrite_indexes(context, where, every=every, work=work)
            report = compaction.commit_buckets(context, author, messages) if messages else no_report()
        return self._settled(report.snapshot)

    def mend(self, finding: Finding) -> Any:
        """Do what a finding of ``health`` advises, and return the report of this operation.

        >>> for finding in table.health().findings:  # doctest: +SKIP
        ...     if finding.safe:
        ...         table.mend(finding)

        Mends that are not ``safe`` delete versions, branches or positions of readers, or change options: read
        ``finding.text`` and ``finding.mend_cost`` first. The docstring of the method that does the operation states the
        effect of concurrent commits. Raises InvalidRequest for a finding whose mend needs a decision of a person, and
        the errors of the operation.
        """
        from paimon_core.table.upkeep.mends import mend

        return mend(self, finding)

    def plan_maintenance(
        self,
        budget: Budget | None = None,
        *,
        actions: Collection[str] = SAFE_ACTIONS,
        policy: Policy | None = None,
        log: OutcomeLog | None = None,
    ) -> MaintenancePlan:
        """Plan what maintenance is worth its cost, best first, within a budget; ``run`` of the plan does it.

        >>> plan = table.plan_maintenance(Budget(bytes=10**9, seconds=600, memory=4 << 30))  # doctest: +SKIP
        >>> print(plan.text())  # doctest: +SKIP
        >>> report = plan.run()  # doctest: +SKIP

        Only metadata of the latest snapshot is read. ``actions``: "compact", "cluster", "compact-manifests"; and only
        if named "expire" (snapshots that the options do not keep) and "rescale" (partitions with more buckets than
        option ``bucket``). ``policy`` decides what is worth its cost. With a ``log`` (``Catalog.maintenance_log``),
        predictions are learned from earlier runs, and ``run`` adds its outcomes; without one, nothing is recorded.
        docs/health.md describes the predictions. Raises InvalidRequest for an unknown action, SnapshotNotFound when the
        snapshot expires, CorruptTable for damaged metadata, UnsupportedFeature for a table that this library cannot
        write.
        """
        from paimon_core.table.upkeep.maintenance_plan import plan_tables

        return plan_tables([self], budget, actions=actions, policy=policy, log=log)

    def maintain(
        self,
        budget: Budget | None = None,
        *,
        actions: Collection[str] = SAFE_ACTIONS,
        policy: Policy | None = None,
        log: OutcomeLog | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> MaintenanceReport:
        """Do what ``plan_maintenance`` plans, and return the outcomes; see ``MaintenancePlan.run``."""
        return self.plan_maintenance(budget, actions=actions, policy=policy, log=log).run(properties=properties)

    # -- references and removal

    def expire_snapshots(
        self,
        *,
        keep_last: int | None = None,
        keep_max: int | None = None,
        older_than: datetime.timedelta | None = None,
        limit: int | None = None,
        dry_run: bool = False,
    ) -> ExpireReport:
        """Delete old snapshots and the files that only they use; tagged snapshots stay readable (format 16.1).

        Defaults come from the options ``snapshot.num-retained.min/max``, ``snapshot.time-retained`` and
        ``snapshot.expire.limit``. The options ``changelog.*`` may keep changelogs longer than snapshots. Then the
        changelogs of the deleted snapshots are kept, and this call also deletes the changelogs that are too old by
        these options. Raises InvalidRequest for a wrong argument, CorruptTable when a file that names used files cannot
        be read, TableNotFound when the table was dropped or re-created.
        """
        with changing_same_table(self.context, guarded=False) as context:
            snapshots, changelogs = requested_retentions(context, keep_last, keep_max, older_than, limit)
            return expire_retained(context, snapshots, changelogs, dry_run=dry_run)

    @property
    def maintenance(self) -> Maintenance:
        """Expiry, removal of orphans, repair and checks; its methods ``plan_*`` return a plan for ``apply``."""
        from paimon_core.table.upkeep.maintenance import Maintenance

        return Maintenance(self.context, self.settle)

    @property
    def branches(self) -> Branches:
        """The branches of the table; ``create`` starts a new branch from this branch."""
        return branches_of(self.context)

    def rollback(
        self,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        time: datetime.datetime | int | None = None,
        watermark: int | None = None,
    ) -> Snapshot:
        """Roll back: delete snapshots, changelogs and tags newer than the target; return the target (format 15.3).

        Later commits build on the target. The target is a snapshot (an expired snapshot is restored from its tag), a
        tag, or the last snapshot at or before a ``time`` or a ``watermark``. ``maintenance.plan_rollback`` shows which
        snapshots would be deleted. Raises SnapshotNotFound, TagNotFound, and CommitConflict when concurrent commits
        kept changing the table.
        """
        target = rollback_target(self.context, snapshot, tag, time, watermark)
        with changing_same_table(self.context) as context:
            return rollback(context, target)
