"""Load checks: freshness, row_count and volume, which use the history of loads and a count or maximum of the table.

These checks cover the whole table, even when a load wrote only some partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core import col
from paimon_core.predicate import Predicate
from paimon_core.types import TIMESTAMP_ROOTS, TypeRoot
from paimon_lake.checks.context import CheckContext, LoadRecord, newest_write
from paimon_lake.checks.row_checks import Result, Rows
from paimon_lake.checks.text import EXAMPLES, many, texts
from paimon_lake.declarations.tables.checks import FreshnessCheck, RowCountCheck, VolumeCheck
from paimon_lake.protocol import PipelineError

TIME_ROOTS = TIMESTAMP_ROOTS | {TypeRoot.DATE}
"""The types of columns that the check ``freshness`` accepts."""
_FEW_LOADS = 3
"""With fewer earlier loads than this, the check ``volume`` passes without a comparison."""
_PER_HOUR = {"s": 3600, "ms": 3_600_000, "us": 3_600_000_000, "ns": 3_600_000_000_000}


def freshness(check: FreshnessCheck, rows: Rows, context: CheckContext) -> Result:
    """Compare the age of the newest load, or of the greatest value of a column, with ``max_hours``.

    For a table with parts, the part that was not loaded for the longest time is compared. Without recorded loads, the
    age of the newest snapshot that changed rows is compared. A date stands for its first moment. Dates and timestamps
    without a time zone are in UTC. A time in the future passes the check.
    """
    if check.column:
        return _column_freshness(check, rows, context.now)
    by_part = {load.part: load.committed_at for load in context.history}  # the newest load of each part
    part, newest = min(by_part.items(), key=lambda one: one[1], default=("", None))
    what = ("load" + (f" of the part {part}" if part else "")) if newest is not None else "snapshot"
    newest = newest or newest_write(rows.table)
    if newest is None:
        return 1, "no load and no other change of rows is recorded in the snapshots of the table: its age is unknown"
    age = (context.now - newest) / timedelta(hours=1)
    return _aged(f"the newest {what}, of {newest.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC,", age, check.max_hours)


def _column_freshness(check: FreshnessCheck, rows: Rows, now: datetime) -> Result:
    field = rows.field(check.column)
    if field.type.root not in TIME_ROOTS:
        raise PipelineError(f"freshness needs a date or timestamp column, and {check.column!r} is {field.type}")
    fresh = _since(check, now, has_zone=field.type.root is TypeRoot.TIMESTAMP_LTZ)
    greatest = _greatest(rows, check.column, fresh) if fresh is not None else None
    if greatest is None:  # no row is fresh: the sentence names the greatest value of all rows
        greatest = _greatest(rows, check.column, None)
    if greatest is None:
        return 1, f"no row has a value in {check.column}"
    shown = texts(pa.chunked_array([pa.array([greatest])]))[0]
    return _aged(f"the greatest {check.column}, {shown},", _age_hours(greatest, now), check.max_hours)


def _since(check: FreshnessCheck, now: datetime, *, has_zone: bool) -> Predicate | None:
    """Return the filter for fresh rows; None when the oldest allowed time is not a time that Python can represent."""
    try:
        since = now.astimezone(UTC) - timedelta(hours=check.max_hours)
    except OverflowError:
        return None
    return col(check.column) >= (since if has_zone else since.replace(tzinfo=None))


def _greatest(rows: Rows, column: str, where: Predicate | None) -> Any:
    """Return the greatest value as an Arrow scalar, or None without values; only one batch is in memory."""
    greatest = None
    for batch in rows.table.scan([column], where).to_batches():
        found = pc.max(batch.column(0))
        if found.is_valid and (greatest is None or found.value > greatest.value):
            greatest = found
    return greatest


def _age_hours(value: Any, now: datetime) -> float:
    hours = value.value * 24 if pa.types.is_date(value.type) else value.value / _PER_HOUR[value.type.unit]
    return float(now.timestamp() / 3600 - hours)


def _aged(what: str, age: float, most: float) -> Result:
    if age < 0:
        return 0, f"{what} is {-age:,.1f} hours in the future"
    if age > most:
        return 1, f"{what} is {age:,.1f} hours old, more than {many(most, 'hour')}"
    return 0, f"{what} is {age:,.1f} hours old, at most {many(most, 'hour')} allowed"


def row_count(check: RowCountCheck, rows: Rows, context: CheckContext) -> Result:
    """Check that each row that a load read was written, was rejected or waits; check the number of rows.

    The numbers of a load are not compared with the rows of the table, because an upsert writes more rows than it adds.
    """
    wrong = [load for load in context.history if not load.is_equal]
    problems = [_unequal(load) for load in wrong[:EXAMPLES]]
    more = [f"{len(wrong) - EXAMPLES:,} more loads differ"] if len(wrong) > EXAMPLES else []
    count = rows.total
    outside = []
    if check.min is not None and count < check.min:
        outside.append(f"{many(count, 'row')}, fewer than {check.min:,}")
    if check.max is not None and count > check.max:
        outside.append(f"{many(count, 'row')}, more than {check.max:,}")
    if wrong or outside:
        return len(wrong) + len(outside), "; ".join([*outside, *problems, *more])
    return 0, f"{many(count, 'row')}; {_sums(context)}"


def _unequal(load: LoadRecord) -> str:
    return (
        f"the load of snapshot {load.snapshot_id} read {many(load.rows_read, 'row')}, "
        f"but wrote {load.rows_written:,} and rejected {load.rows_rejected:,}{_waiting([load])}"
    )


def _sums(context: CheckContext) -> str:
    loads = context.history
    if not loads:
        return "no load is recorded in the snapshots of the table"
    read, written = sum(load.rows_read for load in loads), sum(load.rows_written for load in loads)
    rejected = sum(load.rows_rejected for load in loads)
    numbers = f"read {many(read, 'row')}, wrote {written:,} and rejected {rejected:,}"
    return f"{many(len(loads), 'load')} {numbers}{_waiting(loads)}"


def _waiting(loads: Sequence[LoadRecord]) -> str:
    began, ended = sum(load.rows_waiting for load in loads), sum(load.rows_retried for load in loads)
    if not began + ended:
        return ""
    return f"; {many(began, 'row')} began to wait, and {ended:,} that waited were written or rejected"


def volume(check: VolumeCheck, context: CheckContext) -> Result:
    """Compare the rows that the last load wrote with the mean of the loads before it.

    A load of partitions is compared by its rows per partition, and only with loads of partitions. A load of the whole
    table is compared only with loads of the whole table, and a load of a part only with loads of this part. The check
    passes when fewer than three such loads were made before (or fewer than ``loads``, if that is less), or when these
    earlier loads wrote no row.
    """
    if not context.history:
        return 0, "no load is recorded in the snapshots of the table"
    parts = {load.part: [one for one in context.history if one.part == load.part] for load in context.history}
    found = [(part, *_volume(check, history)) for part, history in parts.items()]
    sentences = [f"part {part}: {text}" if part else text for part, _, text in found]
    return sum(wrong for _, wrong, _ in found), "; ".join(sentences)


def _volume(check: VolumeCheck, history: Sequence[LoadRecord]) -> Result:
    *before, last = history
    by_partition = last.partitions is not None
    before = [load for load in before if (load.partitions is not None) == by_partition][-check.loads :]
    each = f", {_rows(last):,.1f} for each of {last.partitions:,} partitions" if (last.partitions or 1) > 1 else ""
    wrote, earlier = many(last.rows_written, "row") + each, many(len(before), "load")
    if len(before) < min(_FEW_LOADS, check.loads):
        return 0, f"the last load wrote {wrote}; {earlier} before it: too few to compare"
    mean = sum(load.rows_written for load in before) / sum(load.partitions or 1 for load in before)
    average = "on average for each partition" if by_partition else "on average"
    wrote = f"the last load wrote {wrote}, the {earlier} before it {mean:,.1f} {average}"
    if mean == 0:
        return 0, f"{wrote}: no comparison is possible"
    low, high = check.min_ratio * mean, check.max_ratio * mean
    allowed = f"{check.min_ratio:g} to {check.max_ratio:g} times the average are allowed"
    if low <= _rows(last) <= high:
        return 0, f"{wrote}; {allowed}"
    return 1, f"{wrote}; only {allowed}"


def _rows(load: LoadRecord) -> float:
    """Return the number of rows that a load wrote, divided by the number of its partitions."""
    return load.rows_written / (load.partitions or 1)
