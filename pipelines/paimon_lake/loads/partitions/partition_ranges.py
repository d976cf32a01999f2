"""Partition ranges: the keys of the partitions that a request names one by one or as ranges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.tables.partitions import KEY_FORMATS, Partitions
from paimon_lake.loads.partitions.partition_keys import check_key, is_later, moved, window
from paimon_lake.protocol import PipelineError

RANGE = ".."


@dataclass(frozen=True)
class Asked:
    """The partitions of a request: keys and ranges ``FIRST..LAST``, and a first and a last key."""

    texts: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None

    def __bool__(self) -> bool:
        return bool(self.texts) or self.since is not None or self.until is not None


def asked_keys(spec: TableSpec, asked: Asked, now: datetime | None = None) -> list[str] | None:
    """Return the keys of the partitions of a table that a request names, ascending; None when it names none.

    A range of partitions by time has both of its ends; without a first key it begins at the first partition, without a
    last key it ends at the newest partition at ``now``, a time with a time zone (None: at present). A key may have the
    column or the kind of the partitions before it, as in ``day=2024-01-31``. Keys of ``static`` and ``dynamic``
    partitions are taken as they are. Raises PipelineError for a table without partitions, for a partition that it does
    not have, and for an empty range.
    """
    if not asked:
        return None
    partitions, now = spec.partitions, now or datetime.now(UTC)
    if partitions is None:
        raise PipelineError(f"{spec.name} has no partitions: load it as a whole")
    if (asked.since is not None or asked.until is not None) and not partitions.by_time:
        raise PipelineError(f"{spec.name}: --from and --to need partitions by time, and these are {partitions.by}")
    keys: list[str] = []
    for text in asked.texts:
        keys += _keys(spec, partitions, text, now) if partitions.by_time else [text]
    if asked.since is not None or asked.until is not None:
        keys += _range(spec, partitions, asked.since or "", asked.until or "", now)
    for key in keys:
        check_key(partitions, key, spec.name, now)
    return sorted(set(keys))


def _keys(spec: TableSpec, partitions: Partitions, text: str, now: datetime) -> list[str]:
    name, equals, rest = text.partition("=")
    if equals:
        known = [one for one in dict.fromkeys((partitions.column, partitions.by)) if one]
        if name not in known:
            raise PipelineError(
                f"{spec.name}: {text!r:.80} names {name!r:.40}: its partitions are {' or '.join(known)}"
            )
        text = rest
    first, dots, last = text.partition(RANGE)
    return _range(spec, partitions, first, last, now) if dots else [text]


def _range(spec: TableSpec, partitions: Partitions, first: str, last: str, now: datetime) -> list[str]:
    """Return the keys from ``first`` to ``last``, both included; "" stands for the first and the newest partition."""
    for key in filter(None, (first, last)):
        check_key(partitions, key, spec.name, now)
    found = list(_steps(spec, partitions, first, last, now))
    if not found:
        if first and last:
            raise PipelineError(f"{spec.name}: the range {first}{RANGE}{last} is empty: it ends before it begins")
        raise PipelineError(f"{spec.name} has no partition yet: the first begins at {partitions.start}")
    return found


def _steps(spec: TableSpec, partitions: Partitions, first: str, last: str, now: datetime) -> Iterator[str]:
    assert partitions.start is not None
    form, end = KEY_FORMATS[partitions.by], window(partitions, last, spec.name)[0] if last else None
    begin = window(partitions, first, spec.name)[0] if first else first_begin(partitions)
    while (end is None or begin <= end) and not (partitions.end and begin.date() > partitions.end):
        key = begin.strftime(form)
        if is_later(partitions, key, spec.name, now):
            return
        yield key
        begin = moved(begin, partitions.by, 1)


def first_begin(partitions: Partitions) -> datetime:
    """Return the begin of the first whole partition by time, as a local time without ``tzinfo``."""
    assert partitions.start is not None
    begin = datetime(partitions.start.year, partitions.start.month, partitions.start.day)
    if partitions.by == "month" and begin.day > 1:
        return moved(begin.replace(day=1), "month", 1)
    return moved(begin, "day", -begin.isoweekday() % 7) if partitions.by == "week" else begin
