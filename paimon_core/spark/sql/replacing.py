"""Replacing: puts a new table in the place of an old one, for CREATE OR REPLACE TABLE."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import reduce

from paimon_core.catalog.catalog import Catalog
from paimon_core.errors import CommitConflict, PaimonError, TableNotFound, UnsupportedFeature
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.table import Table


def replace_table(
    catalog: Catalog, old: Table, create: Callable[[str], Table], write: Callable[[Table], Snapshot | None]
) -> Snapshot | None:
    """Replace the table ``old`` by a new table that ``create`` and ``write`` make; return the snapshot of its rows.

    ``create`` makes the empty table of a name, ``write`` writes its rows. The new table is written as
    ``replacing_<id>``. Then the old table is renamed to ``replaced_<id>``, the new table gets the old name, and the old
    table is dropped. Raises UnsupportedFeature before rows are written when the catalog cannot rename tables, and
    CommitConflict when another call committed to the old table, altered or dropped it since it was opened. After an
    error the old table has its name again, and the new table is dropped; but when only the drop of the old table fails,
    the new table is in place, and ``replaced_<id>`` is left. Between the two renames there is no table with the old
    name: when the process ends between them, ``rename_table`` of ``replaced_<id>`` restores the old table.
    """
    full, mark = old.name, uuid.uuid4().hex
    database = full.partition(".")[0]
    created, temporary, away = (f"{database}.{state}_{mark}" for state in ("creating", "replacing", "replaced"))
    seen = _state(old)
    try:
        with _named(full, created, temporary):
            create(created)
            _try_rename(catalog, created, temporary, full)
            snapshot = write(catalog.table(temporary))
        try:
            catalog.rename_table(full, away)
        except TableNotFound as error:
            raise _conflict(full) from error
        try:
            if _state(catalog.table(away)) != seen:
                raise _conflict(full)
            catalog.rename_table(temporary, full)
        except BaseException:
            _restore(catalog, away, full)
            raise
    except BaseException:
        for name in (created, temporary):
            with suppress(PaimonError):
                catalog.drop_table(name, ignore_if_missing=True)
        raise
    catalog.drop_table(away)
    return snapshot


@contextmanager
def _named(full: str, *internal: str) -> Iterator[None]:
    """Raise the errors of the block with the name of the table in place of its ``internal`` names."""
    try:
        yield
    except PaimonError as error:
        message = reduce(lambda text, name: text.replace(name, full), internal, error.message)
        facts = {key: full if value in internal else value for key, value in error.facts.items()}
        if (message, facts) == (error.message, error.facts):
            raise
        raise type(error)(message, **facts) from error


def _state(table: Table) -> tuple[Snapshot | None, int]:
    return table.latest_snapshot(), table.schema.id


def _try_rename(catalog: Catalog, created: str, temporary: str, full: str) -> None:
    """Rename the empty table, which shows whether the catalog can rename tables before rows are written."""
    try:
        catalog.rename_table(created, temporary)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(
            f"table {full} cannot be replaced, because this catalog cannot rename tables: drop it first and use "
            "CREATE TABLE, or use INSERT OVERWRITE",
            **{**error.facts, "table": full},
        ) from error


def _conflict(full: str) -> CommitConflict:
    return CommitConflict(
        f"table {full} was changed while its replacement was written: run the statement again", table=full
    )


def _restore(catalog: Catalog, away: str, full: str) -> None:
    """Give the old table its name again; raises the error of the rename, which names where the old table is."""
    try:
        catalog.rename_table(away, full)
    except PaimonError as error:
        raise type(error)(
            f"table {full} is now {away}, and could not be renamed back: {error.message}", **error.facts
        ) from error
