"""Results: what the runs of a benchmark measured, as a file that later runs complete."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.spark.case import Case, Measured

NAME = "spark.json"


@dataclass
class Results:
    """The measurements of all cases, by number of shuffle partitions and name of the case."""

    scale: float
    found: dict[str, dict[str, Measured]] = field(default_factory=dict)

    def add(self, partitions: str, measured: dict[str, Measured]) -> None:
        """Add measurements; they replace earlier ones of the same cases."""
        self.found.setdefault(partitions, {}).update(measured)

    def ratio(self, partitions: str, case: Case) -> float | None:
        """Return the seconds of a case divided by the seconds of its peer; None when this is not known.

        The clock of processor seconds has steps of 10 ms, so a small peer may have used none.
        """
        own, peer = self.of(partitions, case.name), self.of(partitions, case.peer)
        if own is None or peer is None or not case.compared(peer):
            return None
        return case.compared(own) / case.compared(peer)

    def share(self, partitions: str, case: Case) -> float | None:
        """Return the seconds of a case divided by the seconds of its mark; None when this is not known.

        A mark of seconds alone is a goal for scale 1, so it is not compared at another scale.
        """
        own, peer, mark = self.of(partitions, case.name), self.of(partitions, case.peer), case.mark
        if own is None or mark is None or (mark.times and peer is None) or (not mark.times and self.scale != 1):
            return None
        allowed = mark.plus + (mark.times * case.compared(peer) if mark.times and peer is not None else 0.0)
        return case.compared(own) / allowed if allowed else None

    def of(self, partitions: str, name: str | None) -> Measured | None:
        """Return the measurement of a case; None when it was not measured."""
        if name is None:
            return None
        return self.found.get(partitions, {}).get(name)

    def save(self, folder: Path) -> None:
        """Write the results to a file of the folder."""
        found = {
            partitions: {name: spent.to_json() for name, spent in cases.items()}
            for partitions, cases in self.found.items()
        }
        (folder / NAME).write_text(json.dumps({"scale": self.scale, "found": found}, indent=1))

    @staticmethod
    def load(folder: Path, scale: float) -> Results:
        """Return the results in a folder; raises ValueError when they are of another scale."""
        if not (folder / NAME).exists():
            return Results(scale)
        stored = json.loads((folder / NAME).read_text())
        if stored["scale"] != scale:
            raise ValueError(
                f"{folder / NAME} has results of scale {stored['scale']:g}, not {scale:g}: use another folder"
            )
        found = {
            partitions: {name: Measured.from_json(spent) for name, spent in cases.items()}
            for partitions, cases in stored["found"].items()
        }
        return Results(scale, found)
