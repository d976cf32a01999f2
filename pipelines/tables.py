"""Tables: create the tables that configs/tables declares, load them, and describe them before and after a step.

Steps write with ``load``: it commits an ordered list of stages, one commit per stage. The commit user names the load
(table, days, version of the source), and the identifier is the number of the stage. So a repeated load continues after
its last committed stage and writes nothing twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

import paimon_core as paimon
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Predicate
from paimon_core.spark import write_spark
from paimon_core.table.table import Table
from paimon_core.table.view import TableView
from paimon_core.types import parse_type
from pipelines.audited import Audit, write_audited
from pipelines.column_types import type_object
from pipelines.lake import Settings
from pipelines.protocol import LevelSize, PipelineError, StepResult, plain


@dataclass(frozen=True)
class Stage:
    """One commit of a load; ``frame`` is called only when the stage is not committed yet."""

    name: str
    frame: Callable[[], DataFrame]
    kinds: str | None = None
    overwrite: str | None = None
    audit: Audit | None = None
    """With an audit, ``overwrite`` must be "dynamic", and the stage is published only when the audit passes."""


@dataclass(frozen=True)
class TableState:
    """The latest snapshot and the live files of a table at one time."""

    snapshot_id: int | None
    files: Mapping[str, tuple[int, int, int]]
    """File name to (level, rows, bytes)."""

    @property
    def levels(self) -> dict[int, LevelSize]:
        """The live files by level, ascending."""
        sizes: dict[int, LevelSize] = {}
        for level, rows, size in sorted(self.files.values()):
            old = sizes.get(level, LevelSize(0, 0, 0))
            sizes[level] = LevelSize(old.files + 1, old.rows + rows, old.size_bytes + size)
        return sizes


def open_lake(settings: Settings) -> paimon.FilesystemCatalog:
    """Return the catalog of the lake."""
    catalog = paimon.open_catalog(settings.warehouse, storage=settings.storage)
    assert isinstance(catalog, paimon.FilesystemCatalog)
    return catalog


def open_table(settings: Settings, name: str, *, create: bool = False) -> Table:
    """Open the table ``database.table``; ``create``: create it from its declaration when it does not exist.

    Raises SettingsError for a table that is not declared, PipelineError for one that is not in the lake.
    """
    spec = settings.table(name)
    catalog = open_lake(settings)
    if catalog.table_exists(name):
        return catalog.table(name)
    if not create:
        raise PipelineError(f"{name} is not in the lake {settings.warehouse} yet: load it first")
    if not spec.columns:
        raise PipelineError(f"{name} has no columns: `python -m pipelines infer --table {name}` writes them down")
    catalog.create_database(name.split(".")[0], ignore_if_exists=True)
    types = {column: type_object(text) for column, text in spec.columns.items()}
    return catalog.create_table(
        name,
        pa.schema([(column, parse_type(kind).to_arrow()) for column, kind in types.items()]),
        types=types,
        primary_key=spec.primary_key,
        partition_by=spec.partition_by,
        options=spec.table_options,
        comment=spec.comment,
        ignore_if_exists=True,
    )


def state_of(table: Table) -> TableState:
    """Return the state of a table, read only from its manifests."""
    snapshot = table.latest_snapshot()
    if snapshot is None:
        return TableState(None, {})
    files = table.inspect.files()
    columns = [files[name].to_pylist() for name in ("file_name", "level", "record_count", "file_size_in_bytes")]
    return TableState(
        snapshot.id, {name: (level, rows, size) for name, level, rows, size in zip(*columns, strict=True)}
    )


def committed_stages(table: Table, user: str) -> int:
    """Return how many stages of the load ``user`` are committed in snapshots that have not expired."""
    snapshots = table.inspect.snapshots()
    pairs = zip(snapshots["commit_user"].to_pylist(), snapshots["commit_identifier"].to_pylist(), strict=True)
    return max((identifier for by, identifier in pairs if by == user), default=0)


def commits_of(table: Table, user: str, after: int | None) -> list[int]:
    """Return the ids of the snapshots that a user committed after a snapshot (None: all of them), ascending."""
    snapshots = table.inspect.snapshots()
    pairs = zip(snapshots["snapshot_id"].to_pylist(), snapshots["commit_user"].to_pylist(), strict=True)
    return sorted(number for number, by in pairs if by == user and number > (after or 0))


def rows_by(table: TableView, column: str, where: Predicate | None = None) -> dict[Any, int]:
    """Return the number of rows that a reader sees, by the value of a column."""
    values = table.scan(columns=[column], where=where).to_arrow()
    counts = values.group_by([column]).aggregate([([], "count_all")])
    return dict(zip(counts[column].to_pylist(), counts["count_all"].to_pylist(), strict=True))


def rows_per_day(table: Table, days: Sequence[date], where: Predicate | None = None) -> dict[str, int]:
    """Return the number of rows that a reader sees on each of the days; 0 for days without rows."""
    found = rows_by(table, "date", where)
    return {day.isoformat(): found.get(day, 0) for day in days}


def load(
    step: str,
    table: Table,
    stages: Sequence[Stage],
    *,
    user: str,
    properties: Mapping[str, str] | None = None,
    rows_per_partition: Callable[[], Mapping[str, int]] = dict,
) -> StepResult:
    """Commit the stages of one load in order, except those that an earlier run has committed."""
    started = time.monotonic()
    before = state_of(table)
    done = committed_stages(table, user)
    commits, skipped = [], []
    for number, stage in enumerate(stages, start=1):
        if number > done:
            try:
                snapshot = _commit(step, table, stage, user, number, plain(properties))
            except InvalidRequest:
                if (done := committed_stages(table, user)) < number:
                    raise
            else:
                commits += [] if snapshot is None else [snapshot.id]
                continue
        skipped.append(stage.name)  # committed by an earlier or a concurrent run
    return result_of(
        step, table, before, started, commits=commits, skipped=skipped, rows_per_partition=rows_per_partition()
    )


def _commit(
    step: str, table: Table, stage: Stage, user: str, number: int, properties: Mapping[str, str]
) -> Snapshot | None:
    frame = stage.frame()
    application = str(frame.sparkSession.sparkContext.applicationId)
    named: dict[str, Any] = {
        "user": user,
        "identifier": number,
        "properties": {
            "pipeline.step": step,
            "pipeline.stage": stage.name,
            "spark.application-id": application,
            **properties,
        },
    }
    if stage.audit is not None:
        return write_audited(frame, table, stage.audit, **named)
    return write_spark(frame, table, kinds=stage.kinds, overwrite=stage.overwrite, **named)


def result_of(
    step: str,
    table: Table,
    before: TableState,
    started: float,
    *,
    commits: Sequence[int] = (),
    skipped: Sequence[str] = (),
    rows_per_partition: Mapping[str, int] | None = None,
    details: Mapping[str, str | int | float] | None = None,
    note: str = "",
) -> StepResult:
    """Return the result of a step that started at ``started`` (monotonic seconds), with the table as ``before``."""
    after = state_of(table) if commits else before
    return StepResult(
        step=step,
        table=table.name,
        snapshot_id=after.snapshot_id,
        row_count=table.scan().count(),
        rows_written=sum(rows for name, (_, rows, _) in after.files.items() if name not in before.files),
        commits=tuple(commits),
        levels_before=before.levels,
        levels_after=after.levels,
        seconds=round(time.monotonic() - started, 3),
        skipped=tuple(skipped),
        rows_per_partition=dict(rows_per_partition or {}),
        details=dict(details or {}),
        note=note,
    )


def is_awaited(table: Table) -> bool:
    """Whether readers need a compaction that is due, determined only from the manifests.

    Readers need it for the rows of a first-row table, and for changelogs that compactions write.
    """
    options = table.options
    waits = options["merge-engine"] == "first-row" or options["changelog-producer"] in ("lookup", "full-compaction")
    return waits and bool(table.plan_compaction())


def fullest_bucket(table: Table) -> int:
    """Return the largest number of sorted runs (without a key: files) of a bucket, read only from the manifests."""
    return max(table.inspect.buckets()["sorted_runs"].to_pylist(), default=0)
