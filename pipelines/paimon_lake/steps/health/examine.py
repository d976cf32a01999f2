"""examine: the health of a table of a lake, with pictures, for checks and for the metadata of Dagster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paimon_core.health.check import health_of
from paimon_core.health.facts import facts_of
from paimon_core.health.finding import Health
from paimon_core.health.finding import Severity as FindingSeverity
from paimon_core.health.page.picture import pictures
from paimon_core.health.thresholds import Thresholds
from paimon_lake.check_result import Severity
from paimon_lake.declarations import Settings
from paimon_lake.steps.health.doctor import finding_text
from paimon_lake.tables import open_table

_MOST_TOLD = 3


@dataclass(frozen=True)
class Examined:
    """The health of one version of a declared table; ``pictures`` are SVG texts by name, see ``picture``."""

    table: str
    health: Health
    pictures: Mapping[str, str]

    @property
    def severity(self) -> Severity:
        """The severity of the worst finding; "warn" without findings."""
        is_error = any(one.severity is FindingSeverity.ERROR for one in self.health.findings)
        return "error" if is_error else "warn"

    def sentence(self) -> str:
        """Return the score and the worst findings, each with the command that mends it."""
        findings = self.health.findings
        texts = [finding_text(self.table, one) for one in findings[:_MOST_TOLD]]
        more = [f"{len(findings) - _MOST_TOLD} more findings"] if findings[_MOST_TOLD:] else []
        return "; ".join([f"score {self.health.score}", *texts, *more, *([] if findings else ["no findings"])])


def examine(settings: Settings, name: str) -> Examined:
    """Examine the latest version of a declared table; only metadata is read.

    Raises PipelineError for a table that is not in the lake, SnapshotNotFound when the version expires during the call,
    and CorruptTable for metadata that cannot be read.
    """
    table = open_table(settings, name)
    facts = facts_of(table.context, table.latest_snapshot(), Thresholds())
    return Examined(name, health_of(facts), pictures(facts))
