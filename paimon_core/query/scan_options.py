"""Scan options: a tag that protects the snapshot of each scan, and the prohibition of scans of all files."""

from __future__ import annotations

import uuid

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import table_to_change
from paimon_core.options import OptionValue
from paimon_core.plan.plan_scan import ScanPlan

LEASE_PREFIX = "batch-read-"
"""The first part of the names of tags that protect the snapshot of a read, as in Java."""
SCAN_HOLDER = "scan"
"""The last part of the names of the tags that scans create for themselves."""
_RETAINED = "scan.plan-auto-tag-for-read.time-retained"
_FULL_SCAN = "read.allow.fullScan"
ALL_ROWS: dict[str, OptionValue] = {
    _FULL_SCAN: True,
    "scan.ignore-lost-files": False,
    "scan.ignore-corrupt-files": False,
}
"""Values of options with which a scan reads all rows or fails, for callers such as statistics and audits."""


def protect(context: TableContext, snapshot: Snapshot | None) -> None:
    """Create a tag that protects the snapshot of a scan, if ``scan.plan-auto-tag-for-read.time-retained`` is set.

    The first expiry of tags after the retained time deletes the tag, as in Java. Raises SnapshotNotFound when the
    snapshot has expired.
    """
    retained = context.options[_RETAINED]
    if retained is not None and snapshot is not None:
        from paimon_core.maintain.tags.operations import create_tag  # few reads need it

        name = f"{LEASE_PREFIX}{snapshot.id}-{uuid.uuid4().hex[:8]}-{SCAN_HOLDER}"
        create_tag(table_to_change(context), name, snapshot, retained)


def check_full_scan(context: TableContext, plan: ScanPlan) -> None:
    """Raise InvalidRequest for a plan that leaves out no file, when ``read.allow.fullScan`` is false.

    As in Java, the option has an effect on tables with partitions only, and any filter that leaves out a file is
    enough.
    """
    if context.options[_FULL_SCAN] or not context.schema.partition_keys or not plan.files:
        return
    if plan.counts.files_selected + plan.counts.awaiting_compaction >= plan.counts.files_total:
        keys = ", ".join(context.schema.partition_keys)
        raise InvalidRequest(
            f"table {context.name} has option {_FULL_SCAN} = false, and the scan would read all of its "
            f"{plan.counts.files_total} files: filter by the partition columns ({keys})",
            table=context.name,
            option=_FULL_SCAN,
        )
