"""Policy: the rules by which maintenance work is chosen, beside its budget: marks, waiting, back-off, hours, tags."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields

from paimon_core.errors import InvalidRequest
from paimon_core.health.plan.candidates import Budget


@dataclass(frozen=True, slots=True)
class OffPeak:
    """The hours of the local day in which maintenance may use its whole budget."""

    start: int
    end: int
    """The first hour after the period; if it is smaller than ``start``, the period spans midnight."""
    peak_share: float = 0.0
    """The share of bytes and seconds of the budget that may be used in the other hours; 0: no work starts then."""

    def __post_init__(self) -> None:
        """Raise InvalidRequest for hours that are not two different hours of the day, or a share outside of 0 to 1."""
        hours = (self.start, self.end)
        if not all(type(h) is int and 0 <= h < 24 for h in hours) or self.start == self.end:
            raise InvalidRequest(f"off-peak hours must be two different hours from 0 to 23, not {hours!r:.60}")
        _check("peak_share of off-peak hours", self.peak_share, least=0, most=1)

    def contains(self, now: int) -> bool:
        """Return whether a time in epoch milliseconds is in the period."""
        hour = time.localtime(now // 1000).tm_hour
        if self.start < self.end:
            return self.start <= hour < self.end
        return hour < self.end or self.start <= hour


@dataclass(frozen=True, slots=True)
class TagLimit:
    """What one round may do with all tables of a tag together."""

    tasks: int | None = None
    """Number of pieces of work; None: any number. With 0, tables of the tag have no maintenance."""
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        """Raise InvalidRequest for a number of tasks that is not a whole number of 0 or more."""
        if self.tasks is not None and (type(self.tasks) is not int or self.tasks < 0):
            raise InvalidRequest(f"the tasks of a tag must be a whole number of 0 or more, not {self.tasks!r:.60}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules of ``choose``.

    The *value* of work is the read cost that it saves, divided by the bytes that it reads and writes plus
    ``overhead_bytes``. Both are bytes, so a value of 1 means that one scan saves as much as the work costs.
    """

    start_mark: float = 0.1
    """Work on a place becomes wanted at this value: ten scans save what the work costs."""
    stop_mark: float = 0.05
    """Work that is wanted stays wanted until its value is below this mark."""
    overhead_bytes: int = 4 << 20
    """The cost of each piece of work beside its bytes: 16 requests (``health.cost``) to plan and commit."""
    patience: int = 24
    """The rounds that wanted work waits before it comes ahead of younger work, whatever its value is."""
    overdue_share: float = 0.25
    """The share of bytes and seconds of the budget for work that has waited ``patience`` rounds. The work that has
    waited longest may use the whole budget.
    """
    backoff_seconds: float = 300.0
    """The pause after a conflict or an error; it doubles with each further one in a row."""
    backoff_most_seconds: float = 86_400.0
    """The longest pause."""
    off_peak: OffPeak | None = None
    """None: all hours are equal."""
    scans: Mapping[str, float] = field(default_factory=dict)
    """How often a table is scanned, relative to other tables, by its name. A table without a number has 1."""
    tags: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The tags of tables, by the table's name."""
    limits: Mapping[str, TagLimit] = field(default_factory=dict)
    """The limits of tags, by the tag."""

    def __post_init__(self) -> None:
        """Raise InvalidRequest for a value outside of its range, naming the field."""
        for f in fields(self):
            value = getattr(self, f.name)
            if f.type == "int" and type(value) is not int:
                raise InvalidRequest(f"{f.name} of a policy must be a whole number, not {value!r:.60}")
            if f.type in ("int", "float"):
                _check(f"{f.name} of a policy", value, least=1 if f.name in ("patience", "overhead_bytes") else 0)
        _check("overdue_share of a policy", self.overdue_share, least=0, most=1)
        if self.stop_mark > self.start_mark:
            raise InvalidRequest(f"stop_mark {self.stop_mark} of a policy must not exceed start_mark {self.start_mark}")
        for table, count in self.scans.items():
            _check(f"scans of table {table} in a policy", count, least=0)
        for table, tags in self.tags.items():
            if isinstance(tags, str):
                raise InvalidRequest(f"tags of table {table} in a policy must be a list of names, not {tags!r:.60}")
        if unused := sorted(set(self.limits) - {tag for tags in self.tags.values() for tag in tags}):
            raise InvalidRequest(f"tag {unused[0]!r:.60} has a limit in a policy, but no table has this tag")

    def share_at(self, now: int) -> float:
        """Return the share of the budget that may be used at a time in epoch milliseconds."""
        return 1.0 if self.off_peak is None or self.off_peak.contains(now) else self.off_peak.peak_share

    def pause_millis(self, failures: int) -> int:
        """Return how long a place rests after so many conflicts or errors in a row."""
        if failures == 0:
            return 0
        # The exponent has a bound because 2.0 ** 1024 is an error.
        return int(1000 * min(self.backoff_most_seconds, self.backoff_seconds * 2.0 ** min(failures - 1, 64)))


def _check(what: str, value: object, *, least: float, most: float | None = None) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and least <= value < float("inf") and (most is None or value <= most)):  # type: ignore[operator]
        upper = "" if most is None else f" and at most {most:g}"
        raise InvalidRequest(f"{what} must be a number of at least {least:g}{upper}, not {value!r:.60}")
