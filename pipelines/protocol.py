"""Protocol: the arguments and results of steps, such as days, months and ``StepResult``, and their errors.

A ``StepResult`` is a plain value that is converted to JSON for the command line and to metadata for Dagster.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from pipelines.finding import Finding

KIND = "__kind"
"""The column of row kinds that steps add to the rows of a table."""


class PipelineError(Exception):
    """A step cannot do what was requested; the message is one sentence for the user."""


class AuditFailed(Exception):
    """The content that a step was about to publish is wrong: nothing was published, and a retry would not help."""

    findings: tuple[Finding, ...] = ()
    """The results of the declared checks; () when something else is wrong."""


@dataclass(frozen=True)
class LevelSize:
    """The live data files of one level."""

    files: int
    rows: int
    size_bytes: int


@dataclass(frozen=True)
class StepResult:
    """The result of one step for one table."""

    step: str
    table: str
    snapshot_id: int | None
    """The table's latest snapshot after the step; None for a table never written."""
    row_count: int
    """Rows that a reader sees after the step."""
    rows_written: int
    """Rows in the data files that this step added, so changes before they are merged."""
    commits: tuple[int, ...]
    """The snapshots that this step committed; () when everything was committed before."""
    levels_before: Mapping[int, LevelSize]
    levels_after: Mapping[int, LevelSize]
    seconds: float
    skipped: tuple[str, ...] = ()
    """The stages that an earlier run had committed."""
    rows_per_partition: Mapping[str, int] = field(default_factory=dict)
    """Rows that a reader sees, by day or month, for the requested partitions."""
    details: Mapping[str, str | int | float] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    """The results of the checks that ran before the step was published."""
    note: str = ""
    """A text about what was done, for steps where the number of written rows does not show it."""

    @property
    def files(self) -> int:
        """Live data files after the step."""
        return sum(level.files for level in self.levels_after.values())

    def per_month(self) -> StepResult:
        """Return the same result with the rows of its days summed by month."""
        rows: dict[str, int] = {}
        for day, count in self.rows_per_partition.items():
            rows[day[:7]] = rows.get(day[:7], 0) + count
        return dataclasses.replace(self, rows_per_partition=rows)

    def to_json(self) -> str:
        """Return one JSON object, indented."""
        return json.dumps({**dataclasses.asdict(self), "files": self.files}, indent=2)

    def sentence(self) -> str:
        """Return one line of text for people."""
        done = self.note or (f"{self.rows_written:,} rows written" if self.commits else "nothing to do")
        if self.skipped and not self.commits:
            done = (
                f"{', '.join(self.skipped)}, nothing written"
                if self.step == "load"
                else "loaded before, nothing written"
            )
        rejected = self.details.get("rows_rejected", 0)
        done += f", {rejected:,} rejected" if isinstance(rejected, int) and rejected else ""
        at = "no snapshot yet" if self.snapshot_id is None else f"snapshot {self.snapshot_id}"
        return (
            f"{self.step} {self.table}: {done}; {self.row_count:,} rows, {at}, {self.files} files, {self.seconds:.1f} s"
        )


def level_changes(result: StepResult) -> list[tuple[int, LevelSize, LevelSize]]:
    """Return (level, before, after) for each level that had a file before or after the step, ascending."""
    none = LevelSize(0, 0, 0)
    levels = sorted({*result.levels_before, *result.levels_after})
    return [(n, result.levels_before.get(n, none), result.levels_after.get(n, none)) for n in levels]


def day_range(first: date, last: date) -> tuple[date, ...]:
    """Return all days from first to last, both included; raises PipelineError when last is before first."""
    if last < first:
        raise PipelineError(f"the last day {last} lies before the first day {first}")
    return tuple(first + timedelta(days=n) for n in range((last - first).days + 1))


def month_of(day: date) -> str:
    """Return the partition value of a day, such as ``2013-01``."""
    return day.strftime("%Y-%m")


def months_of(days: Iterable[date]) -> tuple[str, ...]:
    """Return the months of the days, sorted, each once."""
    return tuple(sorted({month_of(d) for d in days}))


def label(parts: Sequence[str], *, unbroken: bool) -> str:
    """Return a short, unique name of sorted days or months: ``first..last``, with gaps also a count and a digest."""
    if len(parts) == 1:
        return parts[0]
    ends = f"{parts[0]}..{parts[-1]}"
    digest = hashlib.sha256(",".join(parts).encode()).hexdigest()[:8]
    return ends if unbroken else f"{ends} ({len(parts)} of them, {digest})"


def days_label(days: Sequence[date]) -> str:
    """Return ``2013-01-01..2013-01-31`` for sorted days; days with gaps are distinguished by a digest."""
    return label([d.isoformat() for d in days], unbroken=(days[-1] - days[0]).days == len(days) - 1)


def some(names: Sequence[str]) -> str:
    """Return the first five names, and how many more there are."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def plain(properties: Mapping[str, Any] | None) -> dict[str, str]:
    """Return snapshot properties with keys and values as texts."""
    return {str(k): str(v) for k, v in (properties or {}).items()}
