"""Sides: the libraries that take part in a run, and why others do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from benchmarks.report.java_process import JavaProcess
from benchmarks.report.library_process import LibraryProcess, PeerUnavailable

OURS, LIMIT = "ours", "arrow"
NAMES = {
    OURS: "paimon_core",
    "java": "Java Paimon",
    "pypaimon": "pypaimon",
    "rust": "pypaimon-rust",
    "duckdb": "DuckDB",
    "delta": "delta-rs",
    "iceberg": "pyiceberg",
    LIMIT: "Arrow alone",
}
"""By side, in the order of the report; the last is the limit."""
READS_OURS = ("pypaimon", "rust")
"""These read and write tables that our side has created."""
KEYLESS = ("delta", "iceberg")
"""Tables of these have no primary key."""


class Process(Protocol):
    """What runs the operations of a library."""

    versions: dict[str, str]

    def ask(self, op: str, *arguments: Any, **more: Any) -> dict[str, Any]:
        """Return the answer to one operation."""

    def close(self) -> None:
        """End the process."""


@dataclass
class Sides:
    """The running libraries by side, and the reasons why others do not run."""

    running: dict[str, Process] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def versions(self) -> dict[str, dict[str, str]]:
        """Return the versions of each library and of its pyarrow."""
        return {side: process.versions for side, process in self.running.items()}


@contextmanager
def started(folder: Path, wanted: Sequence[str], limit_seconds: float, *, install: bool) -> Iterator[Sides]:
    """Start the wanted libraries, and end them at the end."""
    sides = Sides(missing={side: "left out by --sides" for side in NAMES if side not in wanted})
    try:
        for side in (side for side in NAMES if side in wanted):
            try:
                if side == "java":
                    sides.running[side] = JavaProcess(folder)
                else:
                    seconds = 3600.0 if side in (OURS, LIMIT) else limit_seconds
                    sides.running[side] = LibraryProcess(side, folder, seconds, install=install)
            except PeerUnavailable as reason:
                sides.missing[side] = str(reason)
        yield sides
    finally:
        for process in sides.running.values():
            process.close()
