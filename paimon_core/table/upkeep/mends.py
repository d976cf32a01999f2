"""mend: does what a finding of health advises."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from paimon_core.errors import InvalidRequest
from paimon_core.health.finding import Finding

if TYPE_CHECKING:
    from paimon_core.table.table import Table


def mend(table: Table, finding: Finding) -> Any:
    """Do what ``finding.command`` does and return the report of the operation; see ``Table.mend``."""
    if finding.name not in MENDS:
        known = ", ".join(sorted(MENDS))
        raise InvalidRequest(
            f"{finding.name} of table {table.name} has no mend that runs by itself: {finding.command}. There are mends "
            f"for {known}",
            table=table.name,
            finding=finding.name,
        )
    return MENDS[finding.name](table, finding.arguments)


def _full(table: Table, arguments: Mapping[str, Any]) -> Any:
    return table.compact(full=True).snapshot


def _rescale(table: Table, arguments: Mapping[str, Any]) -> Any:
    altered = table.alter(f"SET ('bucket' = '{arguments['buckets']}')")
    return altered.rescale()


def _delete_tags(table: Table, arguments: Mapping[str, Any]) -> Any:
    for name in arguments["tags"]:
        table.tags.delete(name)
    return f"deleted {len(arguments['tags'])} tags"


def _delete_branches(table: Table, arguments: Mapping[str, Any]) -> Any:
    for name in arguments["branches"]:
        table.branches.delete(name)
    return f"deleted {len(arguments['branches'])} branches; an orphan removal frees their files"


def _expire_consumers(table: Table, arguments: Mapping[str, Any]) -> Any:
    age = datetime.timedelta(days=arguments["days"])
    return table.maintenance.apply(table.maintenance.plan_consumer_expiry(older_than=age))


def _alter(table: Table, arguments: Mapping[str, Any]) -> Any:
    altered = table.alter(*arguments["changes"])
    return f"altered to schema {altered.schema.id}"


MENDS: Mapping[str, Callable[[Table, Mapping[str, Any]], Any]] = {
    "many-sorted-runs": lambda table, _: table.compact().snapshot,
    "old-level-0": _full,
    "small-files": _full,
    "kept-deletes": _full,
    "many-manifests": lambda table, _: table.maintenance.compact_manifests(),
    "missing-indexes": lambda table, _: table.rewrite_file_index(),
    "no-expiry": lambda table, arguments: table.expire_snapshots(
        keep_last=1, keep_max=arguments["keep_max"], limit=1 << 31
    ),
    "too-many-buckets": _rescale,
    "too-few-buckets": _rescale,
    "hot-bucket": _rescale,
    "stale-tags": _delete_tags,
    "forgotten-branch": _delete_branches,
    "dead-consumer": _expire_consumers,
    "conflicting-options": _alter,
    "useless-index": _alter,
}
"""By name of a finding: the function that mends it. ``small-partitions`` needs a decision of a person."""
