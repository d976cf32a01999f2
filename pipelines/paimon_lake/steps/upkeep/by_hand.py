"""by_hand: steps that a person starts: sort, rescale, create a branch, delete a tag or a branch."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_core.spark.compactor import rescale_spark, spark_work
from paimon_core.table.table import Table
from paimon_lake.declarations import Settings
from paimon_lake.protocol import PipelineError, StepResult, plain, some
from paimon_lake.session import Spark
from paimon_lake.steps.upkeep.maintenance import of_partitions, tag
from paimon_lake.tables import open_table, result_of, state_of


def sort(
    spark: Spark,
    settings: Settings,
    name: str,
    *,
    order_by: Sequence[str],
    strategy: str = "order",
    partitions: Sequence[str] | None = None,
    properties: Mapping[str, str] | None = None,
) -> StepResult:
    """Sort the rows of an append table by columns with Spark, see ``Table.sort_compact``; no row changes.

    ``partitions`` limits the sort to these values of the partition column. Raises PipelineError without columns, and
    InvalidRequest or SchemaMismatch for a table or columns that cannot be sorted.
    """
    started = time.monotonic()
    table = open_table(settings, name)
    if not order_by:
        columns = some([field.name for field in table.schema.fields])
        raise PipelineError(f"{name}: order_by is empty; name the columns to sort by: {columns}")
    before, where = state_of(table), of_partitions(table, partitions)
    report = table.sort_compact(
        order_by, strategy, where, properties={"pipeline.step": "sort", **plain(properties)}, work=spark_work(spark)
    )
    done = f"sorted {report.input_files} files by {', '.join(order_by)}" if report else "nothing to sort"
    details: dict[str, str | int | float] = {"input_files": report.input_files, "input_bytes": report.input_bytes}
    commits = [snapshot.id for snapshot in report.snapshots]
    return result_of("sort", table, before, started, commits=commits, details=details, note=done)


def rescale(
    spark: Spark,
    settings: Settings,
    name: str,
    *,
    buckets: int | None = None,
    partitions: Sequence[str] | None = None,
    dry_run: bool = False,
    properties: Mapping[str, str] | None = None,
) -> StepResult:
    """Rewrite partitions into the number of buckets of the option ``bucket`` with Spark; no row changes.

    ``buckets`` must be the option: loads cannot write partitions with another number. Only a table with
    ``bucket = -2`` takes another number. A ``dry_run`` reports the partitions that have another number. Raises
    PipelineError for another number, and InvalidRequest for a table without fixed buckets.
    """
    started = time.monotonic()
    table = open_table(settings, name)
    option = table.options["bucket"]
    if option == -1:
        raise InvalidRequest(
            f"table {name} has bucket = -1, so it has no fixed number of buckets that could be changed"
        )
    if buckets is not None and option != -2 and buckets != option:
        raise PipelineError(
            f"{name}: buckets is {buckets}, but option bucket is {option}, and loads write only partitions with this "
            f"number: declare bucket: {buckets}, run `paimon-lake apply`, then rescale"
        )
    before, where = state_of(table), of_partitions(table, partitions)
    wanted = option if buckets is None else buckets
    others = _with_other_numbers(table, wanted, partitions)
    details: dict[str, str | int | float] = {"buckets": wanted, "partitions_to_rescale": len(others)}
    if dry_run:
        note = f"would rewrite {len(others)} partitions into {wanted} buckets: {some(others) or 'none'}"
        return result_of("rescale", table, before, started, details=details, note=note)
    properties = {"pipeline.step": "rescale", **plain(properties)}
    snapshot = rescale_spark(spark(), table, buckets, where, properties=properties) if others else None
    commits = [] if snapshot is None else [snapshot.id]
    note = f"rewrote {len(others)} partitions into {wanted} buckets" if commits else "nothing to rescale"
    return result_of("rescale", table, before, started, commits=commits, details=details, note=note)


def _with_other_numbers(table: Table, wanted: int, partitions: Sequence[str] | None) -> list[str]:
    """Return the paths of the partitions with another number of buckets; "the whole table" without partitions."""
    where = of_partitions(table, partitions)
    chosen = None if where is None else {split.partition for split in table.scan(where=where).splits()}
    found = {
        entry.partition
        for entry in latest_entries(table.context)
        if entry.bucket >= 0 and entry.total_buckets != wanted and (chosen is None or entry.partition in chosen)
    }
    return sorted(table.context.partition_path(partition) or "the whole table" for partition in found)


def branch(settings: Settings, name: str, branch_name: str, *, tag_name: str | None = None) -> StepResult:
    """Create a branch with the rows of a tag; without one, the tag ``<branch>-start`` of the latest snapshot is made.

    Raises AlreadyExists for an existing branch, TagNotFound for an unknown tag, InvalidRequest for an invalid name.
    """
    started = time.monotonic()
    table = open_table(settings, name)
    before = state_of(table)
    if before.snapshot_id is None:
        raise PipelineError(f"{name} has no snapshot yet: load it before a branch is made")
    if branch_name in table.branches.list():
        raise PipelineError(f"{name} has a branch {branch_name!r} already")
    start = tag_name or f"{branch_name}-start"
    commits = tag(settings, name, start).commits if tag_name is None else ()
    table.branches.create(branch_name, tag=start)
    details: dict[str, str | int | float] = {"branch": branch_name, "tag": start}
    note = f"branch {branch_name} was created with the rows of tag {start}"
    return result_of("branch", table, before, started, commits=commits, details=details, note=note)


def delete(
    settings: Settings, name: str, *, tag_name: str | None = None, branch_name: str | None = None, dry_run: bool = True
) -> StepResult:
    """Delete a tag or a branch; a ``dry_run`` only reports what would be deleted.

    Raises PipelineError unless exactly one of them is given, TagNotFound, BranchNotFound, and PlanOutdated after a
    concurrent change.
    """
    started = time.monotonic()
    if (tag_name is None) == (branch_name is None):
        given = "neither is given" if tag_name is None else f"tag is {tag_name!r} and branch is {branch_name!r}"
        raise PipelineError(f"{name}: give either a tag or a branch to delete; {given}")
    table = open_table(settings, name)
    before, maintenance = state_of(table), table.maintenance
    plan = (
        maintenance.plan_branch_deletion(branch_name)
        if branch_name is not None
        else maintenance.plan_tag_deletion(tag_name or "")
    )
    if not dry_run:
        maintenance.apply(plan)
    details: dict[str, str | int | float] = {
        "plan": plan.sentence(),
        "files_deleted": 0 if dry_run else len(plan.files),
        "files_in_plan": len(plan.files),
        "bytes_in_plan": plan.size_bytes,
    }
    what = f"tag {tag_name}" if branch_name is None else f"branch {branch_name}"
    verb = "would delete" if dry_run else "deleted"
    note = f"{verb} {what} and {len(plan.files)} files with {plan.size_bytes:,} bytes"
    return result_of("delete", table, before, started, details=details, note=note)
