"""Catalog: the interface to databases and tables by name, stored in directories, a SQL database or a server."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from paimon_core.catalog.database_compaction import ALL, NONE
from paimon_core.catalog.identifier import Identifier
from paimon_core.deferred import deferred
from paimon_core.errors import InvalidRequest
from paimon_core.options import OptionValue, option_texts
from paimon_core.schema import TableSchema
from paimon_core.table.table import Table

if TYPE_CHECKING:
    import duckdb

    from paimon_core.catalog.database_compaction import TableOutcome, compact_database
    from paimon_core.catalog.definition import Definition
    from paimon_core.catalog.maintenance_log import MaintenanceLog
    from paimon_core.catalog.system_tables import catalog_table
    from paimon_core.frames.source import Source
    from paimon_core.group.group import Group
    from paimon_core.table.system.system_table import SystemTable

    maintenance_log = MaintenanceLog
    definition_of = Definition
else:
    catalog_table = deferred("paimon_core.catalog.system_tables", "catalog_table")
    compact_database = deferred("paimon_core.catalog.database_compaction", "compact_database")
    maintenance_log = deferred("paimon_core.catalog.maintenance_log", "MaintenanceLog")
    definition_of = deferred("paimon_core.catalog.definition", "Definition")


class Catalog(Protocol):
    """The databases and tables of one warehouse; ``open_catalog`` returns it.

    >>> catalog = open_catalog("lake")  # doctest: +SKIP
    >>> catalog.create_database("shop")  # doctest: +SKIP
    >>> orders = catalog.create_table(  # doctest: +SKIP
    ...     "shop.orders", schema, primary_key=["id"], options={"bucket": "1"}
    ... )

    A table is named ``database.table``; ``table`` and ``table_exists`` also accept the name of a branch,
    ``database.table$branch_x``. Every method raises StorageError when the directories, the SQL database or the server
    fail.
    """

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Create a database; with ``ignore_if_exists``, do nothing when it exists.

        Raises InvalidRequest for an invalid name, AlreadyExists for an existing database and for a name that differs
        from an existing name only by case or Unicode normal form.
        """

    def database_exists(self, name: str) -> bool:
        """Whether the database exists."""

    def list_databases(self) -> list[str]:
        """Return the names of all databases, sorted."""

    def drop_database(self, name: str, *, cascade: bool = False, ignore_if_missing: bool = False) -> None:
        """Delete a database; with ``cascade``, also delete its tables.

        Raises InvalidRequest for a database with tables, unless ``cascade``; DatabaseNotFound, unless
        ``ignore_if_missing``.
        """

    def list_tables(self, database: str) -> list[str]:
        """Return the names of the tables of a database, sorted; raises DatabaseNotFound."""

    def table_exists(self, name: str) -> bool:
        """Whether the table exists; for the name of a branch, whether the branch exists."""

    def table(self, name: str) -> Table:
        """Open a table, or a branch of the table, at its latest snapshot.

        Raises DatabaseNotFound, TableNotFound or BranchNotFound for a name that does not exist. Raises
        UnsupportedFeature, which names the option, type or feature, for a table that this library cannot read
        correctly.
        """

    def __getitem__(self, name: str) -> Table:
        """Open a table: ``catalog["shop.orders"]`` is ``catalog.table("shop.orders")``."""
        return self.table(name)

    def __contains__(self, name: object) -> bool:
        """Whether the table ``database.table``, or the database ``name``, exists."""
        if not isinstance(name, str):
            return False
        return self.table_exists(name) if "." in name else self.database_exists(name)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of all tables, as ``database.table``, sorted by database."""
        for database in self.list_databases():
            yield from (f"{database}.{table}" for table in self.list_tables(database))

    def sql(self, query: str, *, group: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return the result of one SELECT of DuckDB over tables ``database.table``; needs the extra ``duckdb``.

        System tables are written ``shop."orders$files"``. A table is read at its latest snapshot, or at
        ``AT (VERSION => 3)``, ``AT (VERSION => 'tag')`` or ``AT (TIMESTAMP => '2026-05-01 12:00:00')`` after its name
        or alias. ``group``: all tables of this group without AT are read at the newest version of the group, so that
        they fit together. The rows are computed when they are fetched (``fetchall``, ``df``, ``pl``, ``arrow``).

        Raises SqlError for a text that DuckDB refuses, InvalidRequest for anything but one SELECT and for a query that
        reads no table of ``group``, NotFound for a group without versions, and the errors of ``table``.
        """
        if group is not None:
            from paimon_core.catalog.group_query import group_query

            return group_query(query, self.group(group), self._scan_of)
        from paimon_core.frames.sql_query import query as sql_query

        return sql_query(query, self._scan_of)

    def _scan_of(self, name: str, version: str | int | None, time: str | None) -> Source | pa.Table:
        if "$" in name and not name.partition("$")[2].startswith("branch_"):
            if version is not None or time is not None:
                raise InvalidRequest(f"AT is not supported for the system table {name}")
            return self.system_table(name).to_arrow()
        table = self.table(name)
        if time is not None:
            return table.at(time=time).scan()
        if version is None:
            return table.scan()
        return (table.at(snapshot=version) if isinstance(version, int) else table.at(tag=version)).scan()

    @property
    def options(self) -> Mapping[str, str]:
        """The options with which the catalog was opened, without secrets."""
        return getattr(self, "given", {})

    def system_table(self, name: str) -> SystemTable:
        """Return a system table to read: ``database.table$files``, ``database.table$branch_x$files``, ``sys.tables``.

        docs/system-tables.md lists the system tables. Raises NotFound, which lists their names, for an unknown system
        table; InvalidRequest for a name that names no system table; and the errors of ``table``.
        """
        text, kind = Identifier.split_system(name)
        return catalog_table(self, kind) if text is None else self.table(text).system_table(kind)

    def maintenance_log(self) -> MaintenanceLog:
        """Return the log of maintenance, for ``Table.plan_maintenance``; ``sys.maintenance`` shows its rows.

        Nothing is created before outcomes are added.
        """
        return maintenance_log(self)

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        primary_key: str | Sequence[str] = (),
        partition_by: str | Sequence[str] = (),
        options: Mapping[str, OptionValue] | None = None,
        types: Mapping[str, str] | None = None,
        comment: str | None = None,
        ignore_if_exists: bool = False,
    ) -> Table:
        """Create a table from a ``pa.Schema``, a dict ``{"id": "BIGINT NOT NULL"}``, a text or a Spark StructType.

        A schema as text lists columns as in SQL: ``"id BIGINT NOT NULL, v INT COMMENT 'value'"``. Objects that export
        an Arrow schema are accepted as well, such as a frame of pandas or polars or a relation of DuckDB, of which only
        the columns are used.
        ``primary_key`` and ``partition_by`` are the name of a column, or a list of names. The ``arrow_schema`` of a
        table contains its exact types, comments, defaults and field ids: a table that is created from this schema has
        the same columns. ``types`` gives the exact Paimon types of columns whose type Arrow cannot express: ``{"code":
        "CHAR(3)"}``. ``options`` are Paimon's table options; a value is a text, an int, a bool, or a float for an
        option of type double. A size or a duration needs its unit. A key that is not an option of Paimon is refused,
        unless it begins with ``custom.`` or says who made the table (``owner``, ``createdAt``, ``createdBy``,
        ``updatedAt``, ``updatedBy``): such keys are stored and have no effect. Raises AlreadyExists, DatabaseNotFound,
        and InvalidRequest, InvalidOption or UnsupportedFeature, which name the wrong column or option. After an error,
        nothing is written.
        """
        identifier = Identifier.of_table(name, "create")
        all_options = {**self._default_options, **option_texts({} if options is None else options)}
        definition = definition_of(schema, primary_key, partition_by, all_options, types, comment)
        return self._create_table(identifier, definition.to_schema(name), ignore_if_exists)

    @property
    def _default_options(self) -> Mapping[str, str]:
        """The default options of new tables; an option that is passed to ``create_table`` replaces the default."""
        return {}

    def _create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool) -> Table:
        """Check the schema and create the table; raises the errors of ``create_table``."""

    def drop_table(self, name: str, *, ignore_if_missing: bool = False) -> None:
        """Delete a table with all of its files; raises TableNotFound, unless ``ignore_if_missing``."""

    def rename_table(self, name: str, to: str) -> None:
        """Rename a table, also into another database; raises TableNotFound for ``name``, AlreadyExists for ``to``."""

    def compact_database(
        self,
        including_databases: str = ALL,
        including_tables: str = ALL,
        excluding_tables: str = NONE,
        *,
        full: bool = False,
        partition_idle_time: datetime.timedelta | None = None,
        options: Mapping[str, OptionValue] | None = None,
    ) -> list[TableOutcome]:
        """Compact tables one after the other as ``Table.compact`` does; return what happened to each.

        The first three arguments are regular expressions for the whole name of a database, or for ``database.table``,
        as in Paimon. Tables of these databases that are left out have an outcome ``skipped``. An error of one table
        does not stop the others: when all tables were tried, an error of the kind of the first error names all tables
        that failed, and its ``facts["outcomes"]`` has all outcomes. ``options`` apply to the call as those of
        ``Table.with_options``. Raises InvalidRequest for wrong arguments before anything is compacted.
        """
        return compact_database(
            self,
            including_databases,
            including_tables,
            excluding_tables,
            full=full,
            partition_idle_time=partition_idle_time,
            options=options,
        )

    def group(self, name: str) -> Group:
        """Return a group of tables that are published together; the first publish creates it.

        Raises UnsupportedFeature when the catalog has no warehouse directory for the group's records.
        """
