"""Tables: create the tables that a lake declares, and describe them before and after a step."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import paimon_core as paimon
from paimon_core.catalog.catalog import Catalog
from paimon_core.compact.planning import waiting_files
from paimon_core.errors import SnapshotNotFound
from paimon_core.table.table import Table
from paimon_lake.declarations import Settings
from paimon_lake.declarations.agreement.definition import declared_columns
from paimon_lake.declarations.lake.catalog import kind_of, options_of, uri_of
from paimon_lake.protocol import LevelSize, PipelineError, StepResult

MOST_COUNTED = 5_000_000
"""A step does not count the visible rows of a table when it would have to merge more rows than this."""


@dataclass(frozen=True)
class TableState:
    """The latest snapshot of a table at one moment, and the sizes of its live files, by ascending level."""

    snapshot_id: int | None
    levels: Mapping[int, LevelSize]

    @property
    def files(self) -> int:
        """The number of live files."""
        return sum(level.files for level in self.levels.values())


def open_lake(settings: Settings) -> Catalog:
    """Return the catalog of the lake."""
    return paimon.open_catalog(
        settings.warehouse,
        type=kind_of(settings.catalog),
        uri=uri_of(settings.catalog, settings.folder),
        options=options_of(settings.catalog),
        storage=settings.storage,
        allowed_roots=settings.allowed_roots,
    )


def open_table(
    settings: Settings, name: str, *, create: bool = False, options: Mapping[str, str] | None = None
) -> Table:
    """Open the table ``database.table``; with ``create``, create the table from its declaration when it does not exist.

    ``options``: options of a table that is created, over those of the declaration.

    Raises SettingsError for a table that is not declared. Raises PipelineError for a table that is not in the lake when
    ``create`` is false or the declaration has no columns.
    """
    spec = settings.table(name)
    catalog = open_lake(settings)
    if catalog.table_exists(name):
        return catalog.table(name)
    if not create:
        raise PipelineError(f"{name} is not in the lake {settings.warehouse} yet: load it first")
    if not spec.columns:
        raise PipelineError(f"{name} has no columns: `paimon-lake infer --table {name}` writes them down")
    catalog.create_database(name.split(".")[0], ignore_if_exists=True)
    return catalog.create_table(
        name,
        declared_columns(spec),
        primary_key=spec.primary_key,
        partition_by=spec.partition_by,
        options={**spec.table_options, **(options or {})},
        comment=spec.comment,
        ignore_if_exists=True,
    )


def state_of(table: Table) -> TableState:
    """Return the state of a table, read only from its manifests."""
    snapshot = table.latest_snapshot()
    if snapshot is None:
        return TableState(None, {})
    columns = ["level", "record_count", "file_size_in_bytes"]
    files = table.at(snapshot=snapshot.id).system("files", columns).to_arrow()
    sums = [("level", "count"), ("record_count", "sum"), ("file_size_in_bytes", "sum")]
    levels = files.group_by("level").aggregate(sums).sort_by("level").to_pydict()
    return TableState(snapshot.id, {n: LevelSize(*sizes) for n, *sizes in zip(*levels.values(), strict=True)})


def counted_rows(table: Table, state: TableState) -> int | None:
    """Return the number of rows that a reader of the snapshot of ``state`` sees; later commits do not change it.

    Returns None when more than MOST_COUNTED rows would have to be merged, or when the snapshot has expired.
    """
    if state.snapshot_id is None:
        return 0
    merges = bool(table.schema.primary_keys) and 0 in state.levels
    if merges and sum(level.rows for level in state.levels.values()) > MOST_COUNTED:
        return None
    try:
        return table.at(snapshot=state.snapshot_id).with_options({"read.allow.fullScan": True}).scan().count()
    except SnapshotNotFound:
        return None


def result_of(
    step: str,
    table: Table,
    before: TableState,
    started: float,
    *,
    commits: Sequence[int] = (),
    skipped: Sequence[str] = (),
    details: Mapping[str, str | int | float] | None = None,
    note: str = "",
    rows_written: int = 0,
    counts: bool = True,
) -> StepResult:
    """Return the result of a step that began at ``started`` (``time.monotonic``); ``before`` is the state before it.

    The levels and the visible rows after the step describe the latest snapshot, which may be of a concurrent commit;
    without ``commits`` they describe ``before``. Without ``counts`` the visible rows are not counted.
    """
    after = state_of(table) if commits else before
    return StepResult(
        step=step,
        table=table.name,
        snapshot_id=after.snapshot_id,
        row_count=counted_rows(table, after) if counts else None,
        rows_written=rows_written,
        commits=tuple(commits),
        levels_before=before.levels,
        levels_after=after.levels,
        seconds=round(time.monotonic() - started, 3),
        skipped=tuple(skipped),
        details=dict(details or {}),
        note=note,
    )


def is_awaited(table: Table) -> bool:
    """Whether some rows or changelogs are not visible before the next compaction, determined only from the manifests.

    This concerns the rows of a first-row table, changelogs that compactions write, and rows in the postpone bucket.
    """
    options = table.options
    if waiting_files(table.context):
        return True
    waits = options["merge-engine"] == "first-row" or options["changelog-producer"] in ("lookup", "full-compaction")
    return waits and bool(table.plan_compaction())


def fullest_bucket(table: Table) -> int:
    """Return the greatest number of sorted runs in a bucket; for a table without a key, the number of files.

    Reads only manifests.
    """
    return max(table.inspect.buckets()["sorted_runs"].to_pylist(), default=0)
