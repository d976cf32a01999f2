"""Expiry: the part of ``table.maintenance`` that deletes old objects by their age and number (format 16).

The objects are snapshots, changelogs, partitions, consumers and tags. Each expiry first makes a plan, which the caller
checks and applies.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from paimon_core.argument_checks import as_millis, at_least_one
from paimon_core.errors import InvalidRequest
from paimon_core.maintain.expiry import changelogs, consumers, partitions
from paimon_core.maintain.expiry import snapshots as expire
from paimon_core.maintain.expiry.configured import age_limit_millis, retentions
from paimon_core.maintain.expiry.retention import Retention
from paimon_core.maintain.partition_done import mark_done
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.tags import expiry as tag_expiry
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.consumer_store import Consumer
from paimon_core.metadata.table_identity import changing_same_table

APPLY: Mapping[str, Callable[[TableContext, Plan], Any]] = {
    expire.OPERATION: expire.apply_snapshot_expiry,
    changelogs.OPERATION: changelogs.apply_changelog_expiry,
    partitions.OPERATION: partitions.apply_partition_expiry,
    consumers.OPERATION: consumers.apply_consumer_expiry,
    tag_expiry.OPERATION: tag_expiry.apply_tag_expiry,
}
"""The functions that apply an expiry plan, by the plan's operation."""


@dataclass(frozen=True)
class Expiry:
    """The expiry of one table on one branch."""

    context: TableContext

    def _reading(self) -> contextlib.AbstractContextManager[TableContext]:
        """Return a context for reads, and for changes of files with unique names.

        It raises TableNotFound when the table was dropped or re-created, also during the block.
        """
        return changing_same_table(self.context, guarded=False)

    def plan_snapshot_expiry(
        self,
        *,
        keep_last: int | None = None,
        keep_max: int | None = None,
        older_than: datetime.timedelta | None = None,
        limit: int | None = None,
    ) -> Plan:
        """Plan an expiry of snapshots: which expire, which files are deleted, which snapshots are protected and why.

        The defaults are the same as for ``Table.expire_snapshots``. Raises InvalidRequest for a wrong argument, and
        CorruptTable, which names the file, for a file that cannot be read.
        """
        with self._reading() as context:
            snapshots, lasting = requested_retentions(context, keep_last, keep_max, older_than, limit)
            return expire.plan_snapshot_expiry(context, snapshots, decoupled=lasting is not None)

    def plan_changelog_expiry(
        self,
        *,
        keep_last: int | None = None,
        keep_max: int | None = None,
        older_than: datetime.timedelta | None = None,
        limit: int | None = None,
    ) -> Plan:
        """Plan which lasting changelogs expire (format 16.2); the newest lasting changelog is always kept.

        Defaults come from the options ``changelog.num-retained.min/max`` and ``changelog.time-retained``, and from the
        options for snapshots. Raises InvalidRequest for a wrong argument, CorruptTable for a file that cannot be read.
        """
        now = clock.now_millis()
        snapshots, lasting = retentions(self.context, now)
        usual = lasting or snapshots
        most = at_least_one("keep_max", keep_max, usual.retain_max)
        age = None if older_than is None else as_millis("older_than", older_than)
        retention = Retention(
            at_least_one("keep_last", keep_last, min(most, usual.retain_min)),
            most,
            usual.older_than_millis if age is None else age_limit_millis(now, age),
            at_least_one("limit", limit, usual.limit),
        )
        with self._reading() as context:
            return changelogs.plan_changelog_expiry(context, retention)

    def plan_partition_expiry(
        self,
        *,
        older_than: datetime.timedelta | None = None,
        strategy: str | None = None,
        limit: int | None = None,
    ) -> Plan:
        """Plan which partitions expire, by ``strategy`` "values-time" or "update-time" (format 16.3).

        Defaults come from the options ``partition.expiration-*``. A partition whose age cannot be determined is listed
        as protected. Raises InvalidRequest for a wrong argument and for a table without partitions or without a
        lifetime, UnsupportedFeature for a time format that is not supported.
        """
        with self._reading() as context:
            return partitions.plan_partition_expiry(
                context,
                now_millis=clock.now_millis(),
                lifetime_millis=None if older_than is None else as_millis("older_than", older_than),
                strategy=strategy,
                limit=None if limit is None else at_least_one("limit", limit, 1),
            )

    def plan_consumer_expiry(self, *, older_than: datetime.timedelta | None = None) -> Plan:
        """Plan to delete consumers that were not updated for ``older_than`` (default: ``consumer.expiration-time``)."""
        millis = None if older_than is None else as_millis("older_than", older_than)
        with self._reading() as context:
            return consumers.plan_consumer_expiry(context, now_millis=clock.now_millis(), lifetime_millis=millis)

    def plan_tag_expiry(self, *, older_than: datetime.timedelta | None = None) -> Plan:
        """Plan to delete the tags whose retention time is over, and tags older than ``older_than``, with their files.

        Files that a remaining snapshot or tag uses are kept. Without ``older_than``, only tags with a retention time
        are deleted. Raises InvalidRequest for a wrong ``older_than``, and CorruptTable, which names the file, for a
        file that cannot be read.
        """
        now = clock.now_millis()
        created_before = None if older_than is None else now - as_millis("older_than", older_than)
        with self._reading() as context:
            return tag_expiry.plan_tag_expiry(context, now_millis=now, older_than_millis=created_before)

    def consumers(self) -> list[Consumer]:
        """Return the consumers, sorted by name, each with the first snapshot that it has not read.

        Raises CorruptTable for a damaged consumer file.
        """
        with self._reading() as context:
            return context.consumers.list()

    def reset_consumer(self, name: str, next_snapshot: int | None = None) -> None:
        """Set the next snapshot of a consumer; None deletes the consumer.

        Raises NotFound when the consumer to delete does not exist, InvalidRequest for a number that is not a snapshot
        id.
        """
        with changing_same_table(self.context) as context:
            if next_snapshot is None:
                context.consumers.delete(name)
            else:
                context.consumers.reset(name, next_snapshot)

    def mark_done(self, *partitions: Mapping[str, Any]) -> tuple[str, ...]:
        """Write into each partition a file that marks the partition as complete (format 16.8); return the files' paths.

        A partition is given as a mapping of its columns to their values. Raises InvalidRequest when a column is missing
        or is no partition column, SchemaMismatch for a value of a wrong type, NotFound for a partition without files,
        and UnsupportedFeature for another action than ``partition.mark-done-action = success-file``.
        """
        if not partitions:
            raise InvalidRequest("mark_done needs one or more partitions, such as {'dt': '2024-01-01'}")
        with changing_same_table(self.context) as context:
            return mark_done(context, partitions, clock.now_millis())


def requested_retentions(
    context: TableContext,
    keep_last: int | None,
    keep_max: int | None,
    older_than: datetime.timedelta | None,
    limit: int | None,
) -> tuple[Retention, Retention | None]:
    """Return the retention of snapshots, and the retention of lasting changelogs (None: the options keep none).

    The options of the table replace arguments that are None. Raises InvalidRequest, which names the argument, for a
    number below 1 or a wrong duration.
    """
    return retentions(
        context,
        clock.now_millis(),
        retain_min=None if keep_last is None else at_least_one("keep_last", keep_last, 1),
        retain_max=None if keep_max is None else at_least_one("keep_max", keep_max, 1),
        age_millis=None if older_than is None else as_millis("older_than", older_than),
        limit=None if limit is None else at_least_one("limit", limit, 1),
    )
