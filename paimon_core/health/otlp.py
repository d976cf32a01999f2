"""otlp: sends the measures of tables to an OpenTelemetry collector, by OTLP over HTTP.

Needs the packages of the extra ``otlp``. Headers, certificates, compression and the time-out come from the environment
variables of OpenTelemetry (``OTEL_EXPORTER_OTLP_HEADERS``, ...), so no secret is an argument, and none is logged.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from paimon_core.errors import InvalidRequest, StorageError, UnsupportedFeature
from paimon_core.health.finding import Health
from paimon_core.health.metrics import Gauge, gauges_of

ENDPOINT, METRICS_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
PROTOCOLS = ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
HTTP = "http/protobuf"
PATH = "/v1/metrics"
_LOGGER = "opentelemetry.exporter.otlp.proto.http"


def otlp_endpoint(url: str = "") -> str | None:
    """Return the URL to which metrics are sent, from ``url`` or else from the environment; None if neither is set.

    ``/v1/metrics`` is appended to ``url`` and to ``OTEL_EXPORTER_OTLP_ENDPOINT`` unless they end with it;
    ``OTEL_EXPORTER_OTLP_METRICS_ENDPOINT`` is used as it is. Raises InvalidRequest for a URL that is not HTTP or that
    contains a user, a query or a fragment, and for another protocol in the environment.
    """
    for name in PROTOCOLS:
        if (protocol := os.environ.get(name)) is not None:
            if protocol != HTTP:
                raise InvalidRequest(f"{name} must be {HTTP}, not {protocol!r:.60}: metrics are sent by OTLP over HTTP")
            break
    if url:
        return _with_path(_checked(url, "the URL of the collector"))
    if value := os.environ.get(METRICS_ENDPOINT):
        return _checked(value, METRICS_ENDPOINT)
    if value := os.environ.get(ENDPOINT):
        return _with_path(_checked(value, ENDPOINT))
    return None


def send_metrics(healths: Sequence[Health], unreadable: Iterable[str] = (), url: str = "") -> int:
    """Send the gauges of tables in one request; return the number of values that were sent.

    ``url``: see ``otlp_endpoint``; ``unreadable``: see ``gauges_of``. A request that fails for a short time is repeated
    until the time-out. Raises InvalidRequest when there is no URL, UnsupportedFeature when the packages are not
    installed, StorageError when the collector does not accept the request.
    """
    endpoint = otlp_endpoint(url)
    if endpoint is None:
        raise InvalidRequest(f"there is no URL of a collector: give one, or set {ENDPOINT}")
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.metrics import Observation
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricExportResult
        from opentelemetry.sdk.resources import Resource
    except ImportError as error:
        raise UnsupportedFeature(
            "OTLP needs the packages opentelemetry-sdk and opentelemetry-exporter-otlp-proto-http: "
            "pip install paimon-core[otlp]"
        ) from error

    def observed(gauge: Gauge) -> Callable[[Any], list[Any]]:
        named = [(dict(zip(gauge.labels, values, strict=True)), number) for values, number in gauge.samples]
        return lambda options: [Observation(number, labels) for labels, number in named]

    gauges = gauges_of(healths, unreadable)
    reader = InMemoryMetricReader()
    resource = Resource.create({} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "paimon"})
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter = provider.get_meter("paimon_core.health")
    for gauge in gauges:
        meter.create_observable_gauge(gauge.name, [observed(gauge)], description=gauge.text)
    data = reader.get_metrics_data()
    said = _Said()
    logger = logging.getLogger(_LOGGER)
    logger.addHandler(said)
    try:
        exporter = OTLPMetricExporter(endpoint=endpoint)
        is_sent = data is None or exporter.export(data) is MetricExportResult.SUCCESS
        exporter.shutdown()
    finally:
        logger.removeHandler(said)
        provider.shutdown()
    if not is_sent:
        raise StorageError(f"the collector {endpoint} did not accept the metrics: {said.text}")
    return sum(len(gauge.samples) for gauge in gauges)


class _Said(logging.Handler):
    """Keeps the first and the last message of the exporter, which state why a request failed."""

    def __init__(self) -> None:
        super().__init__()
        self._messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message."""
        text = " ".join(record.getMessage().split())[:300]
        self._messages = [*self._messages[:1], text]

    @property
    def text(self) -> str:
        """The messages as one line."""
        return "; ".join(dict.fromkeys(self._messages)) or "no reason is given"


def _checked(url: str, what: str) -> str:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise InvalidRequest(f"{what} must be a URL such as http://localhost:4318, not {url.rpartition('@')[2]!r:.80}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InvalidRequest(
            f"{what} must not contain a user, a query or a fragment: set secrets as headers in "
            "OTEL_EXPORTER_OTLP_HEADERS"
        )
    return url


def _with_path(url: str) -> str:
    base = url.rstrip("/")
    return base if base.endswith(PATH) else base + PATH
