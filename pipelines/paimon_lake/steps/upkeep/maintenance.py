"""Maintenance: compact and tag one table.

Neither step changes the rows that a reader of the latest snapshot sees, except that a compaction makes rows of a
first-row table and rows of the postpone bucket visible. A compaction also writes changelogs if the options of the table
require it.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from paimon_core import col
from paimon_core.compact.planning import waiting_files
from paimon_core.compact.report import CompactReport
from paimon_core.errors import TagNotFound
from paimon_core.predicate import Predicate
from paimon_core.schema import DataField
from paimon_core.spark.compactor import spark_work
from paimon_core.table.table import Table
from paimon_core.types import TypeRoot
from paimon_lake.declarations import Settings
from paimon_lake.declarations.part_spec import part_names
from paimon_lake.loads.ledger.part_ledgers import carry_all_to
from paimon_lake.loads.lookup.waiting_rollback import restore_before_copy
from paimon_lake.protocol import PipelineError, StepResult, plain
from paimon_lake.session import Spark
from paimon_lake.tables import open_table, result_of, state_of


def compact(
    spark: Spark,
    settings: Settings,
    name: str,
    *,
    full: bool = False,
    partitions: Sequence[str] | None = None,
    dry_run: bool = False,
    properties: Mapping[str, str] | None = None,
) -> StepResult:
    """Merge sorted runs with Spark in the buckets in which the table's options require it; ``full`` merges every bucket
    into one run.

    First, rows in the postpone bucket are moved to their buckets. A ``dry_run`` only reports what would be done; the
    report counts the files as they are before the rows of the postpone bucket are moved. ``partitions`` limits the
    compaction to these values of the partition column.
    """
    started = time.monotonic()
    table = open_table(settings, name)
    where = of_partitions(table, partitions)
    before = state_of(table)
    if dry_run:
        planned = CompactReport(tuple(table.plan_compaction(full=full, where=where)))
        waiting = len(waiting_files(table.context, where))
        done = _done("would spread", "merge" if waiting else "would merge", planned, waiting)
        return result_of("compact", table, before, started, details=_counts(planned, waiting), note=done)
    properties = {"pipeline.step": "compact", **plain(properties)}
    report = table.compact(full, where, properties=properties, work=spark_work(spark))
    details = _counts(report, report.waiting_files)
    if report:
        details["rows_rewritten"] = report.rows_rewritten
    note = _done("spread", "merged", report, report.waiting_files)
    if report.conflicts:
        note += f", {report.conflicts} buckets not merged: concurrent commits conflicted"
    commits = [snapshot.id for snapshot in report.snapshots]
    return result_of("compact", table, before, started, commits=commits, details=details, note=note)


def _counts(report: CompactReport, waiting: int) -> dict[str, str | int | float]:
    """Return the numbers of buckets, files and bytes of the planned or executed compactions."""
    counts: dict[str, str | int | float] = {
        "buckets": len(report.tasks),
        "input_files": report.input_files,
        "input_bytes": report.input_bytes,
    }
    return counts | {"waiting_files": waiting} if waiting else counts


def _done(spread: str, merged: str, report: CompactReport, waiting: int) -> str:
    """Return a text about the result of a compaction or of its plan; ``spread`` and ``merged`` are the verbs of the
    text.
    """
    done = [f"{spread} {waiting} waiting files"] if waiting else []
    if report.tasks or waiting:
        done.append(f"{merged} {report.input_files} files of {len(report.tasks)} buckets")
    return " and ".join(done) or "nothing to merge"


def tag(settings: Settings, name: str, tag_name: str) -> StepResult:
    """Tag the latest snapshot for the time that the table's retention keeps tags; an existing tag is not changed.

    The tagged snapshot must contain all entries of the ledger, so that they still exist after all older snapshots have
    expired and the table is rolled back to the tag. If an entry is missing, an empty snapshot with all entries is
    committed and tagged. A load that commits during the call is in the tag with both its rows and its entries, or not
    at all.
    """
    started = time.monotonic()
    table = open_table(settings, name)
    before = state_of(table)
    spec = settings.table(name)
    if before.snapshot_id is None:
        return result_of("tag", table, before, started, note="no snapshot to tag")
    commits = []
    try:
        tagged, done = table.tags.read(tag_name).snapshot.id, "exists already, on"
    except TagNotFound:
        tagged, done = before.snapshot_id, "was created on"
        restore_before_copy(settings, spec, table)
        if (carried := carry_all_to(table, part_names(spec), tagged, begin=spec.has_loads)) is not None:
            tagged = carried.id
            commits.append(tagged)
        keep_for = datetime.timedelta(days=spec.retention.keep_tags_days)
        table.tags.create(tag_name, tagged, keep_for=keep_for)
    details: dict[str, str | int | float] = {"tag": tag_name, "tagged_snapshot": tagged}
    return result_of(
        "tag", table, before, started, commits=commits, details=details, note=f"{tag_name} {done} snapshot {tagged}"
    )


def of_partitions(table: Table, partitions: Sequence[str] | None) -> Predicate | None:
    """Return the predicate for these values of the partition column; None for all partitions.

    Raises PipelineError for a table without exactly one partition column, and for a text that is no value of it.
    """
    if not partitions:
        return None
    keys = table.schema.partition_keys
    if len(keys) != 1:
        how = "no partitions" if not keys else f"{len(keys)} partition columns"
        raise PipelineError(f"{table.name} has {how}: a partition cannot be selected by one value")
    (field,) = table.schema.partition_fields
    default = table.context.options["partition.default-name"]
    values = [_value(table, field, text) for text in partitions if text != default]
    where = col(field.name).is_in(values) if values else None
    if default not in partitions:
        return where
    is_null = col(field.name).is_null()
    return is_null if where is None else where | is_null


def _value(table: Table, field: DataField, text: str) -> Any:
    """Return the value of a partition from its text or its directory name, in which a date is a number of days."""
    arrow = field.type.to_arrow()
    try:
        if field.type.root is TypeRoot.DATE and text.isdecimal():
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=int(text))
        found = pa.array([text])
        if pa.types.is_timestamp(arrow):  # names of directories have no time zone: they are in UTC
            found = found.cast(pa.timestamp(arrow.unit))
        return found.cast(arrow)[0].as_py()
    except (pa.ArrowException, ValueError, OverflowError):
        raise PipelineError(
            f"{table.name}: {text!r:.80} is no value of the partition column {field.name!r}, a {field.type}"
        ) from None
