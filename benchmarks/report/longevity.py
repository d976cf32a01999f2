"""Longevity: many rounds of a write, a query of a key and a plan on one table that compacts and expires by itself.

A table that is maintained must cost as much after a thousand rounds as after a hundred.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report.libraries import OURS, Sides
from benchmarks.report.settings import Settings
from benchmarks.timing import log

ROWS, KEYS = 1_000, 100_000
OPTIONS = {
    "bucket": "1",
    "snapshot.num-retained.min": "5",
    "snapshot.num-retained.max": "10",
    "snapshot.time-retained": "1 s",
}
MEASURES = ("write", "point query", "plan")


def longevity(sides: Sides, settings: Settings, folder: Path) -> dict[str, Any]:
    """Return for each measure the medians of the tenths of all rounds, and what is on disk after each tenth."""
    ours, count = sides.running[OURS], settings.longevity
    ours.ask("make", "long", ["id"], OPTIONS)
    seconds: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    memory: list[int] = []
    files: list[int] = []
    for number in range(count):
        answers = [
            ours.ask("write", "long", batch=[number, ROWS, KEYS]),
            ours.ask("find", "long", KEYS // 2, KEYS // 2),
            ours.ask("plan", f"{folder}/ours", "long", False),
        ]
        for measure, answer in zip(MEASURES, answers, strict=True):
            if "processor" not in answer:
                raise RuntimeError(f"round {number + 1} of {count} failed: {answer}")
            seconds[measure].append(answer["processor"])
        memory.append(max(answer["peak"] for answer in answers))
        if (number + 1) % max(1, count // 10) == 0:
            log(f"longevity: {number + 1:,} of {count:,} rounds")
            files.append(sum(1 for path in (folder / "ours" / "db.db" / "long").rglob("*") if path.is_file()))
    return {
        "rounds": count,
        "seconds": {measure: _tenths(numbers) for measure, numbers in seconds.items()},
        "peak_bytes": [max(part) for part in _parts(memory)],
        "files": files,
    }


def _parts(numbers: list[Any]) -> list[list[Any]]:
    step = max(1, len(numbers) // 10)
    return [numbers[at : at + step] for at in range(0, len(numbers), step)][:10]


def _tenths(numbers: list[float]) -> list[float]:
    return [median(part) for part in _parts(numbers)]
