"""lake_metrics: the measures of the tables of a lake as OpenMetrics text."""

from __future__ import annotations

from paimon_core.errors import PaimonError
from paimon_core.health.finding import Health
from paimon_core.health.metrics import open_metrics
from paimon_lake.declarations import Settings
from paimon_lake.overview import existing
from paimon_lake.tables import open_table


def lake_metrics(settings: Settings) -> tuple[str, dict[str, str]]:
    """Return the text, and for each table that could not be examined the reason; only metadata is read.

    Raises UnsupportedFeature when ``prometheus_client`` is not installed.
    """
    healths: list[Health] = []
    failures: dict[str, str] = {}
    for name in existing(settings):
        try:
            healths.append(open_table(settings, name).health())
        except PaimonError as error:
            failures[name] = f"{error.kind}: {error}"
    return open_metrics(healths, failures), failures
