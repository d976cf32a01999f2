"""FallbackRows: the rows of two branches, under the options scan.fallback-branch and scan.primary-branch.

Each partition is read from one branch alone: the first branch, if its snapshot has files in the partition, else the
second branch. The rule is the same as in Java (``FallbackReadFileStoreTable``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from paimon_core.errors import BranchNotFound, InvalidRequest, SchemaMismatch, SnapshotNotFound, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.microseconds import in_microseconds
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.options.scan_position import OTHER_BRANCHES, PRIMARY_BRANCH
from paimon_core.plan.explanation import ScanExplanation
from paimon_core.plan.live_files import read_live_files
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.plan.prune import Pruners
from paimon_core.predicate import Where
from paimon_core.query.description import Batching, ScanDescription
from paimon_core.query.planned_rows import PlannedRows, first_rows, snapshot_plan
from paimon_core.query.scan import Scan, new_scan


def other_branch(context: TableContext) -> tuple[str, str] | None:
    """Return the option that names another branch to read, and the branch; None when no option names a branch.

    Raises InvalidRequest when both options are set.
    """
    given = [(option, context.options[option]) for option in OTHER_BRANCHES if context.options[option] is not None]
    if len(given) > 1:
        raise InvalidRequest(f"table {context.name}: options {' and '.join(OTHER_BRANCHES)} exclude each other")
    return given[0] if given else None


def refuse_other_branch(context: TableContext) -> None:
    """Raise UnsupportedFeature when an option names another branch to read: only scans read two branches."""
    if (found := other_branch(context)) is not None:
        raise UnsupportedFeature(
            f"table {context.name} has option {found[0]} = {found[1]}: only a scan of the table reads two branches. "
            f"with_options({{{found[0]!r}: ''}}) reads this branch alone",
            table=context.name,
            option=found[0],
        )


@dataclass(frozen=True)
class PlanWithout:
    """Plans the partitions of a scan in which the scan ``first``, of another branch, has no files."""

    first: Scan

    def __call__(self, scan: ScanDescription) -> ScanPlan:
        """Return the plan of the scan's snapshot without the partitions in which ``first`` has files."""
        known = _partitions(self.first)
        plan = snapshot_plan(scan)
        return replace(plan, splits=tuple(s for s in plan.splits if s.partition not in known))


@dataclass(frozen=True)
class FallbackRows:
    """A source of the rows of two branches, without splits. The scans of both branches have no limit."""

    first: Scan
    second: Scan
    """The scan of the partitions that ``first`` does not have."""

    @staticmethod
    def of(first: Scan, second: Scan) -> FallbackRows:
        """Return the rows of ``first``, and the rows of ``second`` in the partitions that ``first`` does not have."""
        return FallbackRows(first, replace(second, source=PlannedRows(PlanWithout(first))))

    def plan(self, scan: ScanDescription) -> ScanPlan:
        """Raise UnsupportedFeature, because the splits of a plan are of one branch."""
        raise UnsupportedFeature(
            f"table {scan.context.name}: a scan of two branches has no splits of one snapshot: read all of it"
        )

    def batches(self, scan: ScanDescription, batching: Batching) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the first branch, then the rows of the second branch."""
        if scan.limit == 0:
            return
        self._share_damaged(scan)
        batches = self._typed(scan.schema, batching)
        yield from batches if scan.limit is None else first_rows(batches, scan.limit)

    def _typed(self, schema: pa.Schema, batching: Batching) -> Iterator[pa.RecordBatch]:
        _ = self.second.plan  # the snapshots of both branches may expire while the first rows are read
        for member in (self.first, self.second):
            for batch in member.source.batches(member, batching):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    def count(self, scan: ScanDescription) -> int:
        """Return the number of rows; see ``Scan.count``."""
        self._share_damaged(scan)
        rows = self.first.count() + self.second.count()
        return rows if scan.limit is None else min(rows, scan.limit)

    def count_by_partition(self, scan: ScanDescription) -> pa.Table:
        """Return the number of rows of each partition; raises InvalidRequest for a scan with a limit."""
        if scan.limit is not None:
            raise InvalidRequest(f"count_by_partition counts all rows: the scan has a limit of {scan.limit}")
        self._share_damaged(scan)
        return pa.concat_tables([self.first.count_by_partition(), self.second.count_by_partition()])

    def explain(self, scan: ScanDescription, *, analyze: bool) -> tuple[ScanExplanation, ScanExplanation]:
        """Return the explanations of both scans."""
        return self.first.explain(analyze=analyze), self.second.explain(analyze=analyze)

    def _share_damaged(self, scan: ScanDescription) -> None:
        """Make the two scans add the damaged files that their reads leave out to the list of ``scan``."""
        for member in (self.first, self.second):
            if member.damaged is not None and scan.damaged is not None:
                member.damaged.found = scan.damaged.found

    def narrowed(self, scan: ScanDescription) -> FallbackRows:
        """Return the rows of the two branches with the columns and the filter of ``scan``."""
        return FallbackRows.of(*(replace(m, columns=scan.columns, where=scan.where) for m in (self.first, self.second)))


def _partitions(scan: Scan) -> frozenset[bytes]:
    """Return the partitions in which the snapshot of a scan has files.

    Files of level 0 count even if reads ignore level 0.
    """
    snapshot, context = scan.plan.snapshot, scan.context
    if snapshot is None:
        return frozenset()
    pruners = Pruners.of(None, context.schema, context.options, context.schemas.read)
    with context.manifests.reading(snapshot):
        found = read_live_files(context.manifests, snapshot, pruners, None, level_0=True, evolves=context.evolves).table
    return frozenset(found.partitions[code] for code in np.unique(found.partition).tolist())


def fallback_scan(scan: Scan, columns: Sequence[str] | None, where: Where | None, *, micros: bool = False) -> Scan:
    """Return a scan of two branches when an option names another branch to read, else ``scan`` unchanged.

    A pinned scan reads the other branch at the time of the pinned snapshot. Raises BranchNotFound when the other branch
    does not exist, SchemaMismatch when it has other columns, UnsupportedFeature when the scan selects files by their
    creation time.
    """
    context = scan.context
    found = other_branch(context)
    if found is None:
        return scan
    option, name = found
    if scan.created_from is not None:
        raise UnsupportedFeature(f"table {context.name} has option {option}: files cannot be selected by creation time")
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
    own = replace(scan, limit=None)
    rows = FallbackRows.of(other, own) if option == PRIMARY_BRANCH else FallbackRows.of(own, other)
    return replace(scan, source=rows)


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
