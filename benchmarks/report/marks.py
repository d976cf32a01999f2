"""Marks: what the figures should reach, beside what they reach."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from benchmarks.report.engines import MARKS
from benchmarks.report.libraries import LIMIT, NAMES, OURS
from benchmarks.report.rounds import SHAPES, Cells

PLAN_MARK = 10.0


@dataclass(frozen=True)
class Mark:
    """How many times as fast as another library paimon_core should be, and is, by least processor seconds."""

    what: str
    beside: str
    wanted: float
    reached: float

    @property
    def verdict(self) -> str:
        """Reached or missed."""
        return "reached" if self.reached >= self.wanted else "missed"

    def numbers(self) -> dict[str, Any]:
        """Return the mark for ``results.json``."""
        return {
            "what": self.what, "beside": self.beside, "wanted": self.wanted, "reached": self.reached,
            "verdict": self.verdict,
        }  # fmt: skip


def marks(cells: Cells) -> list[Mark]:
    """Return the marks of tables against Java, and those of shapes against the fastest other library."""
    found = []
    for name, row in cells.items():
        ours = row[OURS]
        if not ours.processor:
            continue
        measure = name.rpartition(": ")[2]
        if name not in SHAPES:
            if "java" in row and row["java"].processor:
                found.append(Mark(name, NAMES["java"], MARKS[measure], row["java"].best / ours.best))
            continue
        if name == "plan warm" and "java" in row and row["java"].processor:
            found.append(Mark(name, NAMES["java"], PLAN_MARK, row["java"].best / ours.best))
        others = {side: cell.best for side, cell in row.items() if side not in (OURS, LIMIT) and cell.processor}
        if others:
            best = min(others, key=lambda side: others[side])
            found.append(Mark(name, NAMES[best], 1.0, others[best] / ours.best))
    return [mark for mark in found if not math.isnan(mark.reached)]
