"""Comparisons: record the stale partitions of tables before the snapshots of an input that their loads read expire.

Whether a partition is stale is found by comparing the latest snapshot of an input with the snapshot that a load read.
After that snapshot has expired, the changes would be unknown. So before snapshots of an input expire, an empty snapshot
is committed to each table made from the input; it records the partitions that are stale at that time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from paimon_core.catalog.catalog import Catalog
from paimon_core.errors import PaimonError
from paimon_core.metadata.commit_message import position_of
from paimon_core.table.view import TableView
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.agreement.tables import inputs_of
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.declarations.sources.lake_table import LakeTableSource
from paimon_lake.declarations.sources.source import SqlSource
from paimon_lake.loads.inputs.input_loads import InputLoad, LoadedPartitions
from paimon_lake.loads.inputs.stale import stale_partitions
from paimon_lake.loads.ledger.ledger import commit_entries, read_ledger
from paimon_lake.protocol import PipelineError
from paimon_lake.tables import open_lake

_TRIES = 3


def keep_comparisons(settings: Settings, name: str, expiring: Collection[int]) -> dict[str, str]:
    """Record the stale partitions of each table made from ``name`` whose newest load read a snapshot in ``expiring``.

    A table whose load commits at the same time is skipped, because that load has compared its partitions itself. Return
    the tables that could not be compared, with the reason; all their partitions count as stale afterwards. A table with
    ``read: changes`` or ``key_from`` is skipped, because its loads need the changed rows, not partitions.
    """
    failed: dict[str, str] = {}
    for spec in (one for table in settings.tables.values() for one in load_specs(table)):
        reads_changes = isinstance(spec.source, SqlSource) and spec.source.read == "changes"
        if name in inputs_of(spec) and not reads_changes and not isinstance(spec.source, LakeTableSource):
            try:
                _keep(settings, open_lake(settings), spec, name, expiring)
            except (PaimonError, PipelineError) as error:
                failed[spec.load_name] = str(error)
    return failed


def _keep(settings: Settings, catalog: Catalog, spec: TableSpec, name: str, expiring: Collection[int]) -> None:
    for _ in range(_TRIES):
        if not catalog.table_exists(spec.name):
            return
        table = catalog.table(spec.name)
        ledger = read_ledger(table, spec.load_name, accept_gaps=True)
        read = ledger.input_loads[-1].inputs.get(name) if ledger.input_loads else None
        if read is None or read[0] not in expiring:
            return
        inputs = {one: _pinned(catalog.table(one)) for one in inputs_of(spec)}
        stale = stale_partitions(settings, spec, ledger.input_loads, inputs)
        loaded = LoadedPartitions.of(ledger.input_loads)
        positions = {one: position_of(pinned.latest_snapshot()) for one, pinned in inputs.items()}
        compared = InputLoad(positions, tuple(sorted(loaded.owners)), loaded.whole is not None, stale)
        copied = replace(ledger, inputs=positions, input_loads=(compared,))
        if commit_entries(table, copied, spec.load_name) is not None:
            return
    raise PipelineError(f"{spec.name}: loads took the number {_TRIES} times before what is stale could be recorded")


def _pinned(table: TableView) -> TableView:
    latest = table.latest_snapshot()
    if latest is None:
        raise PipelineError(f"{table.name} has no snapshot")
    return table.at(snapshot=latest.id)
