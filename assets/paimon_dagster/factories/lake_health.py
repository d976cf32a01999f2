"""lake_health: an asset with the health of all tables of a lake, worst first, and the job and schedule that make it."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from paimon_core.health.finding import Health, Severity
from paimon_core.health.page.page import LakePage
from paimon_dagster.markdown import quoted
from paimon_dagster.resources import lake_key, lake_of
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, SettingsError
from paimon_lake.protocol import size_text
from paimon_lake.steps.health.lake_health import lake_health

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

HEALTH = "health"
MOST_LISTED = 500
"""The largest number of tables in the Markdown list; the page and the numbers have all."""
MOST_LETTERS = 32
"""The longest part of a word, between hyphens, that fits into the page of Dagster at a width of 1,400 pixels."""
_LONG = re.compile(rf"[^\s-]{{{MOST_LETTERS + 1},}}")


class LakeHealthConfig(dg.Config):
    """``report``: the file of the HTML page; default: ``health.html`` beside the runs of a local warehouse."""

    report: str = Field(default="", description="The file of the HTML page, which ends with .html.")


def lake_health_key(translator: PaimonTranslator = PLAIN) -> dg.AssetKey:
    """Return the key of the asset: ``lake/health``, or ``shop/health`` for the lake ``shop``."""
    return dg.AssetKey([*translator.key_prefix, translator.name or "lake", HEALTH])


def lake_health_asset(settings: Settings, translator: PaimonTranslator = PLAIN) -> dg.AssetsDefinition | None:
    """Return the asset; None for a lake without tables. Raises SettingsError when a table has its key."""
    if not settings.tables:
        return None
    key = lake_health_key(translator)
    for name, spec in settings.tables.items():
        if translator.asset_key(spec) == key:
            raise SettingsError(
                f"{name}: the asset key {key.to_user_string()} is that of the health of the lake: give the lake a name "
                "or another key_prefix, or rename the table"
            )

    @dg.asset(
        key=key,
        description="The health of all tables of the lake, worst first. Only metadata is read.",
        group_name=HEALTH,
        kinds={"paimon"},
        required_resource_keys={lake_key(translator)},
    )
    def health(context: dg.AssetExecutionContext, config: LakeHealthConfig) -> dg.MaterializeResult[Any]:
        lake = lake_of(context, translator).settings
        page = lake_health(lake, f"Health of the lake {translator.name or lake.warehouse}")
        report = _report(page, lake, config.report, translator)
        if isinstance(report, Path):
            context.log.info(f"The report is {report}")
        shown = shortened(report.name) if isinstance(report, Path) else report
        return dg.MaterializeResult(metadata={"paimon/report": shown, **_numbers(page)})

    return health


def lake_health_job(translator: PaimonTranslator = PLAIN) -> "UnresolvedAssetJobDefinition":
    """Return the job that makes the asset."""
    return dg.define_asset_job(
        translator.prefixed(HEALTH),
        dg.AssetSelection.assets(lake_health_key(translator)),
        description="Examine all tables, and write the page with the health of the lake.",
        executor_def=dg.in_process_executor,
    )


def lake_health_schedule(
    settings: Settings, job: "UnresolvedAssetJobDefinition", translator: PaimonTranslator = PLAIN
) -> dg.ScheduleDefinition:
    """Return the nightly schedule of the job."""
    running = settings.dagster.automation_on
    return dg.ScheduleDefinition(
        name=translator.prefixed(f"{HEALTH}_schedule"),
        description="Examines all tables every night.",
        job=job,
        cron_schedule=settings.dagster.nightly_cron,
        execution_timezone=settings.dagster.nightly_timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING if running else dg.DefaultScheduleStatus.STOPPED,
    )


def _numbers(page: LakePage) -> dict[str, Any]:
    healths = page.healths
    return {
        "paimon/health": dg.MetadataValue.md(overview_markdown(page)),
        "paimon/tables": len(healths) + len(page.failures),
        "paimon/tables_with_findings": sum(not one.is_healthy for one in healths),
        "paimon/tables_unreadable": len(page.failures),
        "paimon/findings": sum(len(one.findings) for one in healths),
        "paimon/lowest_score": min((one.score for one in healths), default=100),
        "paimon/live_bytes": sum(int(one.measures["live_bytes"]) for one in healths),
        "paimon/files": sum(int(one.measures["files"]) for one in healths),
    }


def overview_markdown(page: LakePage) -> str:
    """Return a Markdown list of the tables: first those that cannot be read, then the lowest scores.

    A list and not a table, because Dagster cuts off what is wider than its page, and the lines of a list are broken.
    Dagster breaks no words, so long ones are shortened; the report has them whole.
    """
    healths = sorted(page.healths, key=lambda one: (one.score, one.table))
    lines = [
        f"- **unreadable** {quoted(shortened(name))}: {quoted(shortened(error))}"
        for name, error in sorted(page.failures)
    ]
    lines += [_line(one) for one in healths]
    listed, left = lines[:MOST_LISTED], len(lines) - MOST_LISTED
    more = f"\n\n{left:,} more tables with higher scores are in the report." if left > 0 else ""
    return "\n".join(listed) + more


def shortened(text: str) -> str:
    """Return a text in which the middle of each long word is replaced by ``…``."""

    def short(found: re.Match[str]) -> str:
        left = (MOST_LETTERS - 1) // 2
        return f"{found[0][:left]}…{found[0][left + 1 - MOST_LETTERS :]}"

    return _LONG.sub(short, text)


def _line(one: Health) -> str:
    m = one.measures
    findings = ", ".join(_named(finding.name, finding.severity) for finding in one.findings) or "no findings"
    text = (
        f"- {one.score} {quoted(shortened(one.table))}: {findings}; "
        f"{size_text(int(m['live_bytes']))} in {int(m['files']):,} files"
    )
    if not m["live_bytes"]:
        return text
    return f"{text}, read {m['read_amplification']:.2f}, space {m['space_amplification']:.2f}"


def _named(name: str, severity: Severity) -> str:
    return f"**{name}**" if severity is Severity.ERROR else name


def _report(page: LakePage, settings: Settings, wanted: str, translator: PaimonTranslator) -> Path | str:
    """Write the page and return its path; return a sentence that says why none was written.

    Raises Failure for a file whose name does not end with ``.html`` and for a file that cannot be written.
    """
    if wanted and not wanted.endswith(".html"):
        raise dg.Failure(f"report is {wanted!r}: the name of the file must end with .html", allow_retries=False)
    if not wanted and ("://" in settings.warehouse or settings.is_remote):
        warehouse = shortened(settings.warehouse)
        return f"not written: {warehouse} is not a local path; name a file in the config `report`"
    path = Path(wanted or Path(settings.warehouse) / "dagster" / f"{translator.prefixed(HEALTH)}.html").absolute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.text(), encoding="ascii")
    except OSError as error:
        raise dg.Failure(f"the report cannot be written to {path}: {error}", allow_retries=False) from error
    return path
