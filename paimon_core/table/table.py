"""Table: the user's handle on one table, to read, write and maintain it; every method is a few lines."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from paimon_core.compact.compactor import run_task, run_tasks
from paimon_core.compact.task import CompactionTask
from paimon_core.errors import PaimonError
from paimon_core.maintain.expiry.configured import expire_due, expire_retained
from paimon_core.maintain.expiry.snapshots import ExpireReport
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.metadata import clock
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import same_table, table_to_change
from paimon_core.predicate import Predicate
from paimon_core.table import compaction
from paimon_core.table.branches import Branches
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.expiry import asked_retentions
from paimon_core.table.maintenance import Maintenance
from paimon_core.table.tags import Tags, rollback_target
from paimon_core.table.writing import TableWrites

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Table(TableWrites):
    """A table that is also written and maintained, at its latest snapshot; pinned to another it can only be read."""

    def _keep_up(self, snapshot: Snapshot, written: Collection[tuple[bytes, int]] | None) -> None:
        super()._keep_up(snapshot, written)
        if written is None or self.options["write-only"]:
            return
        try:
            compaction.compact(self.context, CommitRequest.of(self.context, None, None, None), written=written)
            expire_due(self.context, clock.now_millis())
        except PaimonError as error:
            _LOG.warning("table %s: snapshot %d stands, its upkeep has to wait: %s", self.name, snapshot.id, error)

    # -- maintenance

    def plan_compaction(self, *, full: bool = False, where: Predicate | None = None) -> list[CompactionTask]:
        """The compactions that the buckets call for, largest first; ``where`` on partition columns.

        All buckets that are not settled when option ``full-compaction.delta-commits`` makes a full compaction due. To
        be counted as one, it is committed with the properties that ``compact.history.marked`` gives.
        """
        self._check_latest("compact")
        return compaction.plan(same_table(self.context), full=full, where=where)

    def run_compaction(self, task: CompactionTask) -> CommitMessage:
        """Do one planned compaction, here or in another process; commit its message with the others."""
        return run_task(same_table(self.context), task)

    def compact(
        self,
        full: bool = False,
        where: Predicate | None = None,
        *,
        user: str | None = None,
        properties: Mapping[str, str] | None = None,
        work: compaction.Work = run_tasks,
    ) -> Snapshot | None:
        """Merge sorted runs (or pack small files) where the options call for it; ``full``: into one run everywhere.

        Content never changes. None when there was nothing to do. All buckets are one commit, and again where more
        runs are left than ``num-sorted-run.stop-trigger``; after a conflict each bucket is one. Raises CommitConflict
        when others were faster in every bucket; nothing is left of this compaction then. ``work`` does the tasks, by
        default here, as many at once as there are processors.
        """
        self._check_latest("compact")
        request = CommitRequest.of(self.context, user, None, properties)
        return compaction.compact(self.context, request, full=full, where=where, work=work)

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
        ``snapshot.expire.limit``. Where the options ``changelog.*`` let changelogs outlive their snapshots, these stay,
        and expire by those options with the same call. Raises InvalidRequest, CorruptTable, TableNotFound when the
        table was dropped or made anew.
        """
        self._check_latest("expire snapshots")
        context = table_to_change(self.context)
        snapshots, changelogs = asked_retentions(context, keep_last, keep_max, older_than, limit)
        return expire_retained(context, snapshots, changelogs, dry_run=dry_run)

    @property
    def maintenance(self) -> Maintenance:
        """Expiry, orphans, repair and checks, each planned before it is applied."""
        self._check_latest("maintain")
        return Maintenance(self.context)

    @property
    def tags(self) -> Tags:
        """Named snapshots, kept whatever expires; of a pinned table, ``create`` names the pinned one."""
        return Tags(self.context, self.pinned)

    @property
    def branches(self) -> Branches:
        """The branches of the table; ``create`` begins one from here."""
        self._check_latest("branch")
        return Branches(self.context)

    def rollback(
        self,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        time: datetime.datetime | int | None = None,
        watermark: int | None = None,
    ) -> Snapshot:
        """Go back: newer snapshots, changelogs and tags are gone, later commits continue from here (format 15.3).

        To a snapshot (one that has expired comes back from its tag), to a tag, to the last snapshot at or before a
        ``time`` or a ``watermark``. ``maintenance.plan_rollback`` looks before. Raises SnapshotNotFound, TagNotFound,
        CommitConflict when others kept changing the table.
        """
        self._check_latest("roll back")
        target = rollback_target(self.context, snapshot, tag, time, watermark)
        return rollback(table_to_change(self.context), target)
