"""The system tables of one table by name."""

from __future__ import annotations

from functools import partial

from paimon_core.errors import NotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Predicate
from paimon_core.schema import DataField
from paimon_core.table.system.metadata_tables import METADATA_TABLES
from paimon_core.table.system.row_tables import ROW_TABLES, row_table
from paimon_core.table.system.source import Source
from paimon_core.table.system.system_table import MetadataRows, SystemTable

SYSTEM_TABLES = (*METADATA_TABLES, *ROW_TABLES)
"""The names of the system tables of a table; ``row_tracking`` exists only in tables with row tracking."""


def check_name(kind: str, table: str) -> str:
    """Return ``kind`` in lower case; raises NotFound, which lists the system tables, for another name."""
    found = kind.lower() if isinstance(kind, str) else ""
    if found not in SYSTEM_TABLES:
        names = ", ".join(sorted(SYSTEM_TABLES))
        raise NotFound(f"table {table} has no system table {kind!r:.80}; its system tables are {names}", name=kind)
    return found


def is_of_snapshot(kind: str) -> bool:
    """Whether the rows of the system table describe one snapshot."""
    return kind in ROW_TABLES or METADATA_TABLES[kind].of_snapshot


def system_table(context: TableContext, pinned: Snapshot | None, kind: str) -> SystemTable:
    """Return the system table ``kind`` of a table at ``pinned``, or at the latest snapshot."""
    name = f"{context.name}${kind}"
    if kind in ROW_TABLES:
        return row_table(context, pinned, kind, name)
    table = METADATA_TABLES[kind]
    fields = table.fields(context)

    def rows(wanted: tuple[DataField, ...], where: Predicate | None) -> MetadataRows:
        bound = None if where is None else where.bind(fields)
        return MetadataRows(partial(table.tables, Source(context, pinned, bound), wanted))

    return SystemTable(name, fields, rows)
