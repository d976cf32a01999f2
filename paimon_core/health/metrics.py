"""metrics: the measures of tables as OpenMetrics text, which Prometheus and its agents read.

Needs the package ``prometheus_client`` (extra ``metrics``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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


def open_metrics(healths: Iterable[Health], unreadable: Iterable[str] = ()) -> str:
    """Return gauges of tables as OpenMetrics text, with the labels ``table`` and ``branch``.

    ``unreadable`` are tables that could not be examined: they have the gauge ``paimon_table_unreadable`` only. Raises
    UnsupportedFeature when ``prometheus_client`` is not installed.
    """
    try:
        from prometheus_client.openmetrics.exposition import generate_latest
        from prometheus_client.registry import Collector, CollectorRegistry
    except ImportError as error:
        raise UnsupportedFeature(
            "metrics need the package prometheus_client: pip install paimon-core[metrics]"
        ) from error
    found = list(_families(list(healths), list(unreadable)))

    class Tables(Collector):
        def collect(self) -> list[Metric]:
            return found

    registry = CollectorRegistry()
    registry.register(Tables())
    return str(generate_latest(registry).decode())  # type: ignore[no-untyped-call]


def _families(healths: list[Health], unreadable: list[str]) -> Iterator[Metric]:
    from prometheus_client.metrics_core import GaugeMetricFamily

    labels = ("table", "branch")
    score = GaugeMetricFamily(f"{PREFIX}score", "100 for a table that costs no more than it needs to.", labels=labels)
    findings = GaugeMetricFamily(f"{PREFIX}findings", "Findings of each severity.", labels=(*labels, "severity"))
    damaged = GaugeMetricFamily(f"{PREFIX}unreadable", "1 for a table that could not be examined.", labels=("table",))
    for health in healths:
        score.add_metric((health.table, health.branch), health.score)
        for severity in Severity:
            count = sum(finding.severity is severity for finding in health.findings)
            findings.add_metric((health.table, health.branch, severity.value), count)
    for name in unreadable:
        damaged.add_metric((name,), 1)
    yield from (score, findings, damaged)
    for measure, text in MEASURES.items():
        family = GaugeMetricFamily(PREFIX + measure, text, labels=labels)
        for health in healths:
            family.add_metric((health.table, health.branch), health.measures[measure])
        yield family
