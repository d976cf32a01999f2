"""Bodies: the function of each procedure, which takes the arguments of its CALL and returns a list of texts."""

from __future__ import annotations

import datetime
import re
from typing import Any

from paimon_core.argument_checks import parsed_id
from paimon_core.spark.compactor import (
    compact_database_spark,
    compact_spark,
    rescale_spark,
    rewrite_file_index_spark,
    sort_compact_spark,
)
from paimon_core.spark.removal import apply_spark, plan_orphan_removal_spark
from paimon_core.spark.sql.procedures.arguments import Arguments

Results = list[str]


# -- rewrites


def compact(given: Arguments) -> Results:
    """Compact the files of a table, or sort its rows, in Spark tasks."""
    table, where = given.table_with_options(), given.partitions()
    strategy, order = given.text("compact_strategy", "full"), given.text("order_strategy", "none")
    given.one_of("compact_strategy", strategy, ("full", "minor"))
    given.one_of("order_strategy", order, ("none", "order", "zorder", "hilbert"))
    if order == "none":
        given.without("order_by", "order_strategy = 'none'")
        idle = given.duration("partition_idle_time")
        report = compact_spark(given.spark, table, full=strategy == "full", where=where, partition_idle_time=idle)
    else:
        for name in ("compact_strategy", "partition_idle_time"):
            given.without(name, "order_strategy")
        columns = [name.strip() for name in given.required("order_by").split(",")]
        report = sort_compact_spark(given.spark, table, columns, order, where=where)
    return _snapshot(report.snapshot)


def compact_database(given: Arguments) -> Results:
    """Compact the tables whose names match the patterns of the arguments, one after the other."""
    strategy = given.text("compact_strategy", "full")
    given.one_of("compact_strategy", strategy, ("full", "minor"))
    patterns = ("including_databases", "including_tables", "excluding_tables")
    outcomes = compact_database_spark(
        given.spark,
        given.catalog,
        **{name: given.get(name) for name in patterns if given.get(name) is not None},
        full=strategy == "full",
        partition_idle_time=given.duration("partition_idle_time"),
        options=given.options(),
    )
    return [outcome.sentence for outcome in outcomes] or [
        "no database matches including_databases, or none has a table"
    ]


def compact_manifest(given: Arguments) -> Results:
    """Rewrite the manifests into fewer and larger manifests."""
    return _snapshot(given.table.maintenance.compact_manifests())


def rescale(given: Arguments) -> Results:
    """Rewrite partitions into another number of buckets."""
    return _snapshot(rescale_spark(given.spark, given.table, given.get("bucket_num"), given.partitions()))


def rewrite_file_index(given: Arguments) -> Results:
    """Give existing data files the indexes of the table's options."""
    return _snapshot(rewrite_file_index_spark(given.spark, given.table, given.get("where")))


# -- removal


def expire_snapshots(given: Arguments) -> Results:
    """Delete old snapshots and the files that only they use."""
    table = given.table_with_options()
    plan = table.maintenance.plan_snapshot_expiry(
        keep_last=given.count("retain_min"),
        keep_max=given.count("retain_max"),
        older_than=given.age("older_than"),
        limit=given.count("max_deletes"),
    )
    apply_spark(given.spark, table, plan)
    return [plan.sentence()]


def expire_partitions(given: Arguments) -> Results:
    """Delete the partitions that are older than their expiration time."""
    more = {
        "partition.timestamp-formatter": given.get("timestamp_formatter"),
        "partition.timestamp-pattern": given.get("timestamp_pattern"),
    }
    table = given.table_with_options({key: value for key, value in more.items() if value is not None})
    plan = table.maintenance.plan_partition_expiry(
        older_than=given.duration("expiration_time"),
        strategy=given.get("expire_strategy"),
        limit=given.count("max_expires"),
    )
    table.maintenance.apply(plan)
    return [plan.sentence()]


def remove_orphan_files(given: Arguments) -> Results:
    """Move the files that nothing references to a quarantine; with ``dry_run`` only list them."""
    table, mode = given.table, given.text("mode", "distributed")
    given.one_of("mode", mode, ("distributed", "local"))
    age = given.age("older_than") or datetime.timedelta(days=1)
    if mode == "local":
        plan = table.maintenance.plan_orphan_removal(older_than=age)
    else:
        plan = plan_orphan_removal_spark(given.spark, table, older_than=age)
    if given.get("dry_run"):
        return [f"{plan.sentence()}; nothing was removed", *(file.path for file in plan.files)]
    if mode == "local":
        table.maintenance.apply(plan)
    else:
        apply_spark(given.spark, table, plan)
    return [f"{plan.sentence()}; in quarantine", *(file.path for file in plan.files)]


def remove_unexisting_files(given: Arguments) -> Results:
    """Remove the entries of missing data files; with ``dry_run`` only list them."""
    plan = given.table.maintenance.plan_missing_removal()
    if given.get("dry_run"):
        return [f"{plan.sentence()}; nothing was removed", *plan.subjects]
    given.table.maintenance.apply(plan)
    return [plan.sentence(), *plan.subjects]


# -- tags, rollback and branches


