"""TableWrites: the writing half of the user's handle on a table; every method is a few lines."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from paimon_core.commit.overwrite import Overwrite
from paimon_core.commit.read_set import Reads
from paimon_core.commit.retry import tries
from paimon_core.errors import AfterCommitFailed, InvalidRequest, ReadOutdated, SnapshotNotFound
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.rules.engine_rules import check_deletes
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.statistics import Statistics
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.predicate import Predicate
from paimon_core.scan.partitions import matching_partitions, partitions_with_matches
from paimon_core.table import compaction
from paimon_core.table.analysis import analyze
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.message_check import check_messages
from paimon_core.table.prepared import Prepared, prepare, refuse_landed
from paimon_core.table.view import TableView
from paimon_core.write.table_writer import TableWriter

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class TableWrites(TableView):
    """A table that rows can be written to, at its latest snapshot."""

    callbacks: tuple[Callable[[TableWrites, Snapshot], object], ...] = ()
    """What runs after each commit made through this handle; see ``with_callbacks``."""

    def write(
        self,
        data: Any,
        kinds: Any = None,
        *,
        user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        watermark: int | None = None,
    ) -> Snapshot | None:
        """Add rows (upsert by key with a primary key) in one commit; None when there was nothing to commit.

        ``kinds``: the name of a column, or a column, of "+I", "-U", "+U", "-D". With ``user`` and ``identifier`` the
        commit happens once, however often it is repeated before its snapshot expires. ``watermark``: epoch milliseconds
        up to which the rows are complete. Unless ``write-only``, the buckets written are then compacted and snapshots
        expired as the options say.
        """
        self._check_latest("write")
        request = CommitRequest.of(self.context, user, identifier, properties, watermark)
        if (landed := request.landed()) is not None:
            return self.settle(landed)
        with TableWriter(self.context) as writer:
            writer.write(data, kinds)
            return self.complete(request, writer.flush())

    def writer(self) -> TableWriter:
        """Batches in, commit messages out; hand the messages to ``commit``."""
        self._check_latest("write")
        return TableWriter(self.context)

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
        """Make messages visible; the last snapshot of it, None when the messages are empty.

        Messages may come from other processes: they are checked to fit the table and to have their files. Their rows
        count as later than all rows committed before, and as later than those of earlier messages in the list; a commit
        that stands may have replaced their files (decision 0014). Compaction and expiry are left to their own calls.
        With ``user`` and ``identifier`` it happens once, as long as that snapshot has not expired.
        Raises InvalidRequest, CommitConflict (nothing happened, no file is deleted), CommitStateUnknown (look first).
        """
        self._check_latest("commit")
        request = CommitRequest.of(self.context, user, identifier, properties, watermark)
        if (landed := request.landed()) is None:
            check_messages(messages, self.context)
        if landed is None or _has_more(messages):
            landed = request.commit(messages, overwrite, operation)
        return None if landed is None else self.settle(landed)

    def committed(self, user: str, identifier: int) -> Snapshot | None:
        """The snapshot that ``user`` has made under ``identifier``; None when it is still to be made, or has expired.

        Raises InvalidRequest when the user has committed a higher identifier instead.
        """
        return CommitRequest.of(self.context, user, identifier, None).landed()

    def filter_committed(self, user: str, identifiers: Collection[int]) -> list[int]:
        """Those of ``identifiers`` that ``user`` has still to commit: all above the user's highest (format 14.5).

        For a job that comes back and does not know how far it had come. A user whose snapshots have all expired counts
        as one that never committed.
        """
        if not isinstance(identifiers, Collection) or any(type(i) is not int for i in identifiers):
            raise InvalidRequest(f"identifiers must be whole numbers, not {identifiers!r:.60}")
        newest = CommitRequest.of(self.context, user, None, None).newest()
        return [i for i in identifiers if newest is None or i > newest.commit_identifier]

    def overwrite(
        self,
        data: Any,
        where: Predicate | None = None,
        *,
        user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        watermark: int | None = None,
    ) -> Snapshot | None:
        """Replace rows by ``data`` in one commit.

        Without ``where``: the partitions that occur in the data (option ``dynamic-partition-overwrite``), or the
        whole table when it has none. With ``where``, on partition columns only: the partitions that match, and every
        row of the data must lie in them.
        """
        self._check_latest("overwrite")
        request = CommitRequest.of(self.context, user, identifier, properties, watermark)
        target = self.overwrite_spec(where)
        if (landed := request.landed()) is not None:
            return self.settle(landed)
        with TableWriter(self.context, ignore_existing=True) as writer:
            writer.write(data)
            return self.complete(request, writer.flush(), target)

    def overwrite_spec(self, where: Predicate | None = None) -> Overwrite:
        """What an overwrite replaces, for ``commit(messages, overwrite=...)``."""
        if where is not None:
            return Overwrite(matching_partitions(self.context, where))
        dynamic = self.schema.partition_keys and self.options["dynamic-partition-overwrite"]
        return Overwrite(None if dynamic else lambda partition: True)

    def delete(
        self, where: Predicate, *, user: str | None = None, properties: Mapping[str, str] | None = None
    ) -> Snapshot | None:
        """Delete the rows that match, by key; None when none did.

        An append table deletes whole partitions only: ``where`` must then be on partition columns. So does a table
        whose merge engine does not remove a record for a row of kind -D; an option of the engine may make it.

        Deletes exactly the rows that match in the snapshot before this commit. When others change partitions that may
        hold such rows between the read and the commit, the delete starts again, up to ``commit.max-retries`` times.
        Raises ReadOutdated, a CommitConflict, when they did so every time; nothing is deleted then.
        """
        self._check_latest("delete")
        if not isinstance(where, Predicate):
            raise InvalidRequest(f"delete needs a predicate such as col('x') == 1, not {where!r:.60}")
        request = CommitRequest.of(self.context, user, None, properties)
        if not self.context.is_keyed or where.columns <= set(self.schema.partition_keys):
            return self.complete(request, [], self.overwrite_spec(where), operation="DELETE")
        if self.options["ignore-delete"]:
            raise InvalidRequest(f"table {self.name} has ignore-delete = true: it takes no deletes", table=self.name)
        check_deletes(self.context)
        return self._delete_rows(request, where)

    def _delete_rows(self, request: CommitRequest, where: Predicate) -> Snapshot | None:
        may_hold = partitions_with_matches(self.context, where)
        outdated: ReadOutdated | SnapshotNotFound | None = None
        for _ in tries(self.options):
            scan = self.scan(where=where)
            try:
                with TableWriter(self.context) as writer:
                    for batch in scan.to_batches():
                        writer.delete(batch)
                    messages = writer.flush()
                return self.complete(request, messages, reads=Reads(scan.plan.snapshot, may_hold))
            except (ReadOutdated, SnapshotNotFound) as error:  # changed, or expired, since it was read
                outdated = error
        assert outdated is not None
        raise outdated

    def complete(
        self,
        request: CommitRequest,
        messages: Sequence[CommitMessage],
        overwrite: Overwrite | None = None,
        operation: str | None = None,
        *,
        reads: Reads | None = None,
    ) -> Snapshot | None:
        """Commit what the caller has just written; then, unless write-only, compact what was touched and expire.

        For writers outside of this class, such as Spark's; messages from elsewhere go to ``commit``. The rows stand
        once the commit does: upkeep that has to wait, or fails, must not make the write look failed.
        """
        snapshot = request.commit_own(messages, overwrite, operation, reads=reads)
        return None if snapshot is None else self.settle(snapshot, {(m.partition, m.bucket) for m in messages})

    # -- write, audit, publish

    def prepare(
        self,
        data: Any,
        kinds: Any = None,
        *,
        overwrite: bool = False,
        where: Predicate | None = None,
        user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        watermark: int | None = None,
    ) -> Prepared | None:
        """``write`` (or ``overwrite``, with its ``where``) up to the moment before it is visible; None without rows.

        The result shows what would be published, publishes it, or takes it back; see ``Prepared``. Raises
        InvalidRequest when the user has committed the identifier, or a higher one, already.
        """
        self._check_latest("prepare")
        if where is not None and not overwrite:
            raise InvalidRequest("prepare takes where only with overwrite=True: it says what is replaced")
        request = CommitRequest.of(self.context, user, identifier, properties, watermark)
        refuse_landed(request)
        if overwrite:
            self.overwrite_spec(where)
        with TableWriter(self.context, ignore_existing=overwrite) as writer:
            if overwrite and kinds is not None:
                raise InvalidRequest("an overwrite takes no kinds: its rows are what is left")
            writer.write(data, kinds)
            return prepare(self, request, writer.flush(), overwrites=overwrite, where=where, own=True)

    def prepare_messages(
        self,
        messages: Sequence[CommitMessage],
        *,
        overwrite: bool = False,
        where: Predicate | None = None,
        user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        watermark: int | None = None,
    ) -> Prepared | None:
        """``prepare`` of messages from a writer, here or in other processes; raises as ``commit`` does."""
        self._check_latest("prepare")
        request = CommitRequest.of(self.context, user, identifier, properties, watermark)
        check_messages(messages, self.context)
        return prepare(self, request, messages, overwrites=overwrite, where=where)

    def prepared(self, data: bytes) -> Prepared:
        """What ``Prepared.to_bytes`` described, in this process; raises InvalidRequest for that of another table."""
        self._check_latest("prepare")
        return Prepared.from_bytes(data, self)

    # -- statistics

    def analyze(self, columns: Sequence[str] | None = None) -> Snapshot | None:
        """Count the rows, and of ``columns`` (default: all that are no collections) what a planner wants to know.

        Reads the latest snapshot and commits an ANALYZE snapshot; later commits inherit the statistics until the
        schema changes. None for a table without snapshots. Raises SchemaMismatch, CommitConflict when the schema
        changed meanwhile.
        """
        self._check_latest("analyze")
        snapshot = analyze(CommitRequest.of(self.context, None, None, None), columns)
        return None if snapshot is None else self.settle(snapshot)

    def statistics(self) -> Statistics | None:
        """What the last ``analyze`` found, as far as it still holds; None without."""
        if self.pinned is not None:
            return self._statistics(self.pinned)
        return read_latest(self.context.snapshots, self._statistics)

    def _statistics(self, snapshot: Snapshot | None) -> Statistics | None:
        check_same_table(self.context)
        name = None if snapshot is None else snapshot.statistics
        return None if name is None else Statistics.read(self.context.storage, self.context.paths.statistics(name))

    # -- after a commit

    def with_callbacks(self, *callbacks: Callable[[TableWrites, Snapshot], object]) -> Self:
        """This handle, calling each of ``callbacks`` with itself and the last snapshot after every commit it makes.

        Also for a commit that is found to have landed before: a callback may run more than once, never too seldom, as
        long as the call is repeated. All of them run, whichever fails; the commit stands, and AfterCommitFailed says
        so. Compactions and expiry that follow a write by themselves are not told.
        """
        if bad := [c for c in callbacks if not callable(c)]:
            raise InvalidRequest(f"a callback must be callable with the table and a snapshot, not {bad[0]!r:.60}")
        return replace(self, callbacks=(*self.callbacks, *callbacks))

    def settle(self, snapshot: Snapshot, written: Collection[tuple[bytes, int]] | None = None) -> Snapshot:
        """What follows a commit: callbacks, upkeep; raises AfterCommitFailed at the end when a callback failed."""
        failed: list[Exception] = []
        for callback in self.callbacks:
            try:
                callback(self, snapshot)
            except Exception as error:
                _LOG.warning("table %s: snapshot %d stands, a callback failed", self.name, snapshot.id, exc_info=error)
                failed.append(error)
        self._keep_up(snapshot, written)
        if failed:
            raise AfterCommitFailed(
                f"table {self.name}: snapshot {snapshot.id} of user {snapshot.commit_user} stands, but a callback "
                f"after it failed: {failed[0]!r:.200}. Do not write the rows again; with a user and an identifier the "
                "same call calls back once more",
                table=self.name,
                snapshot=snapshot.id,
                user=snapshot.commit_user,
                identifier=snapshot.commit_identifier,
            ) from failed[0]
        return snapshot

    def _keep_up(self, snapshot: Snapshot, written: Collection[tuple[bytes, int]] | None) -> None:
        """What the table does by itself after a commit; ``written``: buckets to look after, None to leave them."""
        compaction.follow_up(self.context, snapshot)

    def _check_latest(self, what: str) -> None:
        if self.pinned is not None:
            raise InvalidRequest(
                f"table {self.name} is pinned to snapshot {self.pinned.id} for reading: cannot {what} there",
                snapshot=self.pinned.id,
            )


def _has_more(messages: Sequence[CommitMessage]) -> bool:
    """Whether a commit that has landed may lack its second half, the compaction."""
    return any(m.compact_before or m.compact_after or m.compact_changelog for m in messages)
