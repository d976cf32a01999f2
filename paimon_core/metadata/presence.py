"""Presence: whether a handle's table is still the one that stands in its place.

A table is known by the schema file that its handle was opened with: the whole content, with the time of its making, and
by the id that its catalog gives it, where it gives one. Schemas that are added later change neither. So a table that
was dropped and made anew under the same name, with the same columns too, is another table.

A look costs one small read. What is read before the look belongs to the handle's table when the look succeeds. What is
written after the look may still meet a table that was made anew in between: names of files are unique, so such a write
can leave files that nobody uses, and a commit looks again just before it publishes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from paimon_core.errors import NotFound, PaimonError, TableNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.schema_store import SchemaStore
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
    """For reads that may find nothing: also an error that says so is first checked to be of the handle's table."""
    try:
        yield
    except NotFound:
        check_same_table(context)
        raise
    check_same_table(context)


def table_to_change(context: TableContext) -> TableContext:
    """``same_table``, and the catalog is asked too where it knows tables by an id: for whatever writes or deletes."""
    check_same_table(context)
    publisher = context.snapshots.publisher
    if publisher is not None and not publisher.is_same_table():
        raise _gone(context)
    return context


def check_not_another(context: TableContext) -> None:
    """For checks of damaged tables: raises TableNotFound only for what is certain to be no damage.

    That is a table without schemas and snapshots on main, and one whose schema was made at another time.
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
