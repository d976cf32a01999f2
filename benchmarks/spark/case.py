"""Case: one line of the report, its measurement, and the goal of the line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.processes import Seconds
from benchmarks.spark.lake import Lake


@dataclass(frozen=True)
class Mark:
    """The goal of a case: seconds of at most ``times`` the seconds of its peer, and ``plus`` seconds more."""

    times: float = 0.0
    plus: float = 0.0

    @property
    def text(self) -> str:
        """The goal as it is printed."""
        parts = [f"{self.times:.3g} times"] * (self.times > 0) + [f"{self.plus:g} s"] * (self.plus > 0)
        return " + ".join(parts)


@dataclass(frozen=True)
class Measured:
    """What one run of a case used."""

    seconds: Seconds
    """Processor seconds."""
    wall: float
    """Seconds on the clock."""
    memory: tuple[int, int, int] | None = None
    """The most resident bytes at one time of the JVM, of the largest Python worker, and of the driver."""

    def to_json(self) -> dict[str, Any]:
        """Return the measurement as values of JSON."""
        return asdict(self) | {"seconds": list(self.seconds)}

    @staticmethod
    def from_json(found: dict[str, Any]) -> Measured:
        """Return the measurement that ``to_json`` returned."""
        memory = found["memory"]
        return Measured(Seconds(*found["seconds"]), found["wall"], None if memory is None else tuple(memory))


@dataclass(frozen=True)
class Case:
    """One line of the report.

    ``run`` is measured. If it returns a Measured, as cases in sessions of their own do, this measurement counts.
    """

    name: str
    run: Callable[[Lake], object]
    peer: str | None = None
    """The name of the case with which this case is compared."""
    mark: Mark | None = None
    prepare: Callable[[Lake], object] | None = None
    """What is done before each run and is not measured."""
    wall: bool = False
    """Whether seconds on the clock are compared instead of processor seconds."""
    once: bool = False
    """Whether the case runs once only: without a warm-up, and with the first number of shuffle partitions."""
    memory: bool = False
    """Whether the memory of the processes is observed."""

    def compared(self, measured: Measured) -> float:
        """Return the seconds that are compared with the peer and with the mark."""
        return measured.wall if self.wall else measured.seconds.total
