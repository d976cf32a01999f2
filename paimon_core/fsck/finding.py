"""Finding and Report: what a check of a table found, what it looked at, and what it could not look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Something is lost or wrong: a read fails, or returns what it should not."""
    WARNING = "warning"
    """Nothing is lost yet, but it should be looked at."""
    INFO = "info"
    """Worth to know; nothing to do."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be; ``snapshot`` and ``path`` say where, as far as that is known."""

    invariant: str
    level: Level
    message: str
    path: str | None = None
    snapshot: int | None = None
    branch: str | None = None

    def sentence(self) -> str:
        """One line for a person."""
        return f"{self.level} {self.invariant}: {self.message}"


@dataclass(frozen=True)
class Report:
    """The outcome of a check: empty ``findings`` mean that everything in ``checked`` holds."""

    table: str
    findings: tuple[Finding, ...] = ()
    checked: Mapping[str, int] = field(default_factory=dict)
    """How many things each invariant was checked on; 0: there was nothing of the kind."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Why an invariant, or some part of the table for it, was not checked."""
    left_out: int = 0
    """Findings beyond the most that a report holds."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of level error."""
        return tuple(f for f in self.findings if f.level is Level.ERROR)

    @property
    def is_clean(self) -> bool:
        """Whether there is no error and no warning."""
        return all(f.level is Level.INFO for f in self.findings)

    def to_plain(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "table": self.table,
            "clean": self.is_clean,
            "findings": [asdict(f) for f in self.findings],
            "left_out": self.left_out,
            "checked": dict(self.checked),
            "skipped": dict(self.skipped),
        }

    def text(self) -> str:
        """For a person: the findings, then what was checked and what was not."""
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
