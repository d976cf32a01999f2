"""Alter a table: create the next schema file, only if it does not exist (format 2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from paimon_core.alter.changes import RemoveOption, SchemaChange, SetOption
from paimon_core.alter.definition_rules import check_altered
from paimon_core.alter.evolve import evolve
from paimon_core.alter.readable import check_readable
from paimon_core.alter.vector_switch import confirm_switch, vector_switch
from paimon_core.commit.retry import tries
from paimon_core.commit.vector_switch import OPTION, VectorSwitch
from paimon_core.errors import CommitConflict, CommitStateUnknown, PaimonError, StorageError, TableNotFound
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
    is called at every attempt. Files are not touched, and snapshots only by a change of ``deletion-vectors.enabled``:
    it adds a snapshot without changes. When another writer compacts a bucket before that snapshot, so that the switch
    is not safe any more, the schema before is restored as a new schema and CommitConflict is raised.

    Raises InvalidRequest and InvalidOption for changes that break a rule, TableNotFound when the table was dropped or
    re-created, CommitConflict when concurrent writers were first at every attempt (nothing was changed in these cases),
    CommitStateUnknown, also when the second step of a switch of deletion vectors failed.
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
        switch = vector_switch(context, latest, new)
        publisher = context.schemas.publisher
        if publisher is not None:
            if publisher.publish(context.schemas, new, wanted):
                return _settled(context.reopened(context.schemas.latest() or new), latest, switch)
        elif context.schemas.publish(new):
            check_same_table(context, otherwise=partial(context.storage.delete, [context.paths.schema(new.id)]))
            return _settled(context.reopened(new), latest, switch)
    raise CommitConflict(
        f"table {context.name}: concurrent writers created a schema first at every attempt; nothing was changed",
        table=context.name,
    )


def _settled(context: TableContext, before: TableSchema, switch: VectorSwitch | None) -> TableContext:
    """Return the altered table; complete a switch of deletion vectors, or take it back and raise CommitConflict."""
    if switch is None:
        return context
    try:
        confirm_switch(context, switch)
    except CommitConflict as error:
        if not _take_back(context, before):
            raise _unconfirmed(context, error) from error
        raise
    except (StorageError, CommitStateUnknown) as error:
        raise _unconfirmed(context, error) from error
    return context


def _unconfirmed(context: TableContext, error: PaimonError) -> CommitStateUnknown:
    return CommitStateUnknown(
        f"table {context.name}: option {OPTION} has its new value, but whether the files allow it was not confirmed: "
        f"check the table with fsck --deep, or change the option back ({error})",
        table=context.name,
        option=OPTION,
    )


def _take_back(context: TableContext, before: TableSchema) -> bool:
    """Give the option of deletion vectors its former value in a new schema; False when others were always first."""
    value = before.options.get(OPTION)
    undo = RemoveOption(OPTION) if value is None else SetOption(OPTION, value)
    for _ in tries(context.options):
        latest = context.schemas.latest()
        if latest is None:
            return True
        new = evolve(latest, [undo], has_snapshots=False, table=context.name)
        publisher = context.schemas.publisher
        publish = (
            context.schemas.publish
            if publisher is None
            else partial(publisher.publish, context.schemas, changes=[undo])
        )
        if new is latest or publish(new):
            return True
    return False
