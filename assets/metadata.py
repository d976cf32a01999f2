"""Metadata: what Dagster shows of a step's result and of a table's declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import dagster as dg

from paimon_core.errors import InvalidRequest, NotFound
from pipelines.protocol import AuditFailed, PipelineError, StepResult, level_changes
from pipelines.settings import Settings, SettingsError, TableSpec
from pipelines.show import size_text

_T = TypeVar("_T")


def asset_key(name: str) -> dg.AssetKey:
    """``ods.flights`` as ``ods/flights``."""
    return dg.AssetKey(name.split("."))


def table_asset(
    settings: Settings,
    spec: TableSpec,
    *,
    deps: Sequence[dg.AssetSpec | dg.AssetDep],
    partitions_def: dg.PartitionsDefinition[str] | None = None,
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """``@dg.asset`` with all that the table's declaration says: key, owners, pool, retries, days a run."""
    return dg.asset(
        key=asset_key(spec.name),
        description=spec.comment,
        group_name=spec.name.split(".")[0],
        kinds={"spark", "paimon"},
        owners=list(spec.owners),
        metadata=declared(settings, spec),
        tags={"paimon/write-mode": "write-only"} if spec.options.get("write-only") == "true" else {},
        pool=f"paimon_write__{spec.ident}",
        retry_policy=retries(settings),
        deps=deps,
        partitions_def=partitions_def,
        backfill_policy=dg.BackfillPolicy.multi_run(spec.backfill_per_run) if partitions_def else None,
    )


def declared(settings: Settings, spec: TableSpec) -> dict[str, Any]:
    """The table's name, place and columns."""
    columns = [
        dg.TableColumn(name, kind, constraints=dg.TableColumnConstraints(nullable=name not in spec.primary_key))
        for name, kind in spec.columns.items()
    ]
    database, table = spec.name.split(".")
    return {
        "dagster/table_name": spec.name,
        "dagster/column_schema": dg.TableSchema(columns=columns),
        "paimon/primary_key": ", ".join(spec.primary_key) or "none",
        "paimon/partition_by": ", ".join(spec.partition_by) or "none",
        "paimon/location": f"{settings.warehouse}/{database}.db/{table}",
    }


def result_metadata(result: StepResult) -> dict[str, Any]:
    """Rows, snapshot, files and levels of a result, under the keys that the UI knows or plots."""
    metadata: dict[str, Any] = {
        "dagster/row_count": result.row_count,
        "paimon/rows_written": result.rows_written,
        "paimon/files": result.files,
        "paimon/bytes": sum(level.size_bytes for level in result.levels_after.values()),
        "paimon/level0_files": result.levels_after[0].files if 0 in result.levels_after else 0,
        "paimon/seconds": result.seconds,
        "paimon/levels": dg.MetadataValue.md(levels_markdown(result)),
        "paimon/note": result.note or result.sentence(),
        **{f"paimon/{key}": value for key, value in result.details.items()},
    }
    if result.snapshot_id is not None:
        metadata["paimon/snapshot_id"] = result.snapshot_id
    if result.skipped:
        metadata["paimon/loaded_before"] = ", ".join(result.skipped)
    return metadata


def levels_markdown(result: StepResult) -> str:
    """Files, rows and bytes of every level, before and after."""
    lines = ["| level | files | rows | size |", "|---|---|---|---|"]
    for level, old, new in level_changes(result):
        cells = (
            f"{old.files} → {new.files}",
            f"{old.rows:,} → {new.rows:,}",
            f"{size_text(old.size_bytes)} → {size_text(new.size_bytes)}",
        )
        lines.append(f"| {level} | {' | '.join(cells)} |")
    return "\n".join(lines)


def retries(settings: Settings) -> dg.RetryPolicy:
    """A failed step is tried again: a lost race is planned anew, and a commit that landed is not repeated."""
    return dg.RetryPolicy(
        max_retries=settings.dagster.step_retries,
        delay=settings.dagster.retry_delay_seconds,
        backoff=dg.Backoff.EXPONENTIAL,
        jitter=dg.Jitter.FULL,
    )


def attempt(step: Callable[[], _T]) -> _T:
    """Run a step; what is wrong with the request itself fails at once instead of being tried again."""
    try:
        return step()
    except (AuditFailed, PipelineError, SettingsError, InvalidRequest, NotFound) as error:
        raise dg.Failure(str(error), allow_retries=False) from error


def materialized(context: dg.AssetExecutionContext, step: Callable[[], StepResult]) -> dg.MaterializeResult[Any]:
    """Run a step and report it: its snapshot is the data version, each partition has its own row count."""
    result = attempt(step)
    context.log.info(result.sentence())
    for partition, rows in result.rows_per_partition.items():
        context.add_asset_metadata({"dagster/partition_row_count": rows}, partition_key=partition)
    return dg.MaterializeResult(
        metadata=result_metadata(result), data_version=dg.DataVersion(f"snapshot-{result.snapshot_id}")
    )


def observed(context: dg.OpExecutionContext, step: Callable[[], StepResult]) -> None:
    """Run a maintenance step; it changes no rows: an observation on the table's page, not a new version of it."""
    result = attempt(step)
    context.log.info(result.sentence())
    metadata = {"paimon/step": result.step, **result_metadata(result)}
    context.log_event(dg.AssetObservation(asset_key(result.table), metadata=metadata))


def run_properties(context: dg.AssetExecutionContext | dg.OpExecutionContext) -> Mapping[str, str]:
    """What every snapshot says of the run that made it."""
    properties = {"dagster.run-id": context.run.run_id, "dagster.job": context.run.job_name}
    if isinstance(context, dg.AssetExecutionContext) and context.has_partition_key_range:
        keys = context.partition_key_range
        properties["dagster.partitions"] = keys.start if keys.start == keys.end else f"{keys.start}..{keys.end}"
    return properties
