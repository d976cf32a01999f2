"""Alter a table: create the next schema file, exclusively (format 2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from paimon_core.alter.changes import RemoveOption, SchemaChange, SetOption, UpdateType
from paimon_core.alter.definition_rules import check_altered
from paimon_core.alter.evolve import evolve
from paimon_core.alter.readable import check_readable
from paimon_core.alter.survival import Survival
from paimon_core.alter.vector_switch import confirm_switch, vector_switch
from paimon_core.commit.retry import tries
from paimon_core.commit.vector_switch import OPTION, VectorSwitch
from paimon_core.errors import (
    CommitConflict,
    CommitStateUnknown,
    InvalidRequest,
    PaimonError,
    StorageError,
    TableNotFound,
)
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table, refreshed, table_to_change, unless_dropped
from paimon_core.schema import TableSchema, new_time_millis


def alter_table(
    context: TableContext,
    changes: Sequence[SchemaChange] | Callable[[TableSchema], Sequence[SchemaChange]],
    committed: list[Snapshot] | None = None,
) -> TableContext:
    """Apply the changes to the latest schema and return the table with the result.

    All changes are applied in one new schema, or none of them. When a concurrent writer creates a schema first, the
    changes are applied to that schema. Then both alterations take effect, or this alteration is refused because its
    changes do not fit any more (for example, both add the same column). ``changes`` may be a function of the latest
    schema, which is called at every attempt. No files are changed. Only a change of ``deletion-vectors.enabled`` adds a
    snapshot, which changes no rows and is also added to ``committed``. When another writer compacts a bucket before
    that snapshot, the change is no longer safe: the former schema is restored as a new schema, and CommitConflict is
    raised.

    A change of a type is refused when a stored value would be lost (see ``survival``), unless the change is ``lossy``.
    Rows that were committed during the check are checked after the new schema is published; when a row would lose a
    value, the columns get their former types in another schema, and CommitConflict is raised. Rows that a writer with
    the former schema commits after this second check are not checked.

    Raises InvalidRequest and InvalidOption for changes that break a rule, TableNotFound when the table was dropped or
    re-created, CommitConflict when concurrent writers were first at every attempt; in these cases nothing was changed.
    Raises CommitStateUnknown when the result is not known, and when the snapshot for a change of deletion vectors
    failed.
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
        survival = Survival.of(context, latest, wanted)
        survival = None if survival is None else survival.check()
        switch = vector_switch(context, latest, new)
        publisher = context.schemas.publisher
        if publisher is not None:
            if publisher.publish(context.schemas, new, wanted):
                reopened = unless_dropped(context, partial(refreshed, context))
                return _settled(reopened, latest, switch, survival, committed)
        elif context.schemas.publish(new):
            check_same_table(context, otherwise=partial(context.storage.delete, [context.paths.schema(new.id)]))
            return _settled(context.reopened(new), latest, switch, survival, committed)
    raise CommitConflict(
        f"table {context.name}: concurrent writers created a schema first at every attempt; nothing was changed",
        table=context.name,
    )


def _settled(
    context: TableContext,
    before: TableSchema,
    switch: VectorSwitch | None,
    survival: Survival | None,
    committed: list[Snapshot] | None,
) -> TableContext:
    """Run the steps after a new schema is published, and return the altered table.

    When a step fails because of a concurrent commit, restore the former schema and raise CommitConflict.
    """
    if survival is not None:
        _check_later(context, survival)
    if switch is None:
        return context
    try:
        snapshots = confirm_switch(context, switch)
        if committed is not None:
            committed += snapshots
    except CommitConflict as error:
        if not _take_back(context, partial(_with_former_switch, before)):
            raise _unconfirmed(context, error) from error
        raise
    except (StorageError, CommitStateUnknown) as error:
        raise _unconfirmed(context, error) from error
    return context


def _check_later(context: TableContext, survival: Survival) -> None:
    """Check rows that were committed during the first check; restore the former types if a value would be lost."""
    names = ", ".join(repr(before.name) for before, _ in survival.changed)
    try:
        survival.check_later(context.schema.id)
    except InvalidRequest as error:
        if not _take_back(context, partial(_with_former_types, survival)):
            raise _unchecked(context, names, error) from error
        raise CommitConflict(
            f"rows were committed during the check, and column {names} has its former type again; other changes of the "
            f"call stay: {error}",
            **error.facts,
        ) from error
    except PaimonError as error:
        raise _unchecked(context, names, error) from error


def _unchecked(context: TableContext, names: str, error: PaimonError) -> CommitStateUnknown:
    return CommitStateUnknown(
        f"table {context.name}: column {names} has its new type, but rows that were committed during the check may "
        f"lose values: change the type back, or keep the loss ({error})",
        table=context.name,
    )


def _unconfirmed(context: TableContext, error: PaimonError) -> CommitStateUnknown:
    return CommitStateUnknown(
        f"table {context.name}: option {OPTION} has its new value, but whether the files allow it was not confirmed: "
        f"check the table with fsck --deep, or change the option back ({error})",
        table=context.name,
        option=OPTION,
    )


def _take_back(context: TableContext, undo: Callable[[TableSchema], tuple[TableSchema, list[SchemaChange]]]) -> bool:
    """Publish the schema that ``undo`` makes of the latest one; return False if other writers were always first."""
    for _ in tries(context.options):
        latest = context.schemas.latest()
        if latest is None:
            return True
        new, changes = undo(latest)
        publisher = context.schemas.publisher
        publish = (
            context.schemas.publish
            if publisher is None
            else partial(publisher.publish, context.schemas, changes=changes)
        )
        if new is latest or publish(new):
            return True
    return False


def _with_former_switch(before: TableSchema, latest: TableSchema) -> tuple[TableSchema, list[SchemaChange]]:
    """Return ``latest`` with the former value of the option of deletion vectors, and the changes that restore this
    value.
    """
    value = before.options.get(OPTION)
    undo: list[SchemaChange] = [RemoveOption(OPTION) if value is None else SetOption(OPTION, value)]
    return evolve(latest, undo, has_snapshots=False), undo


def _with_former_types(survival: Survival, latest: TableSchema) -> tuple[TableSchema, list[SchemaChange]]:
    """Return ``latest`` with the former types of the changed columns, and the changes, without a check of the casts."""
    former = {before.id: before.type for before, _ in survival.changed}
    fields = tuple(replace(f, type=former.get(f.id, f.type)) for f in latest.fields)
    undo: list[SchemaChange] = [UpdateType(f.name, former[f.id]) for f in latest.fields if f.id in former]
    if fields == latest.fields:
        return latest, []
    return replace(latest, id=latest.id + 1, fields=fields, time_millis=new_time_millis()), undo
