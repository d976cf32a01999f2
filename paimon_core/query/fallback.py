"""FallbackScan: a batch read of two branches, under the options scan.fallback-branch and scan.primary-branch.

A partition is read from one branch alone: the first one, if its snapshot has files in the partition, else the second
one. Java's ``FallbackReadFileStoreTable`` reads in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.errors import BranchNotFound, InvalidRequest, SchemaMismatch, SnapshotNotFound, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.microseconds import in_microseconds
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.options.scan_position import OTHER_BRANCHES, PRIMARY_BRANCH
from paimon_core.plan.live_files import read_live_files
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.plan.prune import Pruners
from paimon_core.predicate import Predicate, Where
from paimon_core.query.scan import Scan, first_rows, new_scan


def other_branch(context: TableContext) -> tuple[str, str] | None:
    """Return the option that names another branch to read, and the branch; None without one.

    Raises InvalidRequest when both options are set.
    """
    given = [(option, context.options[option]) for option in OTHER_BRANCHES if context.options[option] is not None]
    if len(given) > 1:
        raise InvalidRequest(f"table {context.name}: options {' and '.join(OTHER_BRANCHES)} exclude each other")
    return given[0] if given else None


def refuse_other_branch(context: TableContext) -> None:
    """Raise UnsupportedFeature when an option names another branch, which only scans read."""
    if (found := other_branch(context)) is not None:
        raise UnsupportedFeature(
            f"table {context.name} has option {found[0]} = {found[1]}: only a scan of the table reads two branches. "
            f"with_options({{{found[0]!r}: ''}}) reads this branch alone",
            table=context.name,
            option=found[0],
        )


@dataclass(frozen=True)
class _PartitionsWithout(Scan):
    """A scan of the partitions that another branch does not have."""

    partitions: frozenset[bytes] = frozenset()

    def _plan(self, snapshot: Snapshot | None) -> ScanPlan:
        plan = super()._plan(snapshot)
        return replace(plan, splits=tuple(s for s in plan.splits if s.partition not in self.partitions))


@dataclass(frozen=True)
class FallbackScan(Scan):
    """A scan of two branches; ``context`` and ``snapshot`` are those of the table. It has no splits."""

    other: Scan | None = None
    """The scan of the other branch."""
    is_other_first: bool = False

    @property
    def plan(self) -> ScanPlan:
        """Raises UnsupportedFeature."""
        raise UnsupportedFeature(
            f"table {self.context.name}: a scan of two branches has no splits of one snapshot: read all of it"
        )

    @cached_property
    def scans(self) -> tuple[Scan, ...]:
        """The scans of the two branches, each without a limit; together they return the rows."""
        own = Scan(self.context, self.snapshot, self.columns, self.where, None, self.pinned)
        assert self.other is not None
        first, second = (self.other, own) if self.is_other_first else (own, self.other)
        members = (second.context, second.snapshot, second.columns, second.where, None, second.pinned)
        return first, _PartitionsWithout(*members, partitions=_partitions(first))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "scans"}

    def explain(self, *, analyze: bool = False) -> Any:
        """Return the explanations of both scans."""
        return tuple(scan.explain(analyze=analyze) for scan in self.scans)

    def count(self) -> int:
        """Return the number of rows; see ``Scan.count``."""
        rows = sum(scan.count() for scan in self.scans)
        return rows if self.limit is None else min(rows, self.limit)

    def count_by_partition(self) -> pa.Table:
        """Return the partition columns and ``record_count``; see ``Scan.count_by_partition``."""
        if self.limit is not None:
            raise InvalidRequest(f"count_by_partition counts all rows: the scan has a limit of {self.limit}")
        return pa.concat_tables([scan.count_by_partition() for scan in self.scans])

    def _batches(self, **settings: Any) -> Iterator[pa.RecordBatch]:
        if self.limit == 0:
            return
        schema = self.schema
        batches = chain.from_iterable(scan.to_batches(**_given(settings)) for scan in self.scans)
        typed = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches)
        yield from typed if self.limit is None else first_rows(typed, self.limit)

    def narrowed(
        self, columns: Sequence[str] | None = None, where: Predicate | None = None, limit: int | None = None
    ) -> Scan:
        """See ``Scan.narrowed``."""
        assert self.other is not None
        new = super().narrowed(columns, where, limit)
        assert isinstance(new, FallbackScan)
        return replace(new, other=replace(self.other, columns=new.columns, where=new.where))


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _partitions(scan: Scan) -> frozenset[bytes]:
    """Return the partitions of which the snapshot of a scan has files, also those that a read does not show yet."""
    snapshot, context = scan.plan.snapshot, scan.context
    if snapshot is None:
        return frozenset()
    pruners = Pruners.of(None, context.schema, context.options, context.schemas.read)
    with context.manifests.reading(snapshot):
        found = read_live_files(context.manifests, snapshot, pruners, None, level_0=True, evolves=context.evolves).table
    return frozenset(found.partitions[code] for code in np.unique(found.partition).tolist())


def fallback_scan(scan: Scan, columns: Sequence[str] | None, where: Where | None, *, micros: bool = False) -> Scan:
    """Return the scan of two branches when an option names another one, else ``scan`` unchanged.

    A pinned table reads the other branch as it was at the time of its snapshot. Raises BranchNotFound, SchemaMismatch
    for branches with other columns, UnsupportedFeature for an option that selects only some files.
    """
    context = scan.context
    found = other_branch(context)
    if found is None:
        return scan
    option, name = found
    if scan.created_from is not None:
        raise UnsupportedFeature(f"table {context.name} has option {option}: it cannot read files by creation time")
    try:
        branch = context.on_branch(name)
    except BranchNotFound as error:
        raise BranchNotFound(f"option {option} of table {context.name}: {error}", option=option) from None
    snapshot = _snapshot_of(branch, scan.snapshot if scan.pinned else None)
    if scan.pinned and snapshot is not None:
        branch = branch.with_schema(branch.schemas.read(snapshot.schema_id))
    branch = in_microseconds(branch) if micros else branch
    _check_columns(context, branch, option)
    other = new_scan(branch, snapshot, columns, where, None, pinned=scan.pinned or snapshot is None)
    members = (context, scan.snapshot, scan.columns, scan.where, scan.limit, scan.pinned)
    return FallbackScan(*members, other=other, is_other_first=option == PRIMARY_BRANCH)


def _snapshot_of(branch: TableContext, pinned: Snapshot | None) -> Snapshot | None:
    if pinned is None:
        return branch.snapshots.latest()
    try:
        return branch.snapshots.as_of(pinned.time_millis)
    except SnapshotNotFound:
        return None


def _check_columns(context: TableContext, branch: TableContext, option: str) -> None:
    own, other = (
        [(f.name, str(f.type).removesuffix(" NOT NULL")) for f in c.schema.fields]
        + [(k, "") for k in c.schema.partition_keys]
        for c in (context, branch)
    )
    if own != other:
        raise SchemaMismatch(
            f"option {option} of table {context.name}: the branch has other columns or partition columns than the table"
        )
