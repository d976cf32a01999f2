"""CheckResult: the result of one audit or declared check of one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warn"]


@dataclass(frozen=True)
class CheckResult:
    """The result of one audit or check of one table; ``wrong`` is the number of problems."""

    audit: str
    table: str
    wrong: int
    sentence: str
    severity: Severity = "error"
    details: Mapping[str, int | float] = field(default_factory=dict)
    """Further numbers by their names, which are stable."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """SVG texts by their names."""

    @property
    def passed(self) -> bool:
        """Whether no problem was found."""
        return self.wrong == 0
