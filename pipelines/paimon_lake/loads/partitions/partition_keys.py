"""Partition keys: the time that a key stands for, and the rows of a table that belong to it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core import col
from paimon_core.predicate import Predicate
from paimon_core.table.view import TableView
from paimon_core.types import TypeRoot
from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.tables.partitions import KEY_FORMATS, Partitions
from paimon_lake.protocol import PipelineError


def is_outside(partitions: Partitions, key: str, table: str) -> bool:
    """Whether the declaration never has a partition with this key; raises PipelineError for a text that is no valid
    key.
    """
    if partitions.by_time:
        begin = window(partitions, key, table)[0].date()
        return bool((partitions.start and begin < partitions.start) or (partitions.end and begin > partitions.end))
    return partitions.by == "static" and key not in partitions.values


def is_later(partitions: Partitions, key: str, table: str, now: datetime) -> bool:
    """Whether the partition of a key does not exist yet at ``now``, a time with a time zone."""
    return partitions.by_time and _exists_from(partitions, *window(partitions, key, table)) > now


def check_key(partitions: Partitions, key: str, table: str, now: datetime | None = None) -> None:
    """Raise PipelineError for a key whose partition does not exist at ``now``, a time with a time zone (None: at
    present).
    """
    if is_outside(partitions, key, table):
        if not partitions.by_time:
            raise PipelineError(f"{table} has no partition {key!r}: its partitions are {', '.join(partitions.values)}")
        run = f"{partitions.start} to {partitions.end or 'now'}"
        raise PipelineError(f"{table} has no partition {key}: its partitions run from {run}")
    if is_later(partitions, key, table, now or datetime.now(UTC)):
        raise PipelineError(
            f"{table} has no partition {key} yet: the {partitions.by} ends at {window(partitions, key, table)[1]} in "
            f"{partitions.timezone}, and end_offset is {partitions.end_offset}"
        )


def window(partitions: Partitions, key: str, table: str) -> tuple[datetime, datetime]:
    """Return the begin and the end (exclusive) of a partition by time, as local times without ``tzinfo``."""
    form = KEY_FORMATS[partitions.by]
    try:
        begin = datetime.strptime(key, form)
        end = moved(begin, partitions.by, 1)
        # strptime also accepts 2024-1-5. That would be a second key of the partition 2024-01-05.
        is_key = begin.strftime(form) == key and not begin.minute
        if is_key and (partitions.by != "week" or begin.isoweekday() == 7):
            return begin, end
    except (ValueError, OverflowError):
        pass
    week = ", the Sunday that the week begins with" if partitions.by == "week" else ""
    raise PipelineError(
        f"{table}: {key!r} is no partition by {partitions.by}; keys are like "
        f"{datetime(2024, 1, 7, 5).strftime(form)}{week}"
    )


def moved(begin: datetime, by: str, count: int) -> datetime:
    """Return the begin of the partition ``count`` partitions after ``begin``; raises OverflowError or ValueError."""
    if by == "month":
        months = begin.year * 12 + begin.month - 1 + count
        return begin.replace(year=months // 12, month=months % 12 + 1)
    return begin + count * {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}[by]


def _exists_from(partitions: Partitions, begin: datetime, end: datetime) -> datetime:
    """Return the time from which a partition exists: its end, minus the length of ``end_offset`` partitions."""
    zone, offset = ZoneInfo(partitions.timezone), partitions.end_offset
    try:
        if partitions.by == "hour":  # an hour has the same length even when the clocks change
            return begin.replace(tzinfo=zone).astimezone(UTC) + timedelta(hours=1 - offset)
        return moved(end, partitions.by, -offset).replace(tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return (datetime.min if offset > 0 else datetime.max).replace(tzinfo=UTC)


def rows_of(spec: TableSpec, view: TableView, keys: Sequence[str], of: Partitions) -> Predicate:
    """Return a predicate for the rows of a table that belong to partitions ``keys`` of the declaration ``of``.

    The predicate is on ``partitions.column`` of the table. Raises PipelineError when the table declares no such column,
    or when its type cannot hold the keys.
    """
    column = spec.partitions.column if spec.partitions is not None else ""
    if not column:
        raise PipelineError(f"{spec.name}: set partitions.column, the column that gives the partition of a row")
    kind = view.schema.by_name[column].type
    if not of.by_time or spec.partitions is None or not spec.partitions.by_time:
        return col(column).is_in([typed_key(kind.root, key, spec.name, column) for key in keys])
    found = None
    for begin, end in _joined([window(of, key, spec.name) for key in keys]):
        part = _between(spec.partitions, kind.root, column, begin, end, spec.name)
        found = part if found is None else found | part
    assert found is not None
    return found


def keys_of_values(
    values: pa.Array, root: TypeRoot, input_spec: TableSpec, wanted: Partitions, among: Sequence[str] | None
) -> set[str]:
    """Return the keys of ``wanted`` whose partitions contain rows with these values in ``partitions.column``.

    Only keys in ``among`` are returned; None: all keys. A value that belongs to no partition, such as null, has no key.
    """
    input_partitions = input_spec.partitions
    assert input_partitions is not None
    if not wanted.by_time or not input_partitions.by_time:
        names = {str(value) for value in values.to_pylist() if value is not None}
        if among is None:
            return names
        return {key for key in among if str(typed_key(root, key, input_spec.name, input_partitions.column)) in names}
    found = {_key_of(moment, wanted.by) for moment in _moments(values, input_partitions)} - {""}
    return found if among is None else found & set(among)


def _moments(values: pa.Array, partitions: Partitions) -> Iterator[datetime]:
    """Yield the times of the values, as local times of the partitions' time zone; at most one for each hour."""
    values = pc.drop_null(values)
    if pa.types.is_string(values.type):
        form = KEY_FORMATS[partitions.by]
        size = len(datetime(2024, 1, 7, 5).strftime(form))
        for text in values.to_pylist():
            with contextlib.suppress(ValueError):  # a text that is no key belongs to no partition
                yield datetime.strptime(text[:size], form)
        return
    if pa.types.is_timestamp(values.type):
        zone = partitions.timezone if values.type.tz is not None else None
        values = pc.floor_temporal(values.cast(pa.timestamp("us", zone), safe=False), unit="hour")
    years = pc.year(values)
    values = values.filter(pc.and_(pc.greater_equal(years, 1), pc.less_equal(years, 9999)))
    for value in pc.unique(values).to_pylist():
        yield datetime(value.year, value.month, value.day, getattr(value, "hour", 0))


