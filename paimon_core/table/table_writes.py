"""TableWrites: the methods of a table handle that write and commit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from paimon_core.commit.overwrite import Overwrite
from paimon_core.commit.read_set import Reads
from paimon_core.commit.retry import tries
from paimon_core.errors import CommitConflict, InvalidRequest, ReadOutdated, SnapshotNotFound
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.rules.engine_rules import check_deletes
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import refreshed
from paimon_core.plan.partitions import partitions_with_matches
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.predicate import Predicate, Where, parse_where, required_where
from paimon_core.query.scan import new_scan
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.rows.row_changes import (
    Assignments,
    changed_rows,
    check_assignments,
    check_takes_effect,
    deleted_by_key,
    updated_by_key,
)
from paimon_core.table.upkeep.analysis import analyze
from paimon_core.table.view import TableView
from paimon_core.table.writes.after_commit import failed_callbacks, maintain, raise_first
from paimon_core.table.writes.merged_write import MergeSchema, open_writer
from paimon_core.table.writes.message_check import check_messages
from paimon_core.table.writes.overwrite_target import overwrite_target
from paimon_core.table.writes.prepared import Prepared, check_not_committed, prepare
from paimon_core.write.table_writer import TableWriter


@dataclass(frozen=True, repr=False)
class TableWrites(TableView):
    """A table that rows can be written to, at its latest snapshot."""

    callbacks: tuple[Callable[[TableWrites, Snapshot], object], ...] = ()
    """Functions that run after each commit of this handle; see ``with_callbacks``."""

    def write(
        self,
        data: Any,
        kinds: Any = None,
        *,
        user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        watermark: int | None = None,
        merge_schema: MergeSchema = None,
    ) -> Snapshot | None:
        """Add rows in one commit (with a primary key: upsert by key); None when there was nothing to commit.

        ``data`` has an Arrow stream or consists of dicts: ``TableWriter.write`` describes its forms and errors.
        ``kinds``: the name of a column, or a column, of "+I", "-U", "+U", "-D". With ``user`` and ``identifier`` a
        repeated call commits exactly once, as long as the snapshot has not expired. ``watermark``: epoch milliseconds
        up to which the rows are complete. Afterwards, unless the table is ``write-only``, the written buckets are
        compacted and snapshots expire, as the options require.

        ``merge_schema=True`` first adds the columns that the table lacks, "widen" also widens types (default: the
        options ``write.merge-schema`` and ``write.merge-schema.type-widening``). The table is altered before the commit
        and stays so when the commit fails. This handle keeps its schema: ``refresh`` returns one with the new columns.
        """
        self._check_latest("write")
        request = CommitRequest.of(self.context, user, identifier, properties, watermark)
        if (committed_snapshot := request.committed_snapshot()) is not None:
            return self.settle(committed_snapshot)
        with open_writer(self.context, merge_schema) as writer:
            writer.write(data, kinds)
            messages, table = writer.flush(), replace(self, context=writer.context)
            return table.complete(replace(request, context=table.context), messages)

    def writer(self, *, merge_schema: MergeSchema = None) -> TableWriter:
        """Return a writer that turns batches into commit messages, which ``commit`` commits.

        ``merge_schema`` as in ``write``: the writer alters the table when a batch needs it, before it writes the batch.
        Several writers may do so at the same time; a change that contradicts an earlier one raises SchemaMismatch.
        ``commit`` accepts the messages on any handle of the table, also after further alterations: files keep the
        schema that they were written with, and columns are found by field id.
        """
        self._check_latest("write")
        return open_writer(self.context, merge_schema)

    def commit(
        self,
        messages: Sequence[CommitMessage],
        *,
        user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        watermark: int | None = None,
        overwrite: Overwrite | None = None,
        operation: str | None = None,
    ) -> Snapshot | None:
        """Commit messages and return the last snapshot of the commit; None when the messages are empty.

        Messages may come from other processes: they must fit the table, and their files must exist. Their rows count
        as later than all rows committed before and than those of earlier messages in the list; the commit may replace
        their files for that (decision 0014). It does not compact or expire. With ``user`` and ``identifier`` a repeated
        call commits exactly once, as long as the snapshot has not expired. Raises InvalidRequest, CommitConflict
        (nothing was committed, no file was deleted), CommitStateUnknown (check with ``committed`` before a retry).
        """
        self._check_latest("commit")
        request = CommitRequest.of(self.context, user, identifier, properties, watermark)
        if (committed_snapshot := request.committed_snapshot()) is None:
            check_messages(messages, self.context)
        if committed_snapshot is None or _has_compaction(messages):
            committed_snapshot = request.commit(messages, overwrite, operation)
        return None if committed_snapshot is None else self.settle(committed_snapshot)

    def committed(self, user: str, identifier: int) -> Snapshot | None:
        """Return the snapshot that ``user`` committed with ``identifier``; None when there is none or it has expired.

        Raises InvalidRequest when the user has committed a higher identifier instead.
        """
        return CommitRequest.of(self.context, user, identifier, None).committed_snapshot()

    def filter_committed(self, user: str, identifiers: Collection[int]) -> list[int]:
        """Return those ``identifiers`` that ``user`` has not committed: all above the user's highest (format 14.5).

        For a job that restarts and does not know which commits succeeded. A user whose snapshots have all expired
        counts as one that never committed.
        """
        if not isinstance(identifiers, Collection) or any(type(i) is not int for i in identifiers):
            raise InvalidRequest(f"identifiers must be whole numbers, not {identifiers!r:.60}")
        newest = CommitRequest.of(self.context, user, None, None).newest()
        return [i for i in identifiers if newest is None or i > newest.commit_identifier]

    def overwrite(
        self,
        data: Any,
        where: Where | None = None,
        *,
        user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        watermark: int | None = None,
        merge_schema: MergeSchema = None,
    ) -> Snapshot | None:
        """Replace rows by ``data`` in one commit; ``merge_schema`` as in ``write``.

        Without ``where`` it replaces the partitions that occur in the data, or the whole table when it has no
        partitions or ``dynamic-partition-overwrite`` is off. With ``where``, on partition columns only, it replaces the
        partitions that match, and every row of the data must belong to one of them.
        """
        self._check_latest("overwrite")
        request = CommitRequest.of(self.context, user, identifier, properties, watermark)
        target = self.overwrite_spec(where)
        if (committed_snapshot := request.committed_snapshot()) is not None:
            return self.settle(committed_snapshot)
        with open_writer(self.context, merge_schema, ignore_existing=True) as writer:
            writer.write(data)
            messages, table = writer.flush(), replace(self, context=writer.context)
            return table.complete(replace(request, context=table.context), messages, target)

    def overwrite_spec(self, where: Where | None = None) -> Overwrite:
        """Return what an overwrite replaces, for ``commit(messages, overwrite=...)``."""
        return overwrite_target(self.context, where)

    def delete(
        self, where: Where, *, user: str | None = None, properties: Mapping[str, str] | None = None
    ) -> Snapshot | None:
        """Delete the rows that match; None when no row matches.

        With a primary key, it writes deletes by key; a merge engine that does not remove a record for a row of kind -D
        deletes whole partitions only (an option of the engine may enable that). In an append table, it marks the rows
        in deletion vectors (``deletion-vectors.enabled``), or it rewrites the files that contain them; with fixed
        buckets, the other rows of these files then count as written last. ``where`` on partition columns alone deletes
        whole partitions.

        Deletes exactly the rows that match in the snapshot before this commit, with level 0 merged even where reads
        leave it out. When a concurrent commit changes partitions that may contain such rows between the read and the
        commit, or compacts their files, the delete is retried, up to ``commit.max-retries`` times. Raises
        CommitConflict when that happened every time; nothing is deleted then.
        """
        self._check_latest("delete")
        where = required_where(where, self.context.tracked().schema.fields, "delete")
        request = CommitRequest.of(self.context, user, None, properties)
        if where.columns <= set(self.schema.partition_keys):
            return self.complete(request, [], self.overwrite_spec(where), operation="DELETE")
        if not self.context.is_keyed:
            return self._change_rows(request, where, changed_rows)
        if self.options["ignore-delete"]:
            raise InvalidRequest(f"table {self.name} has ignore-delete = true: rows cannot be deleted", table=self.name)
        check_deletes(self.context)
        return self._change_rows(request, where, deleted_by_key)

    def update(
        self,
        where: Where,
        set: Assignments,
        *,
        user: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Snapshot | None:
        """Set columns of the rows that match; None when no row matches.

        ``set`` maps columns to values, or to functions that get the matching rows as an Arrow table with all columns
        and return the new column. With a primary key, its columns cannot be set, and merge-engine must be deduplicate:
        the new rows replace the old ones by key; with ``sequence.field`` an old row with a higher value stays, as after
        ``write``. In an append table, the old rows are deleted as by ``delete`` and the new rows are added. Promises
        about concurrent commits and raises as ``delete`` does, and SchemaMismatch for a value that does not fit its
        column, and for a column that the latest schema does not have.
        """
        self._check_latest("update")
        where = required_where(where, self.context.tracked().schema.fields, "update")
        check_assignments(self.context, set)
        request = CommitRequest.of(self.context, user, None, properties)
        if self.context.is_keyed and (engine := self.options["merge-engine"]) != "deduplicate":
            problem = f"table {self.name} has merge-engine = {engine}: an update would not replace its rows"
            raise InvalidRequest(problem, table=self.name)

        def change(context: TableContext, plan: ScanPlan, where: Predicate) -> list[CommitMessage]:
            check_assignments(context, set)  # the table may have been altered since
            return (updated_by_key if context.is_keyed else changed_rows)(context, plan, where, assignments=set)

        return self._change_rows(request, where, change)

    def _change_rows(
        self,
        request: CommitRequest,
        where: Predicate | None,
        change: Callable[[TableContext, ScanPlan, Any], list[CommitMessage]],
    ) -> Snapshot | None:
        """Commit what ``change`` computes from the latest snapshot; repeat it when a concurrent commit changed that.

        Rows of a newer schema than that of this handle are read and written with the table's latest schema.
        """
        check_takes_effect(self.context)
        table, outdated = self, None
        for _ in tries(self.options):
            scan_context = table.context.merging_level_0()
            scan = new_scan(scan_context, table.context.snapshots.latest(), None, where, None, pinned=False)
            plan, context = scan.plan, table.context
            if any(f.schema_id > context.schema.id for f in plan.files):
                table = replace(self, context=refreshed(self.context))
                continue
            reads = Reads(plan.snapshot, partitions_with_matches(scan.context, scan.where))
            try:
                messages = change(context, plan, scan.where)
                return table.complete(replace(request, context=context), messages, reads=reads)
            except (CommitConflict, SnapshotNotFound) as error:  # the snapshot was changed or expired since the read
                own = isinstance(error, CommitConflict) and not isinstance(error, ReadOutdated)
                if own and ("attempts" in error.facts or context.snapshots.latest() == plan.snapshot):
                    raise
                outdated = error
        raise outdated or CommitConflict(f"table {self.name}: its schema changed during each try", table=self.name)

    def complete(
        self,
        request: CommitRequest,
        messages: Sequence[CommitMessage],
        overwrite: Overwrite | None = None,
        operation: str | None = None,
        *,
        reads: Reads | None = None,
    ) -> Snapshot | None:
        """Commit files that the caller has just written; then, unless write-only, compact those buckets and expire.

        For writers outside of this class, such as Spark's; messages of other processes belong to ``commit``. An error
        of the maintenance after the commit is logged and not raised, because the rows are committed.
        """
        snapshot, messages = request.commit_written(messages, overwrite, operation, reads=reads)
        return None if snapshot is None else self.settle(snapshot, {(m.partition, m.bucket) for m in messages})

    # -- write, audit, publish

    def prepare(
        self,
        data: Any,
        kinds: Any = None,
        *,
        overwrite: bool = False,
        where: Where | None = None,
        user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        watermark: int | None = None,
        merge_schema: MergeSchema = None,
    ) -> Prepared | None:
        """Do ``write`` (or ``overwrite``, with its ``where``) without publishing the snapshot; None without rows.

        The result shows what would be published, and publishes or discards it; see ``Prepared``. ``merge_schema`` as
        in ``write``: the table is altered at once, and stays so when the result is discarded. When the table is altered
        again before the publish, the result must be prepared ``again``. Raises InvalidRequest when the user has already
        committed the identifier or a higher one.
        """
        self._check_latest("prepare")
        if where is not None and not overwrite:
            raise InvalidRequest("prepare takes where only with overwrite=True: where selects what is replaced")
        request = CommitRequest.of(self.context, user, identifier, properties, watermark)
        check_not_committed(request)
        where = parse_where(where, self.schema.fields)
        if overwrite:
            self.overwrite_spec(where)
        if overwrite and kinds is not None:
            raise InvalidRequest("an overwrite takes no kinds: all its rows are inserted")
        with open_writer(self.context, merge_schema, ignore_existing=overwrite) as writer:
            writer.write(data, kinds)
            messages, request = writer.flush(), replace(request, context=writer.context)
            return prepare(request, self._settle_on, messages, overwrites=overwrite, where=where, own=True)

    def prepare_messages(
        self,
        messages: Sequence[CommitMessage],
        *,
        overwrite: bool = False,
        where: Where | None = None,
        user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        watermark: int | None = None,
    ) -> Prepared | None:
        """Do ``prepare`` for messages of writers in this or other processes; raises as ``commit`` does."""
        self._check_latest("prepare")
        request = CommitRequest.of(self.context, user, identifier, properties, watermark)
        check_messages(messages, self.context)
        where = parse_where(where, self.schema.fields)
        return prepare(request, self._settle_on, messages, overwrites=overwrite, where=where)

    def prepared(self, data: bytes) -> Prepared:
        """Return the prepared commit from ``Prepared.to_bytes``; raises InvalidRequest if it is of another table."""
        self._check_latest("prepare")
        return Prepared.from_bytes(data, self.context, self._settle_on)

    # -- statistics

    def analyze(self, columns: Sequence[str] | None = None) -> Snapshot | None:
        """Compute and commit the row count and the planner statistics of ``columns`` (default: all but collections).

        Reads the latest snapshot and commits an ANALYZE snapshot; later commits inherit the statistics until the
        schema changes. None for a table without snapshots. Raises SchemaMismatch, and CommitConflict when the schema
        changed during the call.
        """
        self._check_latest("analyze")
        snapshot = analyze(CommitRequest.of(self.context, None, None, None), columns)
        return self._settled(snapshot)

    # -- after a commit

    def with_callbacks(self, *callbacks: Callable[[TableWrites, Snapshot], object]) -> Self:
        """Return this handle with functions that are called after every commit, with the handle and the snapshot.

        Each call of the handle that commits calls them once, with its last snapshot: writes, changes of rows,
        compactions, rewrites of indexes and manifests, statistics, repairs, alterations that add a snapshot. An
        automatic compaction, and an automatic expiry of partitions, after a write call them again. They are also called
        when a repeated commit finds that it succeeded before: if a failed call is repeated until it succeeds, each
        callback runs at least once. All callbacks run even when one fails; then AfterCommitFailed is raised, and the
        commit is kept. A call that fails after a part was committed (``facts["committed"]``) does not call them.
        """
        if bad := [c for c in callbacks if not callable(c)]:
            raise InvalidRequest(f"a callback must be callable with the table and a snapshot, not {bad[0]!r:.60}")
        return replace(self, callbacks=(*self.callbacks, *callbacks))

    def settle(self, snapshot: Snapshot, written: Collection[tuple[bytes, int]] | None = None) -> Snapshot:
        """Run the callbacks and the maintenance that follow a commit, then raise AfterCommitFailed if one failed."""
        failed = failed_callbacks(self, self.callbacks, snapshot)
        for automatic in maintain(self.context, snapshot, written):
            failed += failed_callbacks(self, self.callbacks, automatic)
        raise_first(self.name, failed)
        return snapshot

    def _settled(self, snapshot: Snapshot | None) -> Snapshot | None:
        """Run ``settle`` when there was something to commit."""
        return None if snapshot is None else self.settle(snapshot)

    def _settle_on(self, context: TableContext, snapshot: Snapshot) -> Snapshot:
        """Run ``settle`` for the table as ``context`` has it."""
        return replace(self, context=context).settle(snapshot)

    def _check_latest(self, what: str) -> None:
        if self.pinned is not None:
            raise InvalidRequest(
                f"table {self.name} is pinned to snapshot {self.pinned.id} and read-only: cannot {what}",
                snapshot=self.pinned.id,
            )


def _has_compaction(messages: Sequence[CommitMessage]) -> bool:
    """Whether the messages contain a compaction, a second snapshot that may be missing after the first succeeded."""
    return any(m.compact_before or m.compact_after or m.compact_changelog for m in messages)