def create_tag(given: Arguments) -> Results:
    """Create a tag for a snapshot, by default the latest."""
    tag = given.table.tags.create(
        given.required("tag"), given.get("snapshot"), keep_for=given.duration("time_retained")
    )
    return [f"tag {tag.name} of snapshot {tag.snapshot.id}"]


def create_tag_from_timestamp(given: Arguments) -> Results:
    """Create a tag for the first snapshot at or after a time."""
    keep_for = given.duration("time_retained")
    tag = given.table.tags.create(given.required("tag"), time=given.get("timestamp"), keep_for=keep_for)
    return [f"tag {tag.name} of snapshot {tag.snapshot.id}"]


def replace_tag(given: Arguments) -> Results:
    """Let a tag name another snapshot."""
    name, keep_for = given.required("tag"), given.duration("time_retained")
    tag = given.table.tags.replace(name, given.get("snapshot"), keep_for=keep_for)
    return [f"tag {tag.name} of snapshot {tag.snapshot.id}"]


def rename_tag(given: Arguments) -> Results:
    """Rename a tag."""
    tag = given.table.tags.rename(given.required("tag"), given.required("target_tag"))
    return [f"tag {tag.name} of snapshot {tag.snapshot.id}"]


def delete_tag(given: Arguments) -> Results:
    """Delete one or more tags; all of them must exist."""
    names = [name.strip() for name in given.required("tag").split(",")]
    for name in names:
        given.table.tags.read(name)  # all tags must exist before the first is deleted
    for name in names:
        given.table.tags.delete(name)
    return [f"deleted tag {name}" for name in names]


def expire_tags(given: Arguments) -> Results:
    """Delete the tags whose retention time is over, and the tags older than a time."""
    return [f"deleted tag {name}" for name in given.table.tags.expire(older_than=given.age("older_than"))]


def create_due_tags(given: Arguments) -> Results:
    """Create the automatic tags that are due."""
    return [f"tag {tag.name} of snapshot {tag.snapshot.id}" for tag in given.table.tags.create_due()]


def rollback(given: Arguments) -> Results:
    """Make an older snapshot the latest again."""
    version, snapshot, tag = given.get("version"), given.get("snapshot"), given.get("tag")
    if version is not None:
        given.without("snapshot", "version")
        given.without("tag", "version")
        is_tag = version in {known.name for known in given.table.tags.list()} or not re.fullmatch(r"\d+", version)
        snapshot, tag = (None, version) if is_tag else (parsed_id(version, "version"), None)
    return _snapshot(given.table.rollback(snapshot=snapshot, tag=tag))


def rollback_to_timestamp(given: Arguments) -> Results:
    """Make the last snapshot at or before a time the latest again."""
    return _snapshot(given.table.rollback(time=given.get("timestamp")))


def rollback_to_watermark(given: Arguments) -> Results:
    """Make the last snapshot at or before a watermark the latest again."""
    return _snapshot(given.table.rollback(watermark=given.get("watermark")))


def create_branch(given: Arguments) -> Results:
    """Create a branch, empty or from a tag."""
    given.table.branches.create(given.required("branch"), tag=given.get("tag"))
    return [f"branch {given.required('branch')}"]


def delete_branch(given: Arguments) -> Results:
    """Delete one or more branches; all of them must exist."""
    names, known = [name.strip() for name in given.required("branch").split(",")], given.table.branches.list()
    for name in names:
        given.one_of("branch", name, known)
    for name in names:
        given.table.branches.delete(name)
    return [f"deleted branch {name}" for name in names]


def rename_branch(given: Arguments) -> Results:
    """Rename a branch."""
    given.table.branches.rename(given.required("from_branch"), given.required("to_branch"))
    return [f"branch {given.required('to_branch')}"]


def fast_forward(given: Arguments) -> Results:
    """Take over the newer snapshots, schemas and tags of a branch."""
    return _snapshot(given.table.branches.fast_forward(given.required("branch")))


# -- consumers, partitions and hints


def reset_consumer(given: Arguments) -> Results:
    """Set the next snapshot of a consumer, or delete the consumer."""
    name, snapshot = given.required("consumerId"), given.get("nextSnapshotId")
    given.table.maintenance.reset_consumer(name, snapshot)
    return [f"deleted consumer {name}" if snapshot is None else f"consumer {name} continues at snapshot {snapshot}"]


def clear_consumers(given: Arguments) -> Results:
    """Delete the consumers whose names match ``includingConsumers`` and not ``excludingConsumers``."""
    kept, removed = given.pattern("excludingConsumers", "(?!)"), given.pattern("includingConsumers", ".*")
    names = [c.name for c in given.table.maintenance.consumers()]
    names = [name for name in names if removed.fullmatch(name) and not kept.fullmatch(name)]
    for name in names:
        given.table.maintenance.reset_consumer(name)
    return [f"deleted consumer {name}" for name in names]


def mark_partition_done(given: Arguments) -> Results:
    """Mark partitions as complete; return the paths of the marks."""
    return list(given.table.maintenance.mark_done(*given.partition_values(given.required("partitions"))))


def repair_hints(given: Arguments) -> Results:
    """Correct the hint files of the latest and the earliest snapshot."""
    return [str(given.table.maintenance.repair_hints())]


def _snapshot(snapshot: Any) -> Results:
    return ["nothing to do" if snapshot is None else f"snapshot {snapshot.id} ({snapshot.commit_kind})"]
