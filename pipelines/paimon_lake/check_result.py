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
    """Further numbers of the result by name; programs can rely on the names."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Pictures of the result, as SVG texts by name."""

    @property
    def passed(self) -> bool:
        """Whether no problem was found."""
        return self.wrong == 0
