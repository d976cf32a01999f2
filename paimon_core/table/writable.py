"""WritableTable: the methods of ``Table`` that write rows and commit; ``Table`` adds the other methods.

Every method checks its request and calls a function of the sub-packages ``writes`` and ``rows``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from paimon_core.deferred import DeferredModule, deferred
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Where
from paimon_core.table.on_demand import commit_request, run_tasks
from paimon_core.table.rows.merge_clauses import Delete, Insert, Update
from paimon_core.table.view import TableView

if TYPE_CHECKING:
    from paimon_core.alter.merge_schema import MergeSchema
    from paimon_core.commit.overwrite import Overwrite
    from paimon_core.commit.read_set import Reads
    from paimon_core.compact.compaction import Work
    from paimon_core.metadata.commit_message import CommitMessage
    from paimon_core.table.commit_request import CommitRequest, Committed
    from paimon_core.table.rows import delete_update
    from paimon_core.table.rows.merge import merge
    from paimon_core.table.rows.merge_clauses import clauses_of
    from paimon_core.table.rows.row_changes import Assignments
    from paimon_core.table.writes import write
    from paimon_core.table.writes.after_commit import failed_callbacks, maintain, raise_first
    from paimon_core.table.writes.merging_writer import open_writer
    from paimon_core.table.writes.overwrite_target import overwrite_target
    from paimon_core.table.writes.prepared import Prepared
    from paimon_core.write.table_writer import TableWriter

    prepared_of = Prepared.from_bytes
else:
    merge = deferred("paimon_core.table.rows.merge", "merge")
    clauses_of = deferred("paimon_core.table.rows.merge_clauses", "clauses_of")
    failed_callbacks = deferred("paimon_core.table.writes.after_commit", "failed_callbacks")
    maintain = deferred("paimon_core.table.writes.after_commit", "maintain")
    raise_first = deferred("paimon_core.table.writes.after_commit", "raise_first")
    open_writer = deferred("paimon_core.table.writes.merging_writer", "open_writer")
    overwrite_target = deferred("paimon_core.table.writes.overwrite_target", "overwrite_target")
    delete_update = DeferredModule("paimon_core.table.rows.delete_update")
    write = DeferredModule("paimon_core.table.writes.write")
    prepared_of = deferred("paimon_core.table.writes.prepared", "Prepared.from_bytes")

Changing = Update | Delete
_UPDATE, _INSERT = Update(), Insert()


@dataclass(frozen=True, repr=False)
class WritableTable(TableView):
    """A table at its latest snapshot, whose rows can be changed; a part of ``Table``, in a separate file."""

    pinned: None = None
    callbacks: tuple[Callable[[Any, Snapshot], object], ...] = ()
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
        """Add rows in one commit (with a primary key: upsert by key); return None when there was nothing to commit.

        ``data`` is an object with an Arrow stream, or dicts: ``TableWriter.write`` describes the forms and the errors.
        ``kinds``: the row kinds "+I", "-U", "+U", "-D", as a column or as the name of a column of ``data``. With
        ``user`` and ``identifier`` a repeated call commits exactly once, as long as the snapshot has not expired.
        ``watermark``: epoch milliseconds up to which the rows are complete. Afterwards, unless the table is
        ``write-only``, the written buckets are compacted and snapshots expire, as the options require.

        ``merge_schema=True`` first adds the columns that the table lacks, "widen" also widens types (default: the
        options ``write.merge-schema`` and ``write.merge-schema.type-widening``). The table is altered before the
        commit, and the alteration remains when the commit fails. This handle keeps its schema: ``refresh`` returns a
        handle with the new columns.
        """
        request = commit_request(self.context, user, identifier, properties, watermark)
        return self._completed(write.write_rows(request, data, kinds, merge_schema=merge_schema))

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
        """Replace rows by ``data`` in one commit; ``write`` describes ``merge_schema``.

        Without ``where``, the overwrite replaces the partitions that occur in the data, or the whole table when the
        table has no partitions or ``dynamic-partition-overwrite`` is off. With ``where``, which uses partition columns
        only, it replaces the partitions that match, and every row of the data must belong to a partition that matches.
        """
        request = commit_request(self.context, user, identifier, properties, watermark)
        target = overwrite_target(self.context, where)
        return self._completed(write.write_rows(request, data, target=target, merge_schema=merge_schema))

    def overwrite_spec(self, where: Where | None = None) -> Overwrite:
        """Return the partitions that an overwrite replaces, as the argument of ``commit(messages, overwrite=...)``."""
        return overwrite_target(self.context, where)

    def writer(self, *, merge_schema: MergeSchema = None) -> TableWriter:
        """Return a writer that turns batches into commit messages, which ``commit`` commits.

        ``merge_schema``: see ``write``. The writer alters the table when a batch needs it, before it writes the batch.
        Several writers may alter the table at the same time; a change that contradicts an earlier change raises
        SchemaMismatch. ``commit`` accepts the messages on any handle of the table, even after further alterations:
        files keep the schema with which they were written, and columns are found by field id.
        """
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

        Messages may come from other processes: they must fit the table, and their files must exist. The rows of the
        messages count as later than all rows committed before, and later than the rows of earlier messages in the list;
        for this order, the commit may replace files of the messages by files with higher sequence numbers (decision
        0014). The call does not compact or expire. With ``user`` and ``identifier`` a repeated call commits exactly
        once, as long as the snapshot has not expired. Raises InvalidRequest, CommitConflict (nothing was committed, no
        file was deleted), CommitStateUnknown (check with ``committed`` before a retry).
        """
        request = commit_request(self.context, user, identifier, properties, watermark)
        return self._completed(write.commit_messages(request, messages, overwrite, operation))

    def committed(self, user: str, identifier: int) -> Snapshot | None:
        """Return the snapshot that ``user`` committed with ``identifier``; None when it never existed or has expired.

        Raises InvalidRequest when the user has committed a higher identifier instead.
        """
        return commit_request(self.context, user, identifier, None).committed_snapshot()

    def filter_committed(self, user: str, identifiers: Collection[int]) -> list[int]:
        """Return the ``identifiers`` that ``user`` has not committed (format 14.5).

        These are the identifiers above the highest identifier that the user has committed. This method is for a job
        that restarts and does not know which commits succeeded. When all snapshots of the user have expired, all
        ``identifiers`` are returned.
        """
        return write.not_committed(self.context, user, identifiers)

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
        """Prepare a ``write`` or ``overwrite`` without publishing its snapshot; return None when nothing would change.

        The result shows the table as it would be after the publish, and has methods to publish and to discard it; see
        ``Prepared``. With ``merge_schema`` (see ``write``), the table is altered at once, and remains altered when the
        result is discarded. When the table is altered after this call, ``Prepared.again`` must be called before the
        publish. Raises InvalidRequest when the user has already committed the identifier or a higher one.
        """
        request = commit_request(self.context, user, identifier, properties, watermark)
        return write.prepare_rows(
            request, self._settle_on, data, kinds, overwrites=overwrite, where=where, merge_schema=merge_schema
        )

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
        """Do ``prepare`` for messages of writers in this or other processes; raises the errors of ``commit``."""
        request = commit_request(self.context, user, identifier, properties, watermark)
        return write.prepare_messages(request, self._settle_on, messages, overwrites=overwrite, where=where)

    def prepared(self, data: bytes) -> Prepared:
        """Return the prepared commit that ``Prepared.to_bytes`` encoded; raises InvalidRequest for another table."""
        return prepared_of(data, self.context, self._settle_on)

    # -- changes of rows

    def delete(
        self, where: Where, *, user: str | None = None, properties: Mapping[str, str] | None = None
    ) -> Snapshot | None:
        """Delete the rows that match; None when no row matches.

        In a table with a primary key, the delete writes rows of kind -D. If the merge engine does not remove a row for
        -D, only whole partitions can be deleted, unless an option of the engine allows -D. In an append table, the
        delete marks the rows in deletion vectors (``deletion-vectors.enabled``), or rewrites the files that contain the
        rows. With fixed buckets, the remaining rows of rewritten files then count as written last. A ``where`` on
        partition columns alone deletes whole partitions.

        Deletes exactly the rows that match in the snapshot before this commit; level 0 is merged even where reads leave
        it out. The delete is retried, up to ``commit.max-retries`` times, when a concurrent commit between the read and
        the commit changes partitions that may contain matching rows, or compacts their files. Raises CommitConflict
        when the last retry fails in the same way; nothing is deleted then.
        """
        request = commit_request(self.context, user, None, properties)
        return self._completed(delete_update.delete(request, where))

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
        and return the new column. Columns of a primary key cannot be set, and merge-engine must be deduplicate: the new
        rows replace the old rows by key. With ``sequence.field``, an old row with a higher value stays, as after
        ``write``. In an append table, the old rows are deleted as by ``delete`` and the new rows are added. Concurrent
        commits have the same effect as on ``delete``. Raises the errors of ``delete``, and SchemaMismatch for a value
        that does not fit its column and for a column that the latest schema does not have.
        """
        request = commit_request(self.context, user, None, properties)
        return self._completed(delete_update.update(request, where, set))

    def merge(
        self,
        source: Any,
        on: str | Sequence[str],
        *,
        when_matched: Changing | Sequence[Changing] | None = _UPDATE,
        when_not_matched: Insert | Sequence[Insert] | None = _INSERT,
        when_not_matched_by_source: Changing | Sequence[Changing] | None = None,
        user: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Snapshot | None:
        """Update, delete and insert rows by the rows of ``source``, in one commit; None when nothing changes.

        A row of the table matches a row of the source when all columns ``on`` (a name, or several) are equal; nulls
        match nothing. By default, matching rows of the table get the values of the source, and source rows without a
        match are inserted:

        >>> orders.merge(changes, on="id")  # doctest: +SKIP
        >>> orders.merge(
        ...     changes,
        ...     on=["id"],
        ...     when_matched=[Delete(source_where=col("op") == "D"), Update({"price": col("price"), "note": "new"})],
        ...     when_not_matched=Insert(source_where=col("op") != "D"),
        ... )  # doctest: +SKIP

        ``source`` has one of the forms that ``write`` takes, and is held in memory; when an update sets all columns and
        nothing is deleted, all of its dicts must have the same names. Its columns are converted to the
        types of the table; each must be a column of the table or be named by a clause. For each row, the first clause
        of the list applies whose conditions are true: ``where`` tests the row of the table, ``source_where`` the row of
        the source. When several rows of the source change one row of the table, the merge raises InvalidRequest, which
        names the key of this row, unless all of these source rows delete it. ``when_not_matched_by_source`` changes the
        rows of the table that no row of the source matches, and reads all files. Without this argument, only files that
        may have a key of the source are read.

        In append tables, old rows are deleted as by ``delete`` and new rows are added. With a primary key, the merge
        writes rows by key: inserts need ``on`` to be the primary key, updates merge-engine deduplicate, and with
        ``sequence.field`` an old row with a higher value stays, as after ``write``.

        The merge is computed from the snapshot before this commit. The merge is retried, up to ``commit.max-retries``
        times, when a concurrent commit between the read and the commit changes partitions that may contain keys of the
        source, or compacts files that the merge changes. Raises CommitConflict when the last retry fails in the same
        way, SchemaMismatch for columns and values that do not fit, InvalidRequest. After an error nothing is changed.
        """
        request = commit_request(self.context, user, None, properties)
        clauses = clauses_of(self.context, when_matched, when_not_matched, when_not_matched_by_source)
        return self._completed(merge(request, source, on, clauses))

    # -- commits of writers outside of this class

    def complete(
        self,
        request: CommitRequest,
        messages: Sequence[CommitMessage],
        overwrite: Overwrite | None = None,
        operation: str | None = None,
        *,
        reads: Reads | None = None,
        work: Work = run_tasks,
    ) -> Snapshot | None:
        """Commit files that the caller has just written; then compact and expire, unless the table is write-only.

        This method is for writers outside of this class, such as Spark's. For messages of other processes, call
        ``commit``. An error of the maintenance after the commit is logged and not raised, because the rows are
        committed. ``work`` runs the compactions, as for ``compact``, and must raise PaimonError only.
        """
        return self._completed(request.complete(messages, overwrite, operation, reads=reads), work)

    # -- after a commit

    def with_callbacks(self, *callbacks: Callable[[Self, Snapshot], object]) -> Self:
        """Return this handle with functions that are called after every commit, with the handle and the snapshot.

        Each method call on this handle that commits runs every callback once, with the last snapshot of the call. Such
        calls are writes, changes of rows, compactions, rewrites of indexes and manifests, statistics, repairs, and
        alterations that add a snapshot. An automatic compaction and an automatic expiry of partitions after a write
        call the functions again. The functions are also called when a repeated commit finds that it succeeded before.
        So when a failed call is repeated until it succeeds, each callback runs at least once. All callbacks run even
        when one fails; then AfterCommitFailed is raised, and the commit is kept. A call that fails after it has
        committed a part (``facts["committed"]``) does not call the functions.
        """
        if bad := [c for c in callbacks if not callable(c)]:
            raise InvalidRequest(f"a callback must be callable with the table and a snapshot, not {bad[0]!r:.60}")
        return replace(self, callbacks=(*self.callbacks, *callbacks))

    def settle(
        self, snapshot: Snapshot, written: Collection[tuple[bytes, int]] | None = None, work: Work = run_tasks
    ) -> Snapshot:
        """Run the callbacks and the maintenance after a commit, then raise AfterCommitFailed if a callback failed."""
        failed = failed_callbacks(self, self.callbacks, snapshot)
        for automatic in maintain(self.context, snapshot, written, work):
            failed += failed_callbacks(self, self.callbacks, automatic)
        raise_first(self.name, failed)
        return snapshot

    def _settled(self, snapshot: Snapshot | None) -> Snapshot | None:
        """Run ``settle`` unless ``snapshot`` is None because there was nothing to commit; return the snapshot."""
        return None if snapshot is None else self.settle(snapshot)

    def _completed(self, committed: Committed | None, work: Work = run_tasks) -> Snapshot | None:
        """Run ``settle`` for the table at the schema of the commit, when there was something to commit."""
        if committed is None:
            return None
        return replace(self, context=committed.context).settle(committed.snapshot, committed.written, work)

    def _settle_on(self, context: TableContext, snapshot: Snapshot) -> Snapshot:
        """Run ``settle`` on this handle with ``context`` in place of its own context."""
        return replace(self, context=context).settle(snapshot)
