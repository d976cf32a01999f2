"""Curves: how the cost of paimon_core grows with rows, with files and with sorted runs, with fitted exponents."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.planning import of_table
from benchmarks.report.cells import exponent
from benchmarks.report.libraries import LIMIT, OURS, Sides
from benchmarks.report.rounds import OPTIONS, Rounds
from benchmarks.report.settings import Settings
from benchmarks.timing import log

OF_ROWS = (
    "append", "scan", "one column", "keyed write", "upsert", "scan after upsert", "point query", "key range",
    "compaction", "delete",
)  # fmt: skip
OF_FILES = ("cold", "partition", "key", "warm", "commit")
ENOUGH_SECONDS = 0.02
"""Exponents are fitted to points from this time on: below, the costs that do not grow prevail."""


@dataclass(frozen=True)
class Curve:
    """Processor seconds of one measure, by a size."""

    measure: str
    points: tuple[tuple[int, float], ...]

    @property
    def exponent(self) -> float:
        """The exponent of the points that take long enough; NaN for fewer than two."""
        return exponent([point for point in self.points if point[1] >= ENOUGH_SECONDS])

    def numbers(self) -> dict[str, Any]:
        """Return the curve for ``results.json``."""
        return {"points": [list(point) for point in self.points], "exponent": self.exponent}


Curves = dict[str, list[Curve]]
"""By what the costs depend on."""


def curves(sides: Sides, settings: Settings, folder: Path) -> Curves:
    """Measure all curves."""
    return {
        "rows": _of_rows(sides, settings, folder),
        "files": _of_files(settings, folder),
        "sorted runs": _of_runs(sides, settings),
    }


def _of_rows(sides: Sides, settings: Settings, folder: Path) -> list[Curve]:
    alone = Sides(running={OURS: sides.running[OURS]})
    found: dict[str, list[tuple[int, float]]] = {measure: [] for measure in OF_ROWS}
    for rows in settings.curve_rows:
        log(f"curves: {rows:,} rows")
        few = dataclasses.replace(settings, rows=rows, warm=0, repeats=1 if rows > 10**6 else min(3, settings.repeats))
        cells = Rounds(alone, few, folder, shapes=OF_ROWS, prefix=f"c{rows}").run()
        for measure, row in cells.items():
            found[measure].append((rows, row[OURS].best))
    return [Curve(measure, tuple(points)) for measure, points in found.items()]


def _of_files(settings: Settings, folder: Path) -> list[Curve]:
    found: dict[str, list[tuple[int, float]]] = {measure: [] for measure in OF_FILES}
    for files in settings.curve_files:
        numbers = of_table(folder / "files", "keyed", files, min(2, settings.repeats))
        for measure in OF_FILES:
            found[measure].append((files, numbers[measure]))
    return [Curve(f"plan, {m}" if m != "commit" else m, tuple(points)) for m, points in found.items()]


def _of_runs(sides: Sides, settings: Settings) -> list[Curve]:
    ours, limit = sides.running[OURS], sides.running.get(LIMIT)
    merged: list[tuple[int, float]] = []
    decoded: list[tuple[int, float]] = []
    for runs in settings.curve_runs:
        log(f"curves: {runs} sorted runs")
        name, rows = f"runs{runs}", settings.rows // runs
        ours.ask("make", name, ["id"], OPTIONS)
        for run in range(runs):
            ours.ask("write", name, batch=[run, rows, settings.rows])
        merged.append((runs, min(ours.ask("scan", name, None)["processor"] for _ in range(3))))
        if limit is not None:
            limit.ask("prepare", name)
            decoded.append((runs, min(limit.ask("scan", name, None)["processor"] for _ in range(3))))
    found = [Curve(f"merge on read of {settings.rows:,} rows", tuple(merged))]
    return [*found, Curve("decoding the same files by Arrow", tuple(decoded))] if decoded else found
