"""Column lineage: shows from which columns of its inputs each column of a table is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from paimon_dagster.translator import PaimonTranslator
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.protocol import StepResult

KEY = "dagster/column_lineage"
TEXT = "paimon/column_lineage"
"""The key of the lineage as text, because only Dagster+ draws the lineage of columns."""


def lineage_metadata(
    context: dg.AssetExecutionContext,
    settings: Settings,
    spec: TableSpec,
    translator: PaimonTranslator,
    result: StepResult,
) -> dict[str, Any]:
    """Return the metadata with the lineage of a load's columns; {} when the lineage is not known.

    Dagster shows only the lineage of the latest materialization. So a load without a commit returns the lineage of the
    previous materialization again, and a load of some parts also returns it for the columns of all other parts.
    """
    if not result.column_lineage:
        return {} if result.commits else _of_the_latest(context, translator.asset_key(spec))
    deps = {
        column: [
            dg.TableColumnDep(asset_key=translator.asset_key(settings.table(table)), column_name=name)
            for table, name in sources
        ]
        for column, sources in result.column_lineage.items()
    }
    before = _of_the_latest(context, translator.asset_key(spec)).get(KEY) if spec.parts else None
    if before is not None:
        deps = {**before.value.deps_by_column, **deps}
    names = {
        column: [(".".join(d.asset_key.path[-2:]), d.column_name) for d in found] for column, found in deps.items()
    }
    return {KEY: dg.TableColumnLineage(deps), TEXT: dg.MetadataValue.md(lineage_markdown(names))}


def lineage_markdown(lineage: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """Return a Markdown table with each column and the columns of inputs from which it is computed."""
    rows = [f"| {name} | {', '.join(f'{table}.{column}' for table, column in lineage[name])} |" for name in lineage]
    return "\n".join(["| column | computed from |", "|---|---|", *rows])


def _of_the_latest(context: dg.AssetExecutionContext, asset: dg.AssetKey) -> dict[str, Any]:
    event = context.instance.get_latest_materialization_event(asset)
    latest = event.asset_materialization if event is not None else None
    return {key: latest.metadata[key] for key in (KEY, TEXT) if key in latest.metadata} if latest is not None else {}
