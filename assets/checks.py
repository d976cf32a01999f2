"""Checks: for every table, rows as in the source, no key twice, no file missing, no invariant broken."""

from collections.abc import Iterator
from datetime import date

import dagster as dg

from assets.metadata import asset_key
from assets.resources import LakeResource
from pipelines.audit import Finding, audit
from pipelines.settings import Settings
from pipelines.show import existing

_AUDITS = {
    "rows": "rows are those of the source, on every day that was materialized",
    "keys": "no key occurs twice",
    "files": "every data file of the latest snapshot is there, with its size",
    "fsck": "the invariants of the table hold, as far as its metadata tells",
}


def table_checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """One step a table, four checks each."""
    return [_checks(settings, name) for name in settings.tables]


def _checks(settings: Settings, name: str) -> dg.AssetChecksDefinition:
    spec = settings.table(name)
    specs = [dg.AssetCheckSpec(audit, asset=asset_key(name), description=text) for audit, text in _AUDITS.items()]

    @dg.multi_asset_check(name=f"check__{spec.ident}", specs=specs)
    def check(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        settings = lake.settings
        if name in existing(settings):
            findings = audit(settings, name, materialized_days(context.instance, name))
        else:
            findings = [Finding(question, name, 1, "the table is not in the lake yet") for question in _AUDITS]
        for finding in findings:
            yield check_result(finding)

    return check


def check_result(finding: Finding) -> dg.AssetCheckResult:
    """An audit's finding as Dagster shows it."""
    return dg.AssetCheckResult(
        asset_key=asset_key(finding.table),
        check_name=finding.audit,
        passed=finding.passed,
        description=finding.sentence,
        metadata={"paimon/wrong": finding.wrong},
    )


def materialized_days(instance: dg.DagsterInstance, name: str) -> list[date] | None:
    """The days (or first days of months) that Dagster materialized; None for a table without partitions."""
    keys = instance.get_materialized_partitions(asset_key(name))
    if not keys:
        return None
    return sorted(date.fromisoformat(key if len(key) > 7 else f"{key}-01") for key in keys)
