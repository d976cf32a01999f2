"""Parts check: rows of a wide table that lack a part for longer than a stated time.

A row lacks a part when the columns that order the part are null: the part never had a row with the key. A part that was
deleted is not lacking. Only rows that lack a part are read, with their keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from paimon_core import col
from paimon_core.options.parsers import parse_positive_millis
from paimon_core.predicate import Predicate
from paimon_core.types import TypeRoot
from paimon_lake.checks.context import CheckContext
from paimon_lake.checks.load_checks import TIME_ROOTS
from paimon_lake.checks.row_checks import Result, Rows
from paimon_lake.checks.text import EXAMPLES, keys_of, many, of_rows
from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.tables.checks import PartsCompleteCheck
from paimon_lake.protocol import PipelineError


def parts_complete(check: PartsCompleteCheck, spec: TableSpec, rows: Rows, context: CheckContext) -> Result:
    """Count the rows that lack a part for longer than ``max_wait``, and show some of their keys.

    With ``column``, a row waits since the time in this column; a time without a time zone is in UTC. Rows with a null
    in the column are not compared; the sentence states their number. Without ``column``, a row counts when it lacks the
    part and already lacked it in the newest snapshot that is at least ``max_wait`` old; the keys of these rows are in
    memory, and PipelineError is raised when that snapshot has expired.
    """
    since = context.now.astimezone(UTC) - timedelta(milliseconds=parse_positive_millis(check.max_wait))
    before = None if check.column else _snapshot_at(rows, since)
    if not check.column and before is None:
        return 0, f"no snapshot is {check.max_wait} old yet: no row waits longer"
    wrong, told = 0, []
    for part in check.parts or spec.parts:
        lacks = col(spec.parts[part].order_by[0]).is_null()
        if check.column:
            keys = _keys(rows, lacks & _before(check.column, since, rows))
            undated = rows.table.scan(where=lacks & col(check.column).is_null()).count()
            told += (
                [f"{many(undated, 'row')} without {part} and without {check.column} not compared"] if undated else []
            )
        else:
            assert before is not None
            keys = _common(_keys(before, lacks), _keys(rows, lacks), rows.key)
        if keys.num_rows:
            wrong += keys.num_rows
            examples = ", ".join(keys_of(keys.slice(0, EXAMPLES), rows.key))
            told.insert(0, f"{of_rows(keys.num_rows, rows.count, '')} no {part}; keys: {examples}")
    return wrong, "; ".join(told) or f"{rows.count:,} rows, none lacks a part for longer than {check.max_wait}"


def _keys(rows: Rows, where: Predicate) -> pa.Table:
    """Return the keys of the rows that ``where`` selects, ascending."""
    found = rows.table.scan(list(rows.key), where).to_arrow()
    return found.sort_by([(name, "ascending") for name in rows.key])


def _common(one: pa.Table, other: pa.Table, key: Sequence[str]) -> pa.Table:
    joined = one.join(other, keys=list(key), join_type="inner")
    return joined.sort_by([(name, "ascending") for name in key])


def _before(column: str, since: datetime, rows: Rows) -> Predicate:
    """Return the predicate for times before ``since``; a date stands for its first moment."""
    field = rows.field(column)
    if field.type.root not in TIME_ROOTS:
        raise PipelineError(f"parts_complete needs a date or timestamp column, and {column!r} is {field.type}")
    if field.type.root is TypeRoot.TIMESTAMP_LTZ:
        return col(column) < since
    return col(column) < since.replace(tzinfo=None)


def _snapshot_at(rows: Rows, since: datetime) -> Rows | None:
    """Return the rows at the newest snapshot committed at or before ``since``; None when there is none."""
    found = rows.table.inspect.snapshots()
    times = dict(zip(found["snapshot_id"].to_pylist(), found["commit_time_utc"].to_pylist(), strict=True))
    old = [number for number, time in times.items() if time <= since]
    if old:
        return Rows(rows.table.at(snapshot=max(old)), rows.key)
    if times and min(times) != 1:
        raise PipelineError(
            f"the snapshots before {since:%Y-%m-%d %H:%M} UTC have expired: name a time column in `column`, or keep "
            "snapshots longer with retention.keep_hours"
        )
    return None
