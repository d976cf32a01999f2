"""Mends: ``mend`` does what a finding of health advises, ``mend_table`` runs the mends of a table."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.health.finding import FINDINGS, Finding, Health
from paimon_core.health.thresholds import Thresholds
from paimon_core.metadata.snapshot import Snapshot

if TYPE_CHECKING:
    from paimon_core.predicate import Where
    from paimon_core.table.table import Table

MORE_RUNS = 3
"""The maximum number of compactions of an append table after the first.

A compaction packs about 128 small files into one, so four compactions pack more than 100 million files into one.
"""


def compact_fully(
    table: Table, where: Where | None = None, partition_idle_time: datetime.timedelta | None = None
) -> Snapshot | None:
    """Compact fully, and repeat this for an append table while there are files to pack; return the last snapshot.

    Arguments and errors: see ``Table.compact``.
    """
    last = table.compact(True, where, partition_idle_time=partition_idle_time).snapshot
    for _ in range(0 if last is None or table.context.is_keyed else MORE_RUNS):
        snapshot = table.compact(True, where, partition_idle_time=partition_idle_time).snapshot
        if snapshot is None:
            break
        last = snapshot
    return last


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


@dataclass(frozen=True)
class Mend:
    """A mend that ran: the report of its operation, or the error that it raised."""

    finding: Finding
    report: Any = None
    error: str = ""


def mend_table(
    table: Table,
    names: Collection[str] = (),
    thresholds: Thresholds | None = None,
    before: Callable[[Finding], object] = lambda finding: None,
) -> tuple[Health, tuple[Mend, ...]]:
    """Run the mends of the findings ``names``, or all safe mends; return the health after them, and the mends.

    The health of the table is determined again after each mend, and each finding is mended at most once. ``before`` is
    called with a finding before its mend runs. After an error of a mend, the next mend runs. Raises InvalidRequest for
    an unknown name, and the errors of ``Table.health``.
    """
    if unknown := sorted(set(names) - set(FINDINGS)):
        raise InvalidRequest(f"there is no finding {unknown[0]!r:.60}; there are {', '.join(FINDINGS)}")
    done: list[Mend] = []
    while True:
        health = table.health(thresholds)
        tried = {one.finding.name for one in done}
        finding = next((f for f in health.findings if f.name not in tried and _is_chosen(f, names)), None)
        if finding is None:
            return health, tuple(done)
        before(finding)
        try:
            done.append(Mend(finding, table.mend(finding)))
        except PaimonError as error:
            done.append(Mend(finding, error=f"{error.kind}: {error}"))
        table = table.refresh()


def _is_chosen(finding: Finding, names: Collection[str]) -> bool:
    return finding.name in names if names else finding.safe


def _full(table: Table, arguments: Mapping[str, Any]) -> Any:
    return compact_fully(table)


def _repair(table: Table, arguments: Mapping[str, Any]) -> Any:
    """Repair each branch of the finding, and return the last report."""
    report = None
    for name in arguments["branches"]:
        branch = table if name == table.context.branch else table.branch(name)
        report = branch.maintenance.apply(branch.maintenance.plan_repair())
    return report


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
    """Delete the consumers of the finding whose positions were not written again since the finding."""
    ill = arguments["consumers"]
    dead = [c.name for c in table.maintenance.consumers() if ill.get(c.name) == c.modified_millis]
    for name in dead:
        table.maintenance.reset_consumer(name)
    return f"deleted {', '.join(dead) or 'no consumer'}"


def _add_indexes(table: Table, arguments: Mapping[str, Any]) -> Any:
    return table.alter(*arguments["changes"]).rewrite_file_index()


def _alter(table: Table, arguments: Mapping[str, Any]) -> Any:
    altered = table.alter(*arguments["changes"])
    return f"altered to schema {altered.schema.id}"


MENDS: Mapping[str, Callable[[Table, Mapping[str, Any]], Any]] = {
    "many-sorted-runs": lambda table, _: table.compact().snapshot,
    "old-level-0": _full,
    "waiting-rows": lambda table, _: table.compact().snapshot,
    "small-files": _full,
    "kept-deletes": _full,
    "many-manifests": lambda table, _: table.maintenance.compact_manifests(),
    "missing-indexes": lambda table, _: table.rewrite_file_index(),
    "damaged-snapshot": _repair,
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
    "unused-index": _alter,
    "unindexed-filter": _add_indexes,
}
"""By name of a finding: the function that mends it. The mend of ``small-partitions`` needs a decision of a person."""
