"""lake_metrics: the measures of the tables of a lake as OpenMetrics text. send_lake_metrics: the same by OTLP."""

from __future__ import annotations

from paimon_core.errors import PaimonError
from paimon_core.health.finding import Health
from paimon_core.health.metrics import open_metrics
from paimon_core.health.otlp import otlp_endpoint, send_metrics
from paimon_lake.declarations import Settings
from paimon_lake.overview import existing
from paimon_lake.tables import open_table


def lake_metrics(settings: Settings) -> tuple[str, dict[str, str]]:
    """Return the text, and for each table that could not be examined the reason; only metadata is read.

    Raises UnsupportedFeature when ``prometheus_client`` is not installed.
    """
    healths, failures = _examined(settings)
    return open_metrics(healths, failures), failures


def send_lake_metrics(settings: Settings, url: str = "") -> tuple[int, dict[str, str]]:
    """Send the measures to an OpenTelemetry collector; return the number of values, and the failures of tables.

    ``url`` is the URL of the collector; "": the environment variable ``OTEL_EXPORTER_OTLP_ENDPOINT``. Raises the errors
    of ``paimon_core.health.otlp.send_metrics``; its ``otlp_endpoint`` tells whether a collector is set.
    """
    otlp_endpoint(url)  # refuses a wrong URL before the tables are examined
    healths, failures = _examined(settings)
    return send_metrics(healths, failures, url), failures


def _examined(settings: Settings) -> tuple[list[Health], dict[str, str]]:
    healths: list[Health] = []
    failures: dict[str, str] = {}
    for name in existing(settings):
        try:
            healths.append(open_table(settings, name).health())
        except PaimonError as error:
            failures[name] = f"{error.kind}: {error}"
    return healths, failures
