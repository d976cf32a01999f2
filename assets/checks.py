"""Checks: for every table, compare rows with the source, and check keys, data files and invariants."""

from collections.abc import Iterator
from datetime import date

import dagster as dg

from assets.metadata import asset_key
from assets.resources import LakeResource
from pipelines.audit import audit
from pipelines.checks import Finding
from pipelines.lake import Settings
from pipelines.show import existing

_AUDITS = {
    "rows": "the table has as many rows as the source, on every materialized day",
    "keys": "no key occurs twice",
    "files": "every data file of the latest snapshot exists and has the recorded size",
    "fsck": "the invariants of the table hold; its rows are not read",
}


def table_checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Return one step per table, with four checks each."""
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
            findings = [Finding(kind, name, 1, "the table is not in the lake yet") for kind in _AUDITS]
        for finding in findings:
            yield check_result(finding)

    return check


def check_result(finding: Finding) -> dg.AssetCheckResult:
    """Convert the finding of an audit to a check result of Dagster."""
    return dg.AssetCheckResult(
        asset_key=asset_key(finding.table),
        check_name=finding.audit,
        passed=finding.passed,
        severity=dg.AssetCheckSeverity.WARN if finding.severity == "warn" else dg.AssetCheckSeverity.ERROR,
        description=finding.sentence,
        metadata={"paimon/wrong": finding.wrong},
    )


def materialized_days(instance: dg.DagsterInstance, name: str) -> list[date] | None:
    """Return the days (or first days of months) that Dagster materialized; None when no partition was."""
    keys = instance.get_materialized_partitions(asset_key(name))
    if not keys:
        return None
    return sorted(date.fromisoformat(key if len(key) > 7 else f"{key}-01") for key in keys)
