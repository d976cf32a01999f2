"""check: measures a table and applies the rules."""

from __future__ import annotations

from paimon_core.health.facts import Facts, facts_of
from paimon_core.health.finding import Health, Severity
from paimon_core.health.rules.buckets import BUCKET_RULES
from paimon_core.health.rules.files import FILE_RULES
from paimon_core.health.rules.filters import FILTER_RULES
from paimon_core.health.rules.history import HISTORY_RULES
from paimon_core.health.rules.metadata import METADATA_RULES
from paimon_core.health.thresholds import Thresholds
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot

RULES = (*FILE_RULES, *BUCKET_RULES, *HISTORY_RULES, *METADATA_RULES, *FILTER_RULES)
"""All rules; findings of the same severity and cost are listed in the order of their rules."""


def check_health(context: TableContext, snapshot: Snapshot | None, thresholds: Thresholds | None = None) -> Health:
    """Return the health of one version of a table; no data file is read.

    Raises SnapshotNotFound when the version expires during the call, CorruptTable for metadata that cannot be read.
    """
    return health_of(facts_of(context, snapshot, thresholds or Thresholds()))


def health_of(facts: Facts) -> Health:
    """Return the measures of ``facts`` and the findings of all rules, worst first."""
    findings = [finding for rule in RULES for finding in rule(facts)]
    findings.sort(key=lambda one: (one.severity is not Severity.ERROR, -one.cost_bytes))
    return Health(
        table=facts.table,
        branch=facts.context.branch,
        snapshot=None if facts.snapshot is None else facts.snapshot.id,
        score=facts.score,
        measures=facts.measures(),
        findings=tuple(findings),
    )
