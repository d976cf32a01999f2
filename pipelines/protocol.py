"""What steps take and give: days, months, the result, and the errors that say what to do.

A ``StepResult`` is a plain value that turns into JSON: the command line prints it, Dagster makes metadata of it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any


class PipelineError(Exception):
    """A step cannot do what was asked; the message is one sentence for the person who asked."""


class AuditFailed(Exception):
    """What a step was about to publish is wrong: nothing was published, and trying again would not help."""


@dataclass(frozen=True)
class LevelSize:
    """The live data files of one level."""

    files: int
    rows: int
    size_bytes: int


@dataclass(frozen=True)
class StepResult:
    """What one step did to one table."""

    step: str
    table: str
    snapshot_id: int | None
    """The table's latest snapshot after the step; None while it was never written."""
    row_count: int
    """Rows a reader sees after the step."""
    rows_written: int
    """Rows in data files that this step added: changes, before they are merged."""
    commits: tuple[int, ...]
    """The snapshots that this step made; () when everything was there already."""
    levels_before: Mapping[int, LevelSize]
    levels_after: Mapping[int, LevelSize]
    seconds: float
    skipped: tuple[str, ...] = ()
    """The parts that an earlier run had committed."""
    rows_per_partition: Mapping[str, int] = field(default_factory=dict)
    """Rows a reader sees, by day or month, for the partitions that were asked for."""
    details: Mapping[str, str | int | float] = field(default_factory=dict)
    note: str = ""
    """What was done, for a person, where rows written do not say it."""

    @property
    def files(self) -> int:
        """Live data files after the step."""
        return sum(level.files for level in self.levels_after.values())

    def per_month(self) -> StepResult:
        """The same result with the rows of its days summed by month."""
        rows: dict[str, int] = {}
        for day, count in self.rows_per_partition.items():
            rows[day[:7]] = rows.get(day[:7], 0) + count
        return dataclasses.replace(self, rows_per_partition=rows)

    def to_json(self) -> str:
        """One JSON object, indented."""
        return json.dumps({**dataclasses.asdict(self), "files": self.files}, indent=2)

    def sentence(self) -> str:
        """One line for a person."""
        done = self.note or (f"{self.rows_written:,} rows written" if self.commits else "nothing to do")
        if self.skipped and not self.commits:
            done = "loaded before, nothing written"
        at = "no snapshot yet" if self.snapshot_id is None else f"snapshot {self.snapshot_id}"
        return (
            f"{self.step} {self.table}: {done}; {self.row_count:,} rows, {at}, {self.files} files, {self.seconds:.1f} s"
        )


def level_changes(result: StepResult) -> list[tuple[int, LevelSize, LevelSize]]:
    """(level, before, after) for each level that held a file before or after the step, ascending."""
    none = LevelSize(0, 0, 0)
    levels = sorted({*result.levels_before, *result.levels_after})
    return [(n, result.levels_before.get(n, none), result.levels_after.get(n, none)) for n in levels]


def day_range(first: date, last: date) -> tuple[date, ...]:
    """All days from first to last, both included; raises PipelineError when they are the wrong way round."""
    if last < first:
        raise PipelineError(f"the last day {last} lies before the first day {first}")
    return tuple(first + timedelta(days=n) for n in range((last - first).days + 1))


def month_of(day: date) -> str:
    """``2013-01``: the partition value of a day."""
    return day.strftime("%Y-%m")


def months_of(days: Iterable[date]) -> tuple[str, ...]:
    """The months that the days touch, sorted."""
    return tuple(sorted({month_of(d) for d in days}))


def label(parts: Sequence[str], *, unbroken: bool) -> str:
    """A short, exact name of sorted days or months: ``first..last``, or with gaps also their number and a digest."""
    if len(parts) == 1:
        return parts[0]
    ends = f"{parts[0]}..{parts[-1]}"
    digest = hashlib.sha256(",".join(parts).encode()).hexdigest()[:8]
    return ends if unbroken else f"{ends} ({len(parts)} of them, {digest})"


def days_label(days: Sequence[date]) -> str:
    """``2013-01-01..2013-01-31`` for sorted days; days with gaps are told apart by a digest."""
    return label([d.isoformat() for d in days], unbroken=(days[-1] - days[0]).days == len(days) - 1)


def plain(properties: Mapping[str, Any] | None) -> dict[str, str]:
    """Snapshot properties as texts."""
    return {str(k): str(v) for k, v in (properties or {}).items()}
