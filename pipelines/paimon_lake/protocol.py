"""Protocol: the results of steps, and their errors.

A ``StepResult`` is a plain value that is converted to JSON for the command line and to metadata for Dagster.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paimon_lake.check_result import CheckResult
from paimon_lake.loads.inputs.stale_text import stale_text

NOT_DELETED = "group_versions_not_deleted"
"""The detail of a load that says why old versions of its group were not deleted after a version was published."""
KIND = "__kind"
"""The name of the column in which loads put the row kind of each row; it is not a column of the table."""


class PipelineError(Exception):
    """A step cannot do the requested work; the message is one sentence for the user."""


class AuditFailed(Exception):
    """The content that a step was about to publish is wrong: nothing was published, and a retry would not help."""

    check_results: tuple[CheckResult, ...] = ()
    """The results of the declared checks; () when only another audit failed."""


class PartsFailed(Exception):
    """Some parts of a table could not be loaded; the loads of the other parts succeeded and remain committed."""

    def __init__(self, text: str, result: StepResult, errors: Mapping[str, Exception]) -> None:
        """``result`` has all commits, also the commits that a part made before it failed; ``errors`` maps each failed
        part to its error.
        """
        super().__init__(text)
        self.result, self.results = result, (result,)
        self.errors = dict(errors)


class TablesFailed(Exception):
    """Tables that share a source, or batches of one table, could not be loaded; the loads that the run committed remain
    committed.
    """

    def __init__(self, text: str, results: Sequence[StepResult], errors: Mapping[str, Exception]) -> None:
        """``results`` has one result for each table with commits. The table that was asked for also has a result
        without commits, unless it failed. ``errors`` maps each table that failed to its error."""
        super().__init__(text)
        self.results = tuple(results)
        self.errors = dict(errors)


@dataclass(frozen=True)
class LevelSize:
    """The live data files of one level; ``rows`` counts the rows in the files, before a merge."""

    files: int
    rows: int
    size_bytes: int


@dataclass(frozen=True)
class StepResult:
    """The effect of one step on one table: rows, commits, and the files before and after."""

    step: str
    table: str
    snapshot_id: int | None
    """The table's latest snapshot after the step; None for a table never written."""
    row_count: int | None
    """How many rows a reader sees after the step; None when the step did not count them, for example because a count
    would have to merge many rows."""
    rows_written: int
    """For a load, the rows that it read and did not reject. For every other step, 0."""
    commits: tuple[int, ...]
    """The ids of the snapshots that this step committed; () when it committed nothing."""
    levels_before: Mapping[int, LevelSize]
    levels_after: Mapping[int, LevelSize]
    seconds: float
    skipped: tuple[str, ...] = ()
    """The reasons why the step did nothing or left something out, one sentence each."""
    details: Mapping[str, str | int | float] = field(default_factory=dict)
    check_results: tuple[CheckResult, ...] = ()
    """The results of the checks that ran before the step was published."""
    column_lineage: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    """Maps columns of the table to the columns of inputs (table, column) from which they are computed; a column whose
    lineage is not known is left out."""
    stale: Mapping[str, str] = field(default_factory=dict)
    """Maps each partition of the table that is stale after the step, and so must be loaded again, to the reason."""
    others: tuple[StepResult, ...] = ()
    """The results of the tables that the step loaded together with the table because they share its source."""
    note: str = ""
    """A text about the result, for a step whose result is not its number of written rows."""

    @property
    def files(self) -> int:
        """The number of live data files after the step."""
        return sum(level.files for level in self.levels_after.values())

    def to_json(self, indent: int | None = 2) -> str:
        """Return one JSON object; in one line when ``indent`` is None."""
        return json.dumps({**dataclasses.asdict(self), "files": self.files}, indent=indent)

    def sentence(self) -> str:
        """Return one line of text for people."""
        done = self.note or (f"{self.rows_written:,} rows written" if self.commits else "nothing to do")
        if self.skipped:
            done = ", ".join((done, *self.skipped) if self.commits else (*self.skipped, "nothing written"))
        rejected = self.details.get("rows_rejected", 0)
        done += f", {rejected:,} rejected" if isinstance(rejected, int) and rejected else ""
        waiting = self.details.get("rows_waiting", 0)
        done += f", {waiting:,} waiting" if isinstance(waiting, int) and waiting else ""
        merged = self.details.get("rows_merged", 0)
        done += f", {merged:,} merged" if isinstance(merged, int) and merged else ""
        copied = self.details.get("copied_tables")
        done += f", copied {copied}" if copied else ""
        changed = self.details.get("schema_changes")
        done += f", {changed}" if changed else ""
        buckets = self.details.get("buckets")
        done += f", created with {buckets}" if buckets else ""
        again = self.details.get("files_loaded_again")
        done += f", loaded again after a loss of rows: {again}" if again else ""
        done += f", stale: {stale_text(self.stale)}" if self.stale else ""
        not_deleted = self.details.get(NOT_DELETED)
        done += f", its group is published, but old versions were not deleted: {not_deleted}" if not_deleted else ""
        at = "no snapshot yet" if self.snapshot_id is None else f"snapshot {self.snapshot_id}"
        rows = "" if self.row_count is None else f"{self.row_count:,} rows visible, "
        return f"{self.step} {self.table}: {done}; {rows}{at}, {self.files} files, {self.seconds:.1f} s"


def level_changes(result: StepResult) -> list[tuple[int, LevelSize, LevelSize]]:
    """Return (level, before, after) for each level that had a file before or after the step, ascending."""
    none = LevelSize(0, 0, 0)
    levels = sorted({*result.levels_before, *result.levels_after})
    return [(n, result.levels_before.get(n, none), result.levels_after.get(n, none)) for n in levels]


def some(names: Sequence[str]) -> str:
    """Return a text with the first five names, and the number of the other names: ``a, b, c, d, e and 2 more``."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def size_text(size_bytes: int) -> str:
    """Return a size for people, such as ``12.3 MB``."""
    size = float(size_bytes)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def plain(properties: Mapping[str, Any] | None) -> dict[str, str]:
    """Return snapshot properties with keys and values as texts; {} for None."""
    return {str(k): str(v) for k, v in (properties or {}).items()}