def _key_of(moment: datetime, by: str) -> str:
    """Return the key of the partition that contains a time; "" for a week that begins before year 1."""
    try:
        begin = {
            "hour": lambda: moment.replace(minute=0),
            "day": lambda: moment,
            "week": lambda: moment - timedelta(days=moment.isoweekday() % 7),
            "month": lambda: moment.replace(day=1),
        }[by]()
    except OverflowError:
        return ""
    return begin.strftime(KEY_FORMATS[by])


def _between(
    partitions: Partitions, root: TypeRoot, column: str, begin: datetime, end: datetime, table: str
) -> Predicate:
    """Return the predicate for one time range on a column of dates, timestamps or partition keys as texts."""
    if root is TypeRoot.DATE:
        return col(column).between(begin.date(), (end - timedelta(microseconds=1)).date())
    if root is TypeRoot.TIMESTAMP:
        return (col(column) >= begin) & (col(column) < end)
    if root is TypeRoot.TIMESTAMP_LTZ:
        zone = ZoneInfo(partitions.timezone)
        return (col(column) >= begin.replace(tzinfo=zone)) & (col(column) < end.replace(tzinfo=zone))
    if root in (TypeRoot.VARCHAR, TypeRoot.CHAR):
        form = KEY_FORMATS[partitions.by]
        return (col(column) >= begin.strftime(form)) & (col(column) < end.strftime(form))
    raise PipelineError(f"{table}: partitions.column {column!r} is {root}; it must be a date, a timestamp or a text")


def _joined(windows: Sequence[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    """Join adjacent time ranges, so that a long range needs only one comparison."""
    joined: list[tuple[datetime, datetime]] = []
    for begin, end in sorted(windows):
        if joined and joined[-1][1] >= begin:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined


def typed_key(root: TypeRoot, key: str, table: str, column: str) -> object:
    """Return a key as a value of the column's type; raises PipelineError when the text is not such a value."""
    if root in (TypeRoot.VARCHAR, TypeRoot.CHAR):
        return key
    try:
        return date.fromisoformat(key) if root is TypeRoot.DATE else int(key)
    except ValueError:
        raise PipelineError(f"{table}: partition {key!r} is no value of its column {column!r}, a {root}") from None
