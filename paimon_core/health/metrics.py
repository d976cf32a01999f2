"""metrics: the measures of tables as gauges, and these as OpenMetrics text, which Prometheus and its agents read.

The text needs the package ``prometheus_client`` (extra ``metrics``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from paimon_core.errors import UnsupportedFeature
from paimon_core.health.finding import Health, Severity

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

PREFIX = "paimon_table_"
MEASURES: Mapping[str, str] = MappingProxyType(
    {
        "live_bytes": "Bytes of the data files of the latest version.",
        "files": "Data files of the latest version.",
        "rows_in_files": "Rows in these files, before merging.",
        "partitions": "Partitions that have files.",
        "buckets": "Buckets that have files.",
        "largest_bucket_bytes": "Bytes of the largest bucket.",
        "most_sorted_runs": "Sorted runs of the bucket that has most; 0 without a primary key.",
        "level_0_files": "Files of level 0; 0 without a primary key.",
        "avoidable_files": "Files that a full compaction would save.",
        "deleted_rows": "Rows in files that delete others or are deleted.",
        "waiting_rows": "Rows of the postpone bucket, which no read sees before a compaction.",
        "waiting_bytes": "Bytes of their files.",
        "manifests": "Manifests of the latest version.",
        "manifest_bytes": "Bytes of these manifests.",
        "manifest_entries": "Entries of these manifests, also of deleted files.",
        "snapshots": "Snapshots that have not expired.",
        "snapshot_bytes": "Bytes of data files that only older snapshots use.",
        "changelogs": "Changelogs whose snapshots have expired.",
        "changelog_bytes": "Bytes of files that only these changelogs use.",
        "tags": "Tags.",
        "tag_bytes": "Bytes of data files that only tags use.",
        "branches": "Branches except main.",
        "branch_bytes": "Bytes of data files that only branches use.",
        "consumers": "Streaming readers that have written a position.",
        "scan_bytes": "Estimated bytes of a full scan.",
        "scan_requests": "Estimated requests of a full scan.",
        "point_query_bytes": "Estimated bytes of a query of one key.",
        "point_query_requests": "Estimated requests of a query of one key.",
        "read_amplification": "Cost of a full scan, divided by its cost after a full compaction.",
        "space_amplification": "Bytes that something holds, divided by the live bytes.",
        "write_amplification": "Bytes written with compactions, divided by bytes written without.",
        "written_bytes_a_day": "New bytes a day without compactions, since the first snapshot that exists.",
        "seconds_since_commit": "Age of the latest snapshot in seconds.",
    }
)
"""The help text of each measure of ``Health.measures``; the name of its metric is ``paimon_table_`` and its name."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """One metric of tables: its name, help text, the names of its labels, and (values of the labels, value)."""

    name: str
    text: str
    labels: tuple[str, ...]
    samples: Sequence[tuple[tuple[str, ...], float]]


def gauges_of(healths: Sequence[Health], unreadable: Iterable[str] = ()) -> list[Gauge]:
    """Return the gauges of tables, with the labels ``table`` and ``branch``.

    ``unreadable`` are tables that could not be examined: they have the gauge ``paimon_table_unreadable`` only.
    """
    labels = ("table", "branch")
    of = [(health.table, health.branch) for health in healths]
    findings = [
        ((*at, severity.value), sum(finding.severity is severity for finding in health.findings))
        for at, health in zip(of, healths, strict=True)
        for severity in Severity
    ]
    found = [
        Gauge(
            f"{PREFIX}score",
            "100 for a table that costs no more than it needs to.",
            labels,
            [(at, health.score) for at, health in zip(of, healths, strict=True)],
        ),
        Gauge(f"{PREFIX}findings", "Findings of each severity.", (*labels, "severity"), findings),
        Gauge(
            f"{PREFIX}unreadable",
            "1 for a table that could not be examined.",
            ("table",),
            [((name,), 1) for name in unreadable],
        ),
    ]
    for measure, text in MEASURES.items():
        values = [(at, health.measures[measure]) for at, health in zip(of, healths, strict=True)]
        found.append(Gauge(PREFIX + measure, text, labels, values))
    return found


def open_metrics(healths: Sequence[Health], unreadable: Iterable[str] = ()) -> str:
    """Return the gauges of tables as OpenMetrics text; arguments: see ``gauges_of``.

    Raises UnsupportedFeature when ``prometheus_client`` is not installed.
    """
    try:
        from prometheus_client.metrics_core import GaugeMetricFamily
        from prometheus_client.openmetrics.exposition import generate_latest
        from prometheus_client.registry import Collector, CollectorRegistry
    except ImportError as error:
        raise UnsupportedFeature(
            "metrics need the package prometheus_client: pip install paimon-core[metrics]"
        ) from error
    found: list[Metric] = []
    for gauge in gauges_of(healths, unreadable):
        family = GaugeMetricFamily(gauge.name, gauge.text, labels=gauge.labels)
        for values, number in gauge.samples:
            family.add_metric(values, number)
        found.append(family)

    class Tables(Collector):
        def collect(self) -> list[Metric]:
            return found

    registry = CollectorRegistry()
    registry.register(Tables())
    return str(generate_latest(registry).decode())  # type: ignore[no-untyped-call]
