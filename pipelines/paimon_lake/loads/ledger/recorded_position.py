"""Recorded position: up to where a table is loaded from a source of changes, as its ledger has it in JSON."""

from __future__ import annotations

from paimon_lake.declarations import Settings
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.tables import open_lake


def recorded_position(settings: Settings, name: str) -> object:
    """Return the position of a table; None before its first load. Raises PipelineError for a damaged ledger."""
    lake = open_lake(settings)
    return read_ledger(lake.table(name)).position if lake.table_exists(name) else None
