"""Remedies: the command that lists what exists, for the end of an error that names something unknown."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from paimon_core.catalog.identifier import Identifier
from paimon_core.cli.catalogs.opening import open_catalog_of, place_words, table_of
from paimon_core.errors import (
    AlreadyExists,
    BranchNotFound,
    DatabaseNotFound,
    InvalidRequest,
    PaimonError,
    SnapshotNotFound,
    TableNotFound,
    TagNotFound,
)

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog

CREATES = "--create-database creates it"

_OF_TABLE: dict[type[PaimonError], tuple[str, str]] = {
    BranchNotFound: ("branches list", "branches"),
    TagNotFound: ("tags list", "tags"),
    SnapshotNotFound: ("snapshots", "snapshots"),
}


def remedy(args: argparse.Namespace, error: PaimonError) -> str:
    """Return the end of an error about an unknown database, table, branch, tag, snapshot or column; "" for others.

    It names the command that lists what exists, with the arguments that name the catalog as they were given.
    """
    if not hasattr(args, "warehouse") or CREATES in str(error):
        return ""
    name = _table(args, error)
    if "names a system table" in str(error) and Identifier.is_system(getattr(args, "table", None) or ""):
        return _told(args, ["show", args.table], "its rows")
    if isinstance(error, DatabaseNotFound):
        return _told(args, ["ls"], "the tables of all databases")
    if isinstance(error, TableNotFound):
        with contextlib.suppress(InvalidRequest):
            database = Identifier.of_table(name or "", "list").database
            return _told(args, ["ls", database], f"the tables of {database}")
        return ""
    if name is None:
        return ""
    for kind, (command, what) in _OF_TABLE.items():
        if isinstance(error, kind):
            branch = None if kind is BranchNotFound else getattr(args, "branch", None)
            return _told(args, [*command.split(), name, *_branch(branch)], f"the {what} of {name}")
    if isinstance(error, InvalidRequest) and _is_unknown_column(args, error):
        return _told(args, ["describe", name, *_branch(getattr(args, "branch", None))], f"the columns of {name}")
    return ""


def in_words_of_arguments(args: argparse.Namespace, message: str) -> str:
    """Return a message of the library with the option of the command in place of the argument of a function."""
    return message.replace("columns=[...]", "--columns COLUMN,...") if hasattr(args, "columns") else message


def _told(args: argparse.Namespace, words: list[str], what: str) -> str:
    place = place_words(args)
    return f"; `paimon-core {shlex.join(words)}{f' {place}' if place else ''}` lists {what}"


def _branch(name: str | None) -> list[str]:
    return ["--branch", name] if name else []


def _table(args: argparse.Namespace, error: PaimonError) -> str | None:
    """Return the name of the table that the error or the arguments name, without a branch or a system table."""
    target = getattr(args, "target", None)
    target = target if isinstance(target, str) and "." in target else None
    named = [error.facts.get("table"), getattr(args, "table", None), target]
    if not isinstance(error, TableNotFound):
        named = named[1:]
    found = next((name for name in named if isinstance(name, str)), None)
    return None if found is None else found.partition("$")[0]


def _is_unknown_column(args: argparse.Namespace, error: PaimonError) -> bool:
    """Whether the error is about a column that the table does not have; the table is opened again to know this."""
    column, table = error.facts.get("column"), getattr(args, "table", None)
    if not isinstance(column, str) or not isinstance(table, str) or "$" in table or args.command == "files":
        return False
    try:
        schema = table_of(open_catalog_of(args), args).schema
    except PaimonError:
        return False
    return column.partition(".")[0] not in schema.by_name


@contextlib.contextmanager
def database_of(catalog: Catalog, name: str, *, is_wanted: bool) -> Iterator[None]:
    """Create the database of the table ``name`` for the block if it is missing; after an error it does not exist.

    It stays when another process has created a table in it. Without ``is_wanted`` nothing is created, and the error for
    a missing database names the argument that creates it.
    """
    database = Identifier.of_table(name, "create").database
    is_new = False
    if is_wanted:
        with contextlib.suppress(AlreadyExists):
            catalog.create_database(database)
            is_new = True
        if not is_new and not catalog.database_exists(database):  # another name that differs only by case
            catalog.create_database(database)
    try:
        yield
    except DatabaseNotFound as error:
        if is_wanted or error.facts.get("database") != database:
            raise
        raise DatabaseNotFound(f"{error.message}; {CREATES}", **error.facts) from None
    except BaseException:
        if is_new:
            with contextlib.suppress(PaimonError):  # dropped, or no longer empty; the first error is told
                catalog.drop_database(database)
        raise
