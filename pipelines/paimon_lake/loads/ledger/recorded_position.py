"""Recorded position: the position in a source of changes up to which a table is loaded, as JSON from its ledger."""

from __future__ import annotations

from paimon_lake.declarations import Settings
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.loads.ledger.load_properties import table_of
from paimon_lake.tables import open_lake


def recorded_position(settings: Settings, name: str) -> object:
    """Return the position of the table, or of the part of a table, with the load name ``name``; None before its first
    load.

    Raises PipelineError for a damaged ledger.
    """
    lake, table = open_lake(settings), table_of(name)
    return read_ledger(lake.table(table), name).position if lake.table_exists(table) else None
