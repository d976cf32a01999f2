"""Part states: when each part of a wide table was loaded, and which parts are behind their inputs.

A part is behind when one of the tables that it is made from changed after the newest load of the part. Whether files or
databases have new rows is found only by a load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from paimon_core.table.table import Table
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.part_spec import PartSpec, load_specs
from paimon_lake.loads.inputs.stale import stale_of
from paimon_lake.loads.inputs.stale_text import stale_text
from paimon_lake.loads.ledger.load_snapshot import loads_in
from paimon_lake.tables import open_lake


@dataclass(frozen=True)
class PartState:
    """One part of a table: its newest load, and the changes since this load."""

    part: str
    loaded_at: datetime | None
    """The time of the newest load, or of the snapshot that copied its record; None: the part was never loaded."""
    stale: Mapping[str, str] = field(default_factory=dict)
    """The partitions of the part that are stale, with the reason of each."""

    @property
    def is_behind(self) -> bool:
        """Whether the part was never loaded, or its inputs changed since."""
        return self.loaded_at is None or bool(self.stale)

    def sentence(self) -> str:
        """Return a text about the part, such as "never loaded"."""
        if self.loaded_at is None:
            return "never loaded"
        loaded = f"loaded {self.loaded_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        return f"behind: {stale_text(self.stale)}; {loaded}" if self.stale else loaded


def part_states(settings: Settings, spec: TableSpec, table: Table) -> list[PartState]:
    """Return the state of each part of a table; [] for a table without parts.

    Raises PipelineError when the properties of a load are damaged.
    """
    parts = [one for one in load_specs(spec) if isinstance(one, PartSpec)]
    if not parts:
        return []
    catalog, snapshots = open_lake(settings), table.inspect.snapshots()
    times = dict(zip(*(snapshots[name].to_pylist() for name in ("snapshot_id", "commit_time_utc")), strict=True))
    found = []
    for one in parts:
        loads = [load for load in loads_in(snapshots, one.load_name) if load.number]
        loaded_at = times[loads[-1].id] if loads else None
        found.append(PartState(one.part, loaded_at, stale_of(settings, one, catalog) if loads else {}))
    return found
