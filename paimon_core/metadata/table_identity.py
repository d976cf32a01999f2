"""Table identity: checks whether the table of a handle is still the table at its path.

A table is identified by the whole content of the schema file with which its handle was opened; the content includes the
time of creation. If the catalog gives tables an id, this id is compared as well. A schema that is added later changes
neither the file nor the id. A table that was dropped and re-created under the same name therefore has another identity,
even if it has the same columns.

A check needs one small read. Data that was read before a successful check belongs to the table of the handle. The check
and the write after it are two steps: the table may be dropped and re-created between them (decision 0015). Therefore:

- Data files and manifests have unique names: the files that a write leaves are orphans, which the removal of orphans
  deletes.
- A commit checks the identity after it has read its base, so that the base belongs to its table, and its snapshot must
  follow this base. If the base does not exist after the snapshot was created, the commit checks the identity again and
  withdraws the snapshot from a new table.
- Changes of tags, branches, consumers and hints check the identity before each of their calls, and after each file that
  they create, which is deleted again (``changing_same_table``). When the table is replaced exactly between such a check
  and its call, a deletion deletes the file of the same name in the new table, and a file that replaces one is deleted.
  No data file is deleted, but files that only this tag or branch referenced become orphans.
- An expiry checks the identity before its first deletion, and after each deleted snapshot the first snapshot that it
  keeps. When the table is replaced between such a check and the deletion, one snapshot file of the new table, or the
  changelog files that expire together, are deleted. Changelogs that it creates are deleted again in a new table.
- The hint LATEST of a commit and the hint EARLIEST of an expiry may remain. Readers do not trust hints.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from paimon_core.errors import (
    CommitStateUnknown,
    CorruptTable,
    NotFound,
    PaimonError,
    SnapshotNotFound,
    StorageError,
    TableNotFound,
)
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.storage.fsspec_storage import forget_directories
from paimon_core.storage.guarded_storage import GuardedStorage
from paimon_core.storage.paths import MAIN

_T = TypeVar("_T")


def is_same_table(context: TableContext) -> bool:
    """Whether the table of this context still exists: it was neither dropped nor re-created."""
    forget_directories(context.storage)
    return context.schemas.holds(context.schema.untracked)


def check_same_table(context: TableContext, otherwise: Callable[[], object] | None = None) -> None:
    """Raise TableNotFound when the table was dropped or re-created; call ``otherwise``, if given, before raising."""
    if not is_same_table(context):
        if otherwise is not None:
            otherwise()
        raise _dropped_error(context)


def same_table(context: TableContext) -> TableContext:
    """Return ``context`` after ``check_same_table``; for reads of the table."""
    check_same_table(context)
    return context


def refreshed(context: TableContext) -> TableContext:
    """Return the context with the table's latest schema; raises TableNotFound if it was dropped or re-created."""
    schema = context.schemas.latest()
    check_same_table(context)
    if schema is None:
        raise TableNotFound(f"table {context.name} is being dropped", table=context.name)
    return context.reopened(schema)


@contextlib.contextmanager
def within_same_table(context: TableContext) -> Iterator[None]:
    """Return a context for reads of the table; if the table was dropped, the context raises TableNotFound.

    If the table was dropped, errors of the block about missing or damaged files are also replaced by TableNotFound.
    """
    try:
        yield
    except (NotFound, CorruptTable):
        check_same_table(context)
        raise
    check_same_table(context)


def unless_dropped(context: TableContext, write: Callable[[], _T]) -> _T:
    """Return ``write()``; raise TableNotFound instead of an error about a file when the table was dropped meanwhile.

    CommitStateUnknown is not replaced.
    """
    try:
        return write()
    except (CorruptTable, SnapshotNotFound, StorageError) as error:
        if _is_gone(context):
            raise _dropped_error(context) from error
        raise


def table_to_change(context: TableContext) -> TableContext:
    """Return ``context`` after ``check_same_table`` and a check of the table id in the catalog.

    Call it before writes and deletions.
    """
    check_same_table(context)
    publisher = context.snapshots.publisher
    if publisher is not None and not publisher.is_same_table():
        raise _dropped_error(context)
    return context


@contextlib.contextmanager
def changing_same_table(context: TableContext, *, guarded: bool = True) -> Iterator[TableContext]:
    """Return a context for changes of the table; they raise TableNotFound when the table is dropped meanwhile.

    The value is the context to use. If ``guarded``, its storage checks the table before each change and after each
    small file, which is deleted again when the table is another one by then; use it for tags, branches and other files
    whose names another table may have too. If the table was dropped, every error of the block is replaced by
    TableNotFound, except CommitStateUnknown, and the end of the block raises it too. A check at the
    end that gets no answer is no error.
    """
    table_to_change(context)
    guard = partial(check_same_table, context)
    inside = context.reopened(context.schema, GuardedStorage(context.storage, guard)) if guarded else context
    try:
        yield inside
    except (CommitStateUnknown, TableNotFound):
        raise
    except (PaimonError, FileNotFoundError) as error:
        if _is_gone(context):
            raise _dropped_error(context) from error
        raise
    with contextlib.suppress(StorageError, CorruptTable):  # no answer: what the block has done has succeeded
        check_same_table(context)


def check_not_another(context: TableContext) -> None:
    """Raise TableNotFound only when the table was certainly dropped or re-created; for checks of damaged tables.

    This is certain when branch main has neither schemas nor snapshots, or when the schema has another time of creation.
    """
    main = context.beside(MAIN)
    if not main.schemas.ids() and not main.snapshots.ids():
        raise _dropped_error(context)
    try:
        stored = SchemaStore(context.storage, context.paths).read(context.schema.id)
    except PaimonError:
        return
    if stored.time_millis != context.schema.time_millis:
        raise _dropped_error(context)


def _is_gone(context: TableContext) -> bool:
    """Whether the table was dropped or re-created, after another error; false without an answer, which says less."""
    try:
        return not is_same_table(context)
    except PaimonError:
        return False


def _dropped_error(context: TableContext) -> TableNotFound:
    return TableNotFound(f"table {context.name} was dropped or re-created: open it again", table=context.name)
