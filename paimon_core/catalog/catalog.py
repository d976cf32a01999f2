"""Catalog: databases and tables by name, whoever keeps the names: directories, a SQL database or a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from paimon_core.group.group import Group
from paimon_core.table.table import Table


class Catalog(Protocol):
    """What ``open_catalog`` gives. A table is named ``database.table``; ``table`` and ``table_exists`` take
    ``database.table$branch_x`` too. Every method raises StorageError when the keeper of the names fails.
    """

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Make a database; raises AlreadyExists unless told to ignore it, InvalidRequest for a name (see ``names``)."""

    def database_exists(self, name: str) -> bool:
        """Whether the database is there."""

    def list_databases(self) -> list[str]:
        """The names of all databases, sorted."""

    def drop_database(self, name: str, *, cascade: bool = False, ignore_if_missing: bool = False) -> None:
        """Remove a database; raises InvalidRequest when it holds tables, unless ``cascade``; DatabaseNotFound."""

    def list_tables(self, database: str) -> list[str]:
        """The names of the tables of a database, sorted; raises DatabaseNotFound."""

    def table_exists(self, name: str) -> bool:
        """Whether the table, or the branch of it, is there."""

    def table(self, name: str) -> Table:
        """Open a table, or a branch of it, at its latest snapshot.

        Raises DatabaseNotFound, TableNotFound, BranchNotFound, and UnsupportedFeature naming the option, type or
        feature that this library cannot read rightly.
        """

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        primary_key: Sequence[str] = (),
        partition_by: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        types: Mapping[str, str] | None = None,
        comment: str | None = None,
        ignore_if_exists: bool = False,
    ) -> Table:
        """Make a table from a ``pa.Schema`` (or anything that exports one).

        ``types`` gives columns an exact type text where Arrow has no word for it: ``{"code": "CHAR(3)"}``. Options
        are the text of Paimon's table options. Raises AlreadyExists, DatabaseNotFound, InvalidRequest, InvalidOption
        and UnsupportedFeature, each naming the column or option; nothing is written then.
        """

    def drop_table(self, name: str, *, ignore_if_missing: bool = False) -> None:
        """Remove a table with all of its files; raises TableNotFound."""

    def rename_table(self, name: str, to: str) -> None:
        """Give a table another name, in this database or another; raises TableNotFound, AlreadyExists."""

    def group(self, name: str) -> Group:
        """A group of tables that are published together; it begins with its first publish.

        Raises UnsupportedFeature where the catalog has no warehouse directory of its own to keep the records in.
        """
