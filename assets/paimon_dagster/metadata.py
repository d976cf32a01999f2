"""Metadata: convert the results of steps and the declarations of tables to metadata of Dagster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import dagster as dg

from paimon_core.errors import InvalidRequest, NotFound
from paimon_dagster.partitions import partitions_of_run
from paimon_lake.declarations import Settings, SettingsError, TableSpec
from paimon_lake.declarations.agreement.definition import column_type
from paimon_lake.declarations.lake.catalog import REST, kind_of
from paimon_lake.loads.inputs.stale_text import stale_text
from paimon_lake.protocol import AuditFailed, PipelineError, StepResult, level_changes, size_text

NOTE = "paimon/note"
"""The key of the sentence about a step. Dagster shows entries in their order, so it comes first, then the health."""
_T = TypeVar("_T")


def asset_key(name: str) -> dg.AssetKey:
    """Return the asset key of a table in a lake without a key prefix: ``ods/flights`` for ``ods.flights``."""
    return dg.AssetKey(name.split("."))


def declared(settings: Settings, spec: TableSpec) -> dict[str, Any]:
    """Return the table's name, columns, keys and location as metadata."""
    columns = [
        dg.TableColumn(
            name,
            kind,
            description=spec.column_comments.get(name),
            constraints=dg.TableColumnConstraints(nullable=_is_nullable(spec, name)),
        )
        for name, kind in spec.columns.items()
    ]
    database, table = spec.name.split(".")
    is_rest = kind_of(settings.catalog) == REST  # only the server knows the location
    return {
        "dagster/table_name": spec.name,
        "dagster/column_schema": dg.TableSchema(columns=columns),
        "paimon/primary_key": ", ".join(spec.primary_key) or "none",
        "paimon/partition_by": ", ".join(spec.partition_by) or "none",
        **({} if is_rest else {"paimon/location": f"{settings.warehouse}/{database}.db/{table}"}),
    }


def _is_nullable(spec: TableSpec, column: str) -> bool:
    return column not in spec.primary_key and column_type(spec.columns[column]).nullable


def result_metadata(result: StepResult) -> dict[str, Any]:
    """Return the rows, snapshot, files and levels of a result as metadata; the UI plots the numbers over time."""
    metadata: dict[str, Any] = {
        "paimon/rows_written": result.rows_written,
        "paimon/files": result.files,
        "paimon/bytes": sum(level.size_bytes for level in result.levels_after.values()),
        "paimon/level0_files": result.levels_after[0].files if 0 in result.levels_after else 0,
        "paimon/seconds": result.seconds,
        "paimon/levels": dg.MetadataValue.md(levels_markdown(result)),
        NOTE: _note(result),
        **{f"paimon/{key}": value for key, value in result.details.items()},
    }
    if result.row_count is not None:
        metadata["dagster/row_count"] = result.row_count
    if result.snapshot_id is not None:
        metadata["paimon/snapshot_id"] = result.snapshot_id
    if result.skipped:
        metadata["paimon/skipped"] = ", ".join(result.skipped)
    if result.stale:
        metadata["paimon/stale"] = stale_text(result.stale)
    return metadata


def _note(result: StepResult) -> str:
    return result.note or result.sentence()


def levels_markdown(result: StepResult) -> str:
    """Return a Markdown table with the files, rows and bytes of every level before and after a step."""
    lines = ["| level | files | rows in files | size |", "|---|---|---|---|"]
    for level, old, new in level_changes(result):
        cells = (
            f"{old.files} → {new.files}",
            f"{old.rows:,} → {new.rows:,}",
            f"{size_text(old.size_bytes)} → {size_text(new.size_bytes)}",
        )
        lines.append(f"| {level} | {' | '.join(cells)} |")
    return "\n".join(lines)


def retries(settings: Settings) -> dg.RetryPolicy:
    """Return the retry policy of steps. A retry plans the step again, and never commits the same load twice."""
    return dg.RetryPolicy(
        max_retries=settings.dagster.step_retries,
        delay=settings.dagster.retry_delay_seconds,
        backoff=dg.Backoff.EXPONENTIAL,
        jitter=dg.Jitter.FULL,
    )


def attempt(step: Callable[[], _T]) -> _T:
    """Run a step and return its result; an error that a retry cannot fix fails the run without retries."""
    try:
        return step()
    except (AuditFailed, PipelineError, SettingsError, InvalidRequest, NotFound) as error:
        raise dg.Failure(str(error), allow_retries=False) from error


def materialized(
    context: dg.AssetExecutionContext,
    step: Callable[[], StepResult],
    more: Callable[[StepResult], Mapping[str, Any]] = lambda result: {},
) -> dg.MaterializeResult[Any]:
    """Run a step and return it as a materialization, with the snapshot as data version.

    ``more`` returns further metadata.
    """
    result = attempt(step)
    for done in (result, *result.others):
        context.log.info(done.sentence())
    metadata = {NOTE: _note(result), **more(result), **result_metadata(result)}
    return dg.MaterializeResult(metadata=metadata, data_version=data_version(result))


def data_version(result: StepResult) -> dg.DataVersion | None:
    """Return the data version of the table after a step: its snapshot id; None for a table without a snapshot."""
    return None if result.snapshot_id is None else dg.DataVersion(f"snapshot-{result.snapshot_id}")


def observed(
    context: dg.OpExecutionContext,
    key: dg.AssetKey,
    step: Callable[[], StepResult],
    more: Callable[[StepResult], Mapping[str, Any]] = lambda result: {},
) -> None:
    """Run a maintenance step and log it as an observation of the asset, because it changes no rows.

    ``more`` returns further metadata.
    """
    result = attempt(step)
    context.log.info(result.sentence())
    metadata = {"paimon/step": result.step, NOTE: _note(result), **more(result), **result_metadata(result)}
    context.log_event(dg.AssetObservation(key, metadata=metadata))


def run_properties(context: dg.AssetExecutionContext | dg.OpExecutionContext) -> Mapping[str, str]:
    """Return the snapshot properties that record the run: its id, its job and its partitions."""
    properties = {"dagster.run-id": context.run.run_id, "dagster.job": context.run.job_name}
    keys = partitions_of_run(context) if isinstance(context, dg.AssetExecutionContext) else None
    if keys:
        properties["dagster.partitions"] = keys[0] if len(keys) == 1 else f"{keys[0]}..{keys[-1]}"
    return properties
