"""Due rows: whether rows that wait are tried again by the next load of their table, found without reading other rows.

Rows are due when a looked-up table has another snapshot than the newest load has recorded, or when a row has waited
long enough.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from paimon_core.metadata.commit_message import Position, position_of
from paimon_core.table.table import Table
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.sources.lookup import lookups_of, waits
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.loads.lookup.waiting_table import first_since_ms, unpublished_loads
from paimon_lake.tables import open_lake

LOOKUPS = "pipeline.lookups"
"""The name of a property: the snapshots at which a load has read the tables in which it looks up rows."""


def are_due(spec: TableSpec, table: Table, since_ms: int, positions: Mapping[str, Position], now_ms: float) -> bool:
    """Whether rows that wait are tried again. ``since_ms`` is the time since which the oldest of these rows waits;
    ``positions`` are the snapshots of the looked-up tables.
    """
    loads = loads_of(table, spec.load_name)
    known = loads[-1].json(LOOKUPS, spec.load_name) if loads else None
    wait_ms = max(lookup.max_wait_ms for lookup in lookups_of(spec.source))  # equal in all lookups that wait
    return known != {name: list(position) for name, position in positions.items()} or since_ms + wait_ms <= now_ms


def due_now(settings: Settings, spec: TableSpec) -> bool:
    """Whether the next load of a table has to try rows again that wait, or to publish which rows wait.

    Raises PipelineError for a damaged property.
    """
    lake = open_lake(settings)
    if not waits(spec) or not lake.table_exists(spec.name) or not lake.table_exists(spec.waiting_table):
        return False
    table, waiting = lake.table(spec.name), lake.table(spec.waiting_table)
    if unpublished_loads(spec, table, waiting):
        return True
    since_ms = first_since_ms(waiting) if waiting.latest_snapshot() is not None else None
    if since_ms is None:
        return False
    names = {lookup.table for lookup in lookups_of(spec.source)}
    latest = {name: lake.table(name).latest_snapshot() if lake.table_exists(name) else None for name in names}
    positions = {name: position_of(snapshot) for name, snapshot in latest.items()}
    return are_due(spec, table, since_ms, positions, time.time() * 1000)
