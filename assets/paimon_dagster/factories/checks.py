"""Checks: for every table, one Dagster check for each audit (``rows``, ``keys``, ``stale``, ``files``, ``fsck``,
``health``) and for each declared check.

Checks that block a load run inside the load, on its partitions, before the load is published; the load logs the results
under the names of the checks. The same run does not evaluate these checks again. Other runs evaluate them on the whole
table.
"""

import re
from collections.abc import Iterator
from inspect import cleandoc

import dagster as dg

from paimon_dagster.health_metadata import image
from paimon_dagster.resources import lake_of, resource_keys, spark_of
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.checks import CheckResult
from paimon_lake.declarations import Settings, SettingsError, TableSpec
from paimon_lake.steps.audits.audit import audit, audits_of
from paimon_lake.steps.audits.declared_checks import declared_results
from paimon_lake.tables import open_lake

LARGEST = 64 << 10
"""SVG texts of this length or longer are left out of the metadata, which Dagster keeps for each run."""
_AUDITS = {
    "rows": "every load wrote or rejected each row that it read, and the table still has the rows",
    "keys": "no key occurs twice",
    "stale": "no input changed after the partitions were loaded from it",
    "files": "every data file of the latest snapshot exists and has the recorded size",
    "fsck": "the invariants of the table hold; its rows are not read",
    "health": "the table costs no more than it needs to; the description names the commands that mend it",
}


def table_checks(settings: Settings, translator: PaimonTranslator = PLAIN) -> list[dg.AssetChecksDefinition]:
    """Return one Dagster step per table, which runs the audits and the declared checks of the table.

    Raises SettingsError when two checks of a table have the same name.
    """
    return [_checks(settings, spec, translator) for spec in settings.tables.values()]


def _checks(settings: Settings, spec: TableSpec, translator: PaimonTranslator) -> dg.AssetChecksDefinition:
    key = translator.asset_key(spec)
    specs = [dg.AssetCheckSpec(name, asset=key, description=text) for name, text in descriptions(spec).items()]

    @dg.multi_asset_check(
        name=translator.prefixed(f"check__{spec.ident}"),
        specs=specs,
        can_subset=True,
        required_resource_keys=resource_keys(translator),
    )
    def check(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        settings, spark = lake_of(context, translator).settings, spark_of(context, translator)
        names = {asked.name for asked in context.selected_asset_check_keys if not _is_evaluated(context, asked)}
        declared = [check for check in spec.checks if check_name(check.label) in names]
        if open_lake(settings).table_exists(spec.name):
            results = [*audit(settings, spec.name, names), *declared_results(settings, spec, declared, spark.session)]
        else:
            results = [CheckResult(name, spec.name, 1, "the table is not in the lake yet") for name in sorted(names)]
        for result in results:
            yield asset_check_result(result, key)

    return check


def _is_evaluated(context: dg.AssetCheckExecutionContext, check: dg.AssetCheckKey) -> bool:
    """Whether a load of this run has evaluated the check."""
    found = context.instance.event_log_storage.get_latest_asset_check_execution_by_key([check]).get(check)
    return found is not None and found.run_id == context.run.run_id and found.status.value != "PLANNED"


def descriptions(spec: TableSpec) -> dict[str, str]:
    """Return the descriptions of a table's checks by name; raises SettingsError for a name that occurs twice."""
    texts = {name: _AUDITS[name] for name in audits_of(spec)}
    for check in spec.checks:
        name = check_name(check.label)
        if name in {*texts, *_AUDITS}:
            raise SettingsError(f"{spec.name}: the name {name!r} of a check is taken: give the check another name")
        blocks = " A load that fails this check is not published." if check.block else ""
        texts[name] = f"{cleandoc(type(check).__doc__ or '')} Declared for this table.{blocks}"
    return texts


def asset_check_result(result: CheckResult, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Convert the result of an audit or check to a check result of Dagster."""
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=check_name(result.audit),
        passed=result.passed,
        severity=dg.AssetCheckSeverity.WARN if result.severity == "warn" else dg.AssetCheckSeverity.ERROR,
        description=result.sentence,
        metadata=_metadata(result),
    )


def check_evaluation(result: CheckResult, key: dg.AssetKey) -> dg.AssetCheckEvaluation:
    """Convert the result of a check to an event of Dagster, which a step or a sensor can yield."""
    checked = asset_check_result(result, key)
    return dg.AssetCheckEvaluation(
        asset_key=key,
        check_name=check_name(result.audit),
        passed=result.passed,
        metadata=_metadata(result),
        severity=checked.severity,
        description=result.sentence,
    )


def _metadata(result: CheckResult) -> dict[str, int | float | dg.MarkdownMetadataValue]:
    """Return the numbers of a result, and its pictures as Markdown with an image in it."""
    pictures = {
        name: dg.MetadataValue.md(image(name, svg)) for name, svg in result.pictures.items() if len(svg) < LARGEST
    }
    named = {**result.details, **pictures}
    return {"paimon/wrong": result.wrong, **{f"paimon/{name}": value for name, value in named.items()}}


def check_name(label: str) -> str:
    """Return the label of a check, with ``_`` for characters that Dagster does not accept."""
    return re.sub(r"[^A-Za-z0-9_]", "_", label)
