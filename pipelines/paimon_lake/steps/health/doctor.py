"""doctor: tells what a table costs more than it needs to, and mends it."""

from __future__ import annotations

import time
from collections.abc import Collection

from paimon_core.health.finding import Finding
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.upkeep.mends import MENDS, mend_table
from paimon_lake.declarations import Settings
from paimon_lake.protocol import PipelineError, StepResult
from paimon_lake.tables import open_table, result_of, state_of


def finding_text(table: str, finding: Finding) -> str:
    """Return what is wrong and how it is mended: the command knows the catalog of the lake, unlike ``paimon-core``."""
    is_mended = finding.name in MENDS
    command = f"paimon-lake doctor --table {table} --fix {finding.name}" if is_mended else finding.command
    declared = ""
    if (buckets := finding.options.get("bucket")) is not None:
        declared = f"; where options.bucket is declared, write {buckets} there as well"
    return f"{finding.name}: {finding.text}; mend: {command}{declared}"


def doctor(settings: Settings, name: str, *, fix: bool = False, findings: Collection[str] = ()) -> StepResult:
    """Report the findings of a table; with ``fix``, run the mends of ``findings``, or all safe mends if it is empty.

    The mends run in this process, one after the other. Raises InvalidRequest for an unknown finding. If a mend
    fails, the other mends still run; then PipelineError is raised.
    """
    started = time.monotonic()
    table = open_table(settings, name)
    before = state_of(table)
    health, mends = mend_table(table, findings) if fix else (table.health(), ())
    if failed := [f"{one.finding.name}: {one.error}" for one in mends if one.error]:
        raise PipelineError(f"{name}: {len(failed)} of {len(mends)} mends failed: {'; '.join(failed)}")
    after = table.refresh()
    commits = [one.report.id for one in mends if isinstance(one.report, Snapshot)]
    texts = [finding_text(name, one) for one in health.findings]
    mended = f"mended {', '.join(one.finding.name for one in mends)}; " if mends else ""
    details: dict[str, str | int | float] = {
        "score": health.score,
        "findings": len(texts),
        "mends": len(mends),
        **health.measures,
    }
    note = f"{mended}score {health.score}, {'; '.join(texts) or 'no findings'}"
    return result_of("doctor", after, before, started, commits=commits, details=details, note=note)
