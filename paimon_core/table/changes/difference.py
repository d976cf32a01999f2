"""Difference: the rows that differ between two versions, computed from their data files, without changelogs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.changed_places import ChangedPlace, Place, changed_places
from paimon_core.plan.prune import PartitionPruner
from paimon_core.predicate import Predicate
from paimon_core.read.changelog_reader import changes_schema
from paimon_core.schema import ROW_KINDS, VALUE_KIND
from paimon_core.table.changes.keyed_difference import keyed_difference
from paimon_core.table.changes.row_difference import row_difference
from paimon_core.table.changes.versions import reading_versions


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Changed rows of one place (partition and bucket): all columns of the table and ``_VALUE_KIND``."""

    place: Place
    rows: pa.Table


def difference(
    context: TableContext, before: Snapshot | None, after: Snapshot | None, where: Predicate | None = None
) -> Iterator[PlacedRows]:
    """Yield the rows that differ between two snapshots, by partition and bucket; a snapshot None has no rows.

    ``where`` is used only to leave out partitions, not to filter rows. Both versions are read with the columns and
    options of ``context``. Raises SnapshotNotFound when a snapshot expires before its files are read, CorruptTable for
    a damaged or missing file.
    """
    pruner = (
        None
        if where is None
        else PartitionPruner.of(where.bind(context.schema.fields), context.schema.partition_fields)
    )
    keeps = (lambda partition: True) if pruner is None else pruner.keeps
    with reading_versions(context, before, after):
        for changed in list(changed_places(context, before, after, keeps)):
            for rows in difference_of_place(context, changed):
                yield PlacedRows(changed.place, rows)


def difference_of_place(context: TableContext, changed: ChangedPlace) -> Iterator[pa.Table]:
    """Yield the rows that differ in one place: all columns of the table and ``_VALUE_KIND``.

    Raises CorruptTable for a damaged or missing file.
    """
    return (keyed_difference if context.is_keyed else row_difference)(context, changed)


def as_changes(
    context: TableContext, rows: pa.Table, columns: Sequence[str], where: Predicate | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a difference that match ``where``, in the schema that ``changes_schema`` returns."""
    kept = rows if where is None else rows.filter(where.bind(context.schema.fields).to_arrow())
    kinds = pa.array(ROW_KINDS).take(kept[VALUE_KIND].combine_chunks())
    chosen = kept.select(list(columns))
    schema = changes_schema(context.schema, columns)
    yield from pa.Table.from_arrays([kinds, *chosen.columns], schema=schema).to_batches()
