"""Finding and Health: what is wrong with a table, and the numbers from which this was concluded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from paimon_core.display import Displayed, Summary

FINDINGS = (
    "many-sorted-runs",
    "small-files",
    "kept-deletes",
    "old-level-0",
    "waiting-rows",
    "hot-bucket",
    "too-many-buckets",
    "too-few-buckets",
    "small-partitions",
    "damaged-snapshot",
    "no-expiry",
    "stale-tags",
    "forgotten-branch",
    "dead-consumer",
    "many-manifests",
    "useless-index",
    "missing-indexes",
    "conflicting-options",
    "unindexed-filter",
    "unused-index",
)
"""The names of all findings, in the order of the rules."""


class Severity(StrEnum):
    """How urgent a finding is."""

    ERROR = "error"
    """Writes wait, reads fail, or the cost grows with each commit."""
    WARNING = "warning"
    """The table costs much more than it needs to."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a table. A mend that cannot lose anything is *safe*."""

    name: str
    """The stable name of the rule, such as ``many-sorted-runs``."""
    severity: Severity
    measure: float
    """The measured value."""
    threshold: float
    """The value from which on this is a finding, from ``Thresholds`` or from an option of the table."""
    threshold_from: str
    """Where the threshold is set: a field of ``Thresholds``, or an option."""
    text: str
    """One or two sentences: what was measured, where, and what it costs."""
    commands: tuple[str, ...]
    """The commands that mend the problem, one after the other, each as typed on a command line."""
    mend_cost: str
    """What the command costs, such as the bytes that it rewrites."""
    cost_bytes: int = 0
    """Bytes that each full scan reads, or that storage holds, in addition to what is needed; findings sort by this."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options that prevent the problem in future: for ``ALTER TABLE``, or for ``options:`` of a declared table."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What ``Table.mend`` needs, such as the names of tags; JSON values."""
    safe: bool = False
    """Whether ``doctor --fix`` runs the mend without being asked for it by name: nothing that is readable is lost."""

    @property
    def command(self) -> str:
        """All commands as one line of a shell, which ends at the first command that fails."""
        return " && ".join(self.commands)

    @property
    def yaml(self) -> str:
        """The options as they are written in the declaration of a table; "" without options."""
        lines = [f"  {name}: {value}" for name, value in self.options.items()]
        return "\n".join(["options:", *lines]) if lines else ""


@dataclass(frozen=True, repr=False)
class Health(Displayed):
    """The state of one version of a table."""

    table: str
    branch: str
    snapshot: int | None
    """The id of the snapshot; None for a table without snapshots."""
    score: int
    """100 for a table that costs no more than it needs to, 50 for one that costs twice as much (``Facts.score``)."""
    measures: Mapping[str, float]
    """Numbers by name: docs/health.md lists them with their units."""
    findings: tuple[Finding, ...] = ()
    """Worst first: errors, then by ``cost_bytes``."""

    def _summary(self) -> Summary:
        facts = (
            ("branch", None if self.branch == "main" else self.branch),
            ("snapshot", None if self.snapshot is None else str(self.snapshot)),
            ("score", self.score),
            ("findings", ", ".join(found.name for found in self.findings) or None),
        )
        rows = [(found.severity, found.name, found.text, found.command) for found in self.findings]
        details = tuple(self.measures.items())
        return Summary(self.table, facts, details, header=("severity", "finding", "text", "mend"), rows=rows)

    @property
    def is_healthy(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    def text(self) -> str:
        """Return the findings as text for a person, worst first, each with its mend."""
        where = self.table if self.branch == "main" else f"{self.table} (branch {self.branch})"
        read, space = (self.measures.get(f"{name}_amplification", 1.0) for name in ("read", "space"))
        head = (
            f"{where}: score {self.score}, a full scan costs {read:.1f} times and storage {space:.1f} times what is "
            f"needed, {len(self.findings) or 'no'} finding{'s' if len(self.findings) != 1 else ''}"
        )
        lines = [head]
        for found in self.findings:
            lines += [f"{found.severity} {found.name}: {found.text}", f"  mend: {found.command}"]
            lines += [f"  this costs: {found.mend_cost}"]
            if found.options:
                lines += ["  prevent: " + ", ".join(f"{k}: {v}" for k, v in found.options.items())]
        return "\n".join(lines)

    def to_plain(self) -> dict[str, Any]:
        """Return this object as values of JSON types."""
        findings = [
            {
                **asdict(f),
                "commands": list(f.commands),
                "command": f.command,
                "options": dict(f.options),
                "arguments": dict(f.arguments),
            }
            for f in self.findings
        ]
        return {
            "table": self.table,
            "branch": self.branch,
            "snapshot": self.snapshot,
            "score": self.score,
            "measures": dict(self.measures),
            "findings": findings,
        }
