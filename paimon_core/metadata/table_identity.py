"""Presence: whether the table of a handle is still the table at its path.

A table is identified by the schema file that its handle was opened with: by the whole content, which includes the time
of creation. Where the catalog gives tables an id, that id counts too. Schemas that are added later change neither. So a
table that was dropped and created again under the same name is another table, even with the same columns.

A check costs one small read. What was read before a successful check belongs to the table of the handle. The check and
the write after it are two steps: the table may still be dropped and made anew between them (decision 0015). What such a
write can hit:

- Data files and manifests have unique names: some that nobody uses are left, for the removal of orphans.
- A commit checks once its data files are written, and its snapshot must follow its base. Only a first commit has no
  base: it may become the first snapshot of the new table, and its files may have gone with the old table.
- A tag is taken back, as its snapshot is not the new table's; so is a branch that is made from a tag. A branch made
  from no tag stays, without rows.
- A consumer's position stays, or replaces that of its name: the new table keeps its snapshots from there on.
- The deletion of a tag, branch or consumer removes the one of that name in the new table. No data file goes with it,
  but what only that tag or branch held becomes orphans.
- An expiry or a rollback compares its first kept snapshot, or its target, and then works by id: it may delete snapshot
  files of the new table that have these ids, or put back one of the old table, whose files are gone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from paimon_core.errors import CorruptTable, NotFound, PaimonError, TableNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.storage.fsspec_storage import forget_directories
from paimon_core.storage.paths import MAIN


def check_same_table(context: TableContext, otherwise: Callable[[], object] | None = None) -> None:
    """Raises TableNotFound for a table that was dropped or made anew, after calling ``otherwise``."""
    forget_directories(context.storage)
    if not context.schemas.holds(context.schema):
        if otherwise is not None:
            otherwise()
        raise _gone(context)


def same_table(context: TableContext) -> TableContext:
    """``context``, once ``check_same_table`` has passed: for reads."""
    check_same_table(context)
    return context


@contextlib.contextmanager
def within_same_table(context: TableContext) -> Iterator[None]:
    """Around reads that may find nothing, or files missing: TableNotFound instead when the table was dropped."""
    try:
        yield
    except (NotFound, CorruptTable):
        check_same_table(context)
        raise
    check_same_table(context)


def table_to_change(context: TableContext) -> TableContext:
    """As ``same_table``, for operations that write or delete: a catalog that gives tables an id is asked as well."""
    check_same_table(context)
    publisher = context.snapshots.publisher
    if publisher is not None and not publisher.is_same_table():
        raise _gone(context)
    return context


def check_not_another(context: TableContext) -> None:
    """For checks of damaged tables: raises TableNotFound only when it is certain that the table was replaced.

    That is the case without schemas and snapshots on main, and when the schema has another time of creation.
    """
    main = context.beside(MAIN)
    if not main.schemas.ids() and not main.snapshots.ids():
        raise _gone(context)
    try:
        stored = SchemaStore(context.storage, context.paths).read(context.schema.id)
    except PaimonError:
        return
    if stored.time_millis != context.schema.time_millis:
        raise _gone(context)


def _gone(context: TableContext) -> TableNotFound:
    return TableNotFound(f"table {context.name} was dropped or made anew: open it again", table=context.name)
