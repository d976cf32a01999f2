"""Difference: the rows that changed between two versions, found from their files alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Predicate
from paimon_core.scan.prune import PartitionPruner
from paimon_core.table.changes.keyed_difference import keyed_difference
from paimon_core.table.changes.row_difference import row_difference
from paimon_core.table.changes.version_files import Place, changed_groups
from paimon_core.table.changes.versions import reading_versions


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Changed rows of one place: all columns of the table and ``_VALUE_KIND``."""

    place: Place
    rows: pa.Table


def difference(
    context: TableContext, before: Snapshot | None, after: Snapshot | None, where: Predicate | None = None
) -> Iterator[PlacedRows]:
    """Yield the rows that differ between two snapshots, in order of partition and bucket; None: no rows.

    ``where`` only leaves out partitions. Both versions are read with the columns and options of ``context``. Raises
    SnapshotNotFound when one of them expires before its files are read, CorruptTable.
    """
    pruner = (
        None
        if where is None
        else PartitionPruner.of(where.bind(context.schema.fields), context.schema.partition_fields)
    )
    compare = keyed_difference if context.is_keyed else row_difference
    with reading_versions(context, before, after):
        groups = list(changed_groups(context, before, after, (lambda p: True) if pruner is None else pruner.keeps))
        for group in groups:
            for rows in compare(context, group):
                yield PlacedRows(group.place, rows)
