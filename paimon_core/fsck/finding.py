"""Finding and Report: the findings of a check of a table, the objects that were checked, and the objects that could not
be checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from paimon_core.display import Displayed, Summary


class Level(StrEnum):
    """The severity of a finding."""

    ERROR = "error"
    """Data is lost or wrong: a read fails, or returns wrong rows."""
    WARNING = "warning"
    """Nothing is lost yet, but the cause should be examined."""
    INFO = "info"
    """For information; nothing needs to be done."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of an invariant; ``path``, ``snapshot`` and ``branch`` state the place if it is known."""

    invariant: str
    level: Level
    message: str
    path: str | None = None
    snapshot: int | None = None
    branch: str | None = None

    def sentence(self) -> str:
        """Return the finding as one line of text."""
        return f"{self.level} {self.invariant}: {self.message}"


@dataclass(frozen=True, repr=False)
class Report(Displayed):
    """The result of a check; without ``findings``, all invariants in ``checked`` hold."""

    table: str
    findings: tuple[Finding, ...] = ()
    checked: Mapping[str, int] = field(default_factory=dict)
    """How many objects each invariant was checked on; 0: the table has no such object."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """The reason for each invariant that was not checked, or was checked on a part of the table only."""
    left_out: int = 0
    """Number of findings beyond the maximum of a report."""

    def _summary(self) -> Summary:
        rows = [(found.level.value, found.invariant, found.message) for found in self.findings]
        facts = (
            ("checked", len(self.checked)),
            ("skipped", len(self.skipped)),
            ("errors", len(self.errors)),
            ("findings", len(self.findings) + self.left_out),
        )
        return Summary(self.table, facts, header=("level", "invariant", "finding"), rows=rows)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of level error."""
        return tuple(f for f in self.findings if f.level is Level.ERROR)

    @property
    def is_clean(self) -> bool:
        """Whether there is no error and no warning."""
        return all(f.level is Level.INFO for f in self.findings)

    def to_plain(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "table": self.table,
            "clean": self.is_clean,
            "findings": [asdict(f) for f in self.findings],
            "left_out": self.left_out,
            "checked": dict(self.checked),
            "skipped": dict(self.skipped),
        }

    def text(self) -> str:
        """Return the report as text: the findings, then the numbers of checked objects, then the objects that were not
        checked.
        """
        lines = [f.sentence() for f in self.findings]
        if self.left_out:
            lines.append(f"... and {self.left_out} findings more")
        checked = ", ".join(f"{name} ({count:,})" for name, count in self.checked.items()) or "nothing"
        lines.append(f"{self.table}: {'clean' if self.is_clean else 'NOT clean'}; checked {checked}")
        reasons: dict[str, list[str]] = {}
        for name, reason in self.skipped.items():
            reasons.setdefault(reason, []).append(name)
        lines += [f"not checked: {', '.join(names)}: {reason}" for reason, names in reasons.items()]
        return "\n".join(lines)
