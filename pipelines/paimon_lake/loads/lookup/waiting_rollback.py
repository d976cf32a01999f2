"""Waiting rollback: roll the table of waiting rows back when its table was rolled back.

A rollback is detected by the numbers of loads: the newest load in the table of waiting rows has a greater number than
the newest load of the table. So it must be looked for before a commit uses the number of a load that was rolled back:
before a load, and before a tag or an expiry copies the ledger.
"""

from __future__ import annotations

from paimon_core.table.table import Table
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.loads.commit import newest_load
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.loads.lookup.waiting_table import publish_waiting
from paimon_lake.protocol import PipelineError
from paimon_lake.tables import open_lake


def restored(settings: Settings, spec: TableSpec, table: Table, *, all_again: bool) -> bool:
    """Roll the table of waiting rows back when its table was rolled back.

    Return True when the rows of the table of waiting rows no longer wait: either the load reads the source again
    (``all_again``), or the rollback was to a time before the first commit of waiting rows. Raises PipelineError when
    the snapshot to return to has expired.
    """
    catalog = open_lake(settings)
    if not catalog.table_exists(spec.waiting_table):
        return False
    waiting = catalog.table(spec.waiting_table)
    loads = loads_of(waiting, spec.load_name)
    kept = newest_load(table, spec.load_name)
    if max((load.number for load in loads), default=0) <= kept:
        return False
    if all_again:
        return True
    if before := [load for load in loads if load.number <= kept]:
        waiting.rollback(snapshot=before[-1].id)
        return False
    if waiting.context.snapshots.earliest_id() == 1:
        return True
    raise PipelineError(
        f"{spec.load_name} was rolled back to load {kept}, and which rows waited then is not known, because snapshots "
        f"of {spec.waiting_table} have expired: load the whole table with reload"
    )


def restore_before_copy(settings: Settings, spec: TableSpec, table: Table) -> None:
    """Before the ledger of a table is copied, commit the waiting rows of its loads, or roll them back if the table was
    rolled back.

    Raises PipelineError when the rows that waited are not known, or when a load must run first.
    """
    for one in load_specs(spec):
        publish_waiting(settings, one, table)
        if restored(settings, one, table, all_again=False):
            raise PipelineError(
                f"{one.load_name} was rolled back to a time at which no row waited, and {one.waiting_table} still has "
                "rows: load the table first"
            )
