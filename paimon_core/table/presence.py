"""Presence: a handle outlives its table; what it does must neither pass in silence nor hit another of the same name."""

from __future__ import annotations

from paimon_core.errors import InvalidRequest, TableNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.schema_store import SchemaStore
from paimon_core.storage.paths import MAIN


def check_same_table(context: TableContext) -> None:
    """Raises TableNotFound for a table that was dropped, InvalidRequest for one that was then made anew."""
    stored = SchemaStore(context.storage, context.paths)
    latest = stored.latest()
    if latest is None:
        raise _dropped(context)
    # The usual handle is at the latest schema: then nothing more is listed or read.
    if latest != context.schema and (
        context.schema.id not in stored.ids() or stored.read(context.schema.id) != context.schema
    ):
        raise InvalidRequest(f"table {context.name} was dropped and made anew: open it again", table=context.name)


def check_not_dropped(context: TableContext) -> None:
    """Raises TableNotFound where main has neither schemas nor snapshots; with one of them it is a damaged table."""
    main = context.beside(MAIN)
    if not main.schemas.ids() and not main.snapshots.ids():
        raise _dropped(context)


def _dropped(context: TableContext) -> TableNotFound:
    return TableNotFound(f"table {context.name} was dropped", table=context.name)
