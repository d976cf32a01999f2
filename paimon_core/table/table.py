"""Table: the user's handle on one table, at its latest snapshot or pinned to one; every method is a few lines."""

from __future__ import annotations

import datetime
import logging
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_core.commit.overwrite import Overwrite
from paimon_core.compact.compactor import run_task, run_tasks
from paimon_core.compact.task import CompactionTask
from paimon_core.errors import CommitConflict, InvalidRequest, PaimonError, TableNotFound
from paimon_core.maintain.expire import ExpireReport, expire
from paimon_core.maintain.rollback import rollback
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.engine_rules import check_deletes
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.options import TableOptions
from paimon_core.predicate import Predicate
from paimon_core.scan.partitions import matching_partitions
from paimon_core.schema import TableSchema
from paimon_core.table import upkeep
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.inspect import Inspect
from paimon_core.table.message_check import check_messages
from paimon_core.table.query import Scan, changed_rows, new_scan
from paimon_core.table.refs import Tags, as_millis
from paimon_core.write.table_writer import TableWriter

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Table:
    """One table at one position; ``pinned`` is None at the latest snapshot."""

    context: TableContext
    pinned: Snapshot | None = None

    @property
    def name(self) -> str:
        """``database.table``."""
        return self.context.name

    @property
    def schema(self) -> TableSchema:
        """The schema at this position."""
        return self.context.schema

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as an Arrow schema."""
        return self.context.schema.arrow

    @property
    def options(self) -> TableOptions:
        """The parsed options."""
        return self.context.options

    @property
    def location(self) -> str:
        """The root directory."""
        return self.context.paths.root

    def __repr__(self) -> str:
        return f"Table({self.name}{f' at snapshot {self.pinned.id}' if self.pinned else ''})"

    def latest_snapshot(self) -> Snapshot | None:
        """The snapshot that a read sees: the pinned one, or the latest; None for a table never written."""
        return self.pinned or self.context.snapshots.latest()

    # -- read

    def scan(
        self, columns: Sequence[str] | None = None, where: Predicate | None = None, limit: int | None = None
    ) -> Scan:
        """Describe a read; raises SchemaMismatch for unknown columns or literals that do not fit."""
        return new_scan(self.context, self.latest_snapshot(), columns, where, limit)

    def changes(
        self,
        after: int | None = None,
        until: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        where: Predicate | None = None,
    ) -> pa.RecordBatchReader:
        """The rows changed after snapshot ``after`` (None: ever), up to and with ``until`` (None: this position's).

        A first column ``rowkind`` ("+I", "-U", "+U", "-D") comes before ``columns``; ``where`` tests each row alone.
        Snapshots come in commit order, in each the partitions and buckets, in those the rows of a key as they changed.
        With a ``changelog-producer`` these are its changelog files, otherwise the rows written, as they were written;
        an overwrite is not told row by row. Raises SnapshotNotFound naming the first snapshot of them that has expired
        (also while it is read) or was never made, InvalidRequest, SchemaMismatch.
        """
        return changed_rows(self.context, self.pinned, after, until, columns, where)

    def at(
        self, *, snapshot: int | None = None, tag: str | None = None, time: datetime.datetime | int | None = None
    ) -> Table:
        """This table pinned to a snapshot id, a tag, or the snapshot that was latest at a time.

        ``time`` is a datetime (naive: local time) or epoch milliseconds. Raises SnapshotNotFound, TagNotFound.
        """
        if sum(v is not None for v in (snapshot, tag, time)) != 1:
            raise InvalidRequest("at() takes exactly one of snapshot, tag and time")
        context = self.context
        if tag is not None:
            found = context.tags.read(tag).snapshot
        elif snapshot is not None:
            found = context.snapshots.read(_at_least_one("snapshot", snapshot, 1))
        else:
            found = context.snapshots.as_of(_epoch_millis(time))
        return Table(context.with_schema(context.schemas.read(found.schema_id)), found)

    @property
    def inspect(self) -> Inspect:
        """Snapshots, files, manifests, partitions, buckets, options, schemas and tags as Arrow tables."""
        return Inspect(self.context, self.pinned)

    # -- write

    def write(
        self,
        data: Any,
        kinds: Any = None,
        *,
        user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Snapshot | None:
        """Add rows (upsert by key with a primary key) in one commit; None when there was nothing to commit.

        ``kinds``: the name of a column, or a column, of "+I", "-U", "+U", "-D". With ``user`` and ``identifier`` the
        commit happens once, however often it is repeated before its snapshot expires. Unless ``write-only``, the
        buckets written are then compacted and snapshots expired as the options say.
        """
        self._check_latest("write")
        request = CommitRequest.of(self.context, user, identifier, properties)
        if (landed := request.landed()) is not None:
            return landed
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
        overwrite: Overwrite | None = None,
        operation: str | None = None,
    ) -> Snapshot | None:
        """Make messages visible; the last snapshot of it, None when the messages are empty.

        Messages may come from other processes: they are checked to fit the table and to have their files. Compaction
        and expiry are left to their own calls. With ``user`` and ``identifier`` it happens once, as long as that
        snapshot has not expired. Raises InvalidRequest, CommitConflict (nothing happened, and no file is deleted),
        CommitStateUnknown (look before retrying).
        """
        self._check_latest("commit")
        request = CommitRequest.of(self.context, user, identifier, properties)
        if (landed := request.landed()) is None:
            check_messages(messages, self.context)
            self._check_new(messages)
        return request.commit(messages, overwrite, operation) if landed is None or _has_more(messages) else landed

    def _check_new(self, messages: Sequence[CommitMessage]) -> None:
        """A file that is live already must not be added again, however long ago it was committed."""
        snapshot = self.context.snapshots.latest()
        names = {f.file_name for m in messages for f in m.new_files}
        for entry in self.context.manifests.entries_of(snapshot) if snapshot and names else ():
            if entry.file.file_name in names:
                raise CommitConflict(
                    f"table {self.name}: file {entry.file.file_name} is in the table already: "
                    "its message was committed before",
                    table=self.name,
                    file=entry.file.file_name,
                )

    def committed(self, user: str, identifier: int) -> Snapshot | None:
        """The snapshot that ``user`` has made under ``identifier``; None when it is still to be made, or has expired.

        Raises InvalidRequest when the user has committed a higher identifier instead.
        """
        return CommitRequest.of(self.context, user, identifier, None).landed()

    def overwrite(
        self,
        data: Any,
        where: Predicate | None = None,
        *,
        user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Snapshot | None:
        """Replace rows by ``data`` in one commit.

        Without ``where``: the partitions that occur in the data (option ``dynamic-partition-overwrite``), or the
        whole table when it has none. With ``where``, on partition columns only: the partitions that match, and every
        row of the data must lie in them.
        """
        self._check_latest("overwrite")
        request = CommitRequest.of(self.context, user, identifier, properties)
        target = self.overwrite_spec(where)
        if (landed := request.landed()) is not None:
            return landed
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
        with TableWriter(self.context) as writer:
            for batch in self.scan(where=where).to_batches():
                writer.delete(batch)
            return self.complete(request, writer.flush())

    def complete(
        self,
        request: CommitRequest,
        messages: Sequence[CommitMessage],
        overwrite: Overwrite | None = None,
        operation: str | None = None,
    ) -> Snapshot | None:
        """Commit what the caller has just written; then, unless write-only, compact what was touched and expire.

        For writers outside of this class, such as Spark's; messages from elsewhere go to ``commit``. The rows stand
        once the commit does: upkeep that has to wait, or fails, must not make the write look failed.
        """
        snapshot = request.commit_own(messages, overwrite, operation)
        if snapshot is not None and not self.options["write-only"]:
            touched = {(m.partition, m.bucket) for m in messages}
            try:
                upkeep.compact(self.context, CommitRequest.of(self.context, None, None, None), written=touched)
                self.expire_snapshots()
            except PaimonError as error:
                _LOG.warning("table %s: snapshot %d stands, its upkeep has to wait: %s", self.name, snapshot.id, error)
        return snapshot

    # -- maintenance

    def plan_compaction(self, *, full: bool = False, where: Predicate | None = None) -> list[CompactionTask]:
        """The compactions that the buckets call for, largest first; ``where`` on partition columns.

        All buckets that are not settled when option ``full-compaction.delta-commits`` makes a full compaction due. To
        be counted as one, it is committed with the properties that ``compact.history.marked`` gives.
        """
        self._check_latest("compact")
        return upkeep.plan(self.context, full=full, where=where)

    def run_compaction(self, task: CompactionTask) -> CommitMessage:
        """Do one planned compaction, here or in another process; commit its message with the others."""
        return run_task(self.context, task)

    def compact(
        self,
        full: bool = False,
        where: Predicate | None = None,
        *,
        user: str | None = None,
        properties: Mapping[str, str] | None = None,
        work: upkeep.Work = run_tasks,
    ) -> Snapshot | None:
        """Merge sorted runs (or pack small files) where the options call for it; ``full``: into one run everywhere.

        Content never changes. None when there was nothing to do. All buckets are one commit, and again where more
        runs are left than ``num-sorted-run.stop-trigger``; after a conflict each bucket is one. Raises CommitConflict
        when others were faster in every bucket; nothing is left of this compaction then. ``work`` does the tasks, by
        default here, as many at once as there are processors.
        """
        self._check_latest("compact")
        request = CommitRequest.of(self.context, user, None, properties)
        return upkeep.compact(self.context, request, full=full, where=where, work=work)

    def expire_snapshots(
        self,
        *,
        keep_last: int | None = None,
        keep_max: int | None = None,
        older_than: datetime.timedelta | None = None,
        limit: int | None = None,
        dry_run: bool = False,
    ) -> ExpireReport:
        """Drop old snapshots and the files that only they use; tagged ones stay readable (format 16.1).

        Defaults come from the options ``snapshot.num-retained.min/max``, ``snapshot.time-retained`` and
        ``snapshot.expire.limit``.
        """
        self._check_latest("expire snapshots")
        options = self.options
        age = options["snapshot.time-retained"] if older_than is None else as_millis("older_than", older_than)
        most = _at_least_one("keep_max", keep_max, options["snapshot.num-retained.max"])
        now = clock.time_ns() // 1_000_000
        return expire(
            self.context,
            retain_min=_at_least_one("keep_last", keep_last, min(most, options["snapshot.num-retained.min"])),
            retain_max=most,
            older_than_millis=now - age,
            limit=_at_least_one("limit", limit, options["snapshot.expire.limit"]),
            dry_run=dry_run,
        )

    @property
    def tags(self) -> Tags:
        """Named snapshots, kept whatever expires; of a pinned table, ``create`` names the pinned one."""
        return Tags(self.context, self.pinned)

    def rollback(self, *, snapshot: int | None = None, tag: str | None = None) -> Snapshot:
        """Go back: newer snapshots and tags are gone, later commits continue from here (format 15.3)."""
        self._check_latest("roll back")
        if (snapshot is None) == (tag is None):
            raise InvalidRequest("rollback() takes exactly one of snapshot and tag")
        target = self.at(snapshot=snapshot, tag=tag).pinned
        assert target is not None
        return rollback(self.context, target)

    def refresh(self) -> Table:
        """The same table at its latest schema and snapshot; raises TableNotFound when it was dropped."""
        context = self.context
        schema = context.schemas.latest()
        if schema is None:
            raise TableNotFound(f"table {self.name} was dropped", table=self.name)
        return Table(TableContext.of(self.name, context.storage, context.paths.root, schema, context.manifests.cache))

    def _check_latest(self, what: str) -> None:
        if self.pinned is not None:
            raise InvalidRequest(
                f"table {self.name} is pinned to snapshot {self.pinned.id} for reading: cannot {what} there",
                snapshot=self.pinned.id,
            )


def _has_more(messages: Sequence[CommitMessage]) -> bool:
    """Whether a commit that has landed may lack its second half, the compaction."""
    return any(m.compact_before or m.compact_after or m.compact_changelog for m in messages)


def _epoch_millis(time: Any) -> int:
    if isinstance(time, datetime.datetime):
        try:
            return int(time.timestamp() * 1000)
        except (ValueError, OverflowError, OSError) as error:
            raise InvalidRequest(f"time {time} has no epoch milliseconds here: {error}") from None
    if isinstance(time, int) and not isinstance(time, bool):
        return time
    raise InvalidRequest(f"time must be a datetime or epoch milliseconds, not {time!r:.60}")


def _at_least_one(name: str, value: int | None, default: int) -> int:
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidRequest(f"{name} must be a whole number from 1, not {value!r}")
    return value
