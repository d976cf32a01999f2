"""Cells of the report: the figures of one operation by one library, or the reason why there are none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any


@dataclass
class Cell:
    """Seconds and bytes of each counted round, in the order of the rounds; ``reason`` says why there are none."""

    processor: list[float] = field(default_factory=list)
    clock: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    reason: str = ""

    def add(self, answer: dict[str, Any]) -> None:
        """Add the figures of a round."""
        self.processor.append(answer["processor"])
        self.clock.append(answer["clock"])
        self.peak.append(answer["peak"])

    @property
    def best(self) -> float:
        """The least processor seconds, NaN without figures."""
        return min(self.processor, default=math.nan)

    def numbers(self) -> dict[str, Any]:
        """Return the cell for ``results.json``."""
        if not self.processor:
            return {"reason": self.reason or "not measured"}
        return {
            "processor_seconds": spread(self.processor),
            "clock_seconds": spread(self.clock),
            "peak_bytes": max(self.peak),
            "rounds": self.processor,
            **({"failed_later": self.reason} if self.reason else {}),
        }


def spread(numbers: Sequence[float]) -> dict[str, float]:
    """Return the minimum, the quartiles and the maximum."""
    low, _, high = quantiles(numbers, n=4, method="inclusive") if len(numbers) > 1 else [numbers[0]] * 3
    return {"min": min(numbers), "q1": low, "median": median(numbers), "q3": high, "max": max(numbers)}


def ratios(theirs: Cell, ours: Cell) -> dict[str, float] | None:
    """Return the spread of the ratios of the rounds, theirs by ours, None without figures."""
    pairs = [b / a for a, b in zip(ours.processor, theirs.processor, strict=False) if a > 0]
    return spread(pairs) if pairs else None


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the line through the logarithms of pairs, NaN for fewer than two."""
    if len(points) < 2:
        return math.nan
    xs, ys = ([math.log(max(number, 1e-9)) for number in side] for side in zip(*points, strict=True))
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / sum((x - mean_x) ** 2 for x in xs)
