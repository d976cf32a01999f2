"""Alter a table: create the next schema file, only if it does not exist (format 2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from paimon_core.alter.changes import SchemaChange
from paimon_core.alter.definition_rules import check_altered
from paimon_core.alter.evolve import evolve
from paimon_core.alter.readable import check_readable
from paimon_core.commit.retry import tries
from paimon_core.errors import CommitConflict, TableNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.table_identity import check_same_table, table_to_change
from paimon_core.schema import TableSchema


def alter_table(
    context: TableContext, changes: Sequence[SchemaChange] | Callable[[TableSchema], Sequence[SchemaChange]]
) -> TableContext:
    """Apply the changes to the latest schema and return the table with the result.

    The changes are one new schema: all of them apply, or none. When a concurrent writer creates a schema first, the
    changes are applied to that one, so that both alterations take effect, or this one is refused because its changes do
    not fit any more (for example, both add the same column). ``changes`` may be a function of the latest schema, which
    is called at every attempt. Snapshots and files are not touched.

    Raises InvalidRequest and InvalidOption for changes that break a rule, TableNotFound when the table was dropped or
    re-created, CommitConflict when concurrent writers were first at every attempt (nothing was changed in these cases),
    CommitStateUnknown.
    """
    for _ in tries(context.options):
        table_to_change(context)
        latest = context.schemas.latest()
        if latest is None:
            raise TableNotFound(f"table {context.name} is being dropped", table=context.name)
        is_written = context.snapshots.latest_id() is not None
        wanted = changes(latest) if callable(changes) else changes
        new = evolve(latest, wanted, has_snapshots=is_written, table=context.name)
        if new is latest:
            return context.reopened(latest)
        check_altered(context, latest, new)
        check_readable(context, latest, new)
        publisher = context.schemas.publisher
        if publisher is not None:
            if publisher.publish(context.schemas, new, wanted):
                return context.reopened(context.schemas.latest() or new)
        elif context.schemas.publish(new):
            check_same_table(context, otherwise=partial(context.storage.delete, [context.paths.schema(new.id)]))
            return context.reopened(new)
    raise CommitConflict(
        f"table {context.name}: concurrent writers created a schema first at every attempt; nothing was changed",
        table=context.name,
    )
