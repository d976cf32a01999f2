"""Step: one attempt to load a table, and what a source plans for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from paimon_core.table.table import Table
from pipelines.lake import Settings, TableSpec
from pipelines.load.ledger import Ledger
from pipelines.load.replacement import Replace
from pipelines.load.write_tasks import Written
from pipelines.session import Spark


@dataclass(frozen=True)
class LoadStep:
    """One attempt to load a table, or some of its partitions."""

    spark: Spark
    settings: Settings
    spec: TableSpec
    table: Table
    rejects: Table
    ledger: Ledger
    number: int
    """The number under which the load commits."""
    partitions: tuple[str, ...] | None = None
    """The keys of the partitions to load, sorted; None for a table without partitions."""
    run_key: str = ""
    """Identifies the run, however often it is repeated; empty for a run by hand, which is a new one each time."""
    reload: bool = False
    """Whether to load again what was loaded before."""

    @property
    def replaces(self) -> bool:
        """Whether the rows of the load replace others: by the mode, or because a table of appends is reloaded."""
        mode = self.spec.write_mode
        return mode in ("overwrite", "overwrite-partitions") or (self.reload and mode == "append")


@dataclass(frozen=True)
class PlannedLoad:
    """What one load will do; nothing is read before ``write`` is called."""

    write: Callable[[], Written]
    entries: Mapping[str, str] = field(default_factory=dict)
    """The properties of the snapshot that the ledger reads."""
    details: Mapping[str, str | int | float] = field(default_factory=dict)
    replace: Replace | None = None
    inputs: Mapping[str, Table] = field(default_factory=dict)
    """The inputs at the snapshots that are read, by name; checks that block the load see them so too."""
    left_out: Sequence[str] = ()
    """What the load does not read of what is there, and why, one sentence each."""


class TableSource(Protocol):
    """A source of rows."""

    def plan(self, step: LoadStep) -> PlannedLoad | Sequence[str]:
        """Return the load, or sentences that say why there is nothing to load."""
