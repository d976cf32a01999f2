"""SqlCatalog: names in a SQL database, as Paimon's JDBC catalog keeps them, files below one warehouse (format 14.8).

Names and files change one after the other. Whatever is cut short, a name never leads to files of another table, files
without a name lie untouched, and the same call again finishes the work:

- create: files, then the name;   - rename: the name, then files;
- drop: a mark in the files, the name, then the files.

These take the locks of the tables they change, also where commits do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from paimon_core.catalog.catalog import Catalog
from paimon_core.catalog.definition import Definition, check_definition, is_same_definition
from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.names import check_target, new_name
from paimon_core.catalog.options import SQL_OPTIONS, parse_catalog_options
from paimon_core.catalog.relocate import relocate
from paimon_core.catalog.sql_connection import SqlConnection
from paimon_core.catalog.sql_lock import LockedPublisher, SqlLock
from paimon_core.catalog.sql_names import SqlNames, table_properties
from paimon_core.catalog.table_removal import is_half_dropped, is_marked, mark_dropped, remove_files
from paimon_core.catalog.warehouse_tables import TablePlaces, no_database, no_table, not_empty
from paimon_core.errors import AlreadyExists, StorageError, TableNotFound
from paimon_core.group.group import Group
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.snapshot_store import Publisher
from paimon_core.schema import TableSchema
from paimon_core.storage.fsspec_storage import confined
from paimon_core.storage.paths import database_path, identifier
from paimon_core.storage.storage import Storage
from paimon_core.table.table import Table


@dataclass(frozen=True)
class SqlCatalog(Catalog):
    """The tables that a SQL database names; ``SqlCatalog.open`` connects."""

    storage: Storage
    warehouse: str
    location: str = field(repr=False)
    """The warehouse as its user wrote it, which Java reads in the properties of databases."""
    names: SqlNames
    lock: SqlLock = field(repr=False)
    commits_locked: bool
    _places: TablePlaces = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", TablePlaces(self.storage, self.warehouse))

    @staticmethod
    def open(
        storage: Storage, warehouse: str, location: str, uri: str, options: Mapping[str, str] | None = None
    ) -> SqlCatalog:
        """Connect to the database and make the catalog's tables in it where they are missing.

        Raises InvalidRequest, InvalidOption and UnsupportedFeature naming what is wrong, StorageError when the
        database cannot be reached.
        """
        values = parse_catalog_options(options, SQL_OPTIONS, "sql")
        connection = SqlConnection.to(uri, values["request-timeout"])
        names = SqlNames(connection, values["catalog-key"])
        names.prepare()
        lock = SqlLock(connection, names.key, values["lock-acquire-timeout"], values["lock-check-max-sleep"])
        enabled = values["lock.enabled"]
        return SqlCatalog(
            storage, warehouse, location, names, lock, not storage.is_local if enabled is None else enabled
        )

    @property
    def _place(self) -> str:
        return f"catalog {self.names.key} of {self.names.connection}"

    # -- databases

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Name a database; its directory appears with its first table."""
        if self.database_exists(name):
            if ignore_if_exists:
                return
            raise AlreadyExists(f"database {name} exists already", database=name)
        new_name(name, "database", self.list_databases())
        try:
            self.names.add_database(name, f"{self.location.rstrip('/')}/{name}.db")
        except AlreadyExists:
            if not ignore_if_exists:
                raise

    def database_exists(self, name: str) -> bool:
        """Whether the database is there."""
        return self.names.has_database(identifier(name, "database"))

    def list_databases(self) -> list[str]:
        """The names of all databases, sorted."""
        return self.names.databases()

    def drop_database(self, name: str, *, cascade: bool = False, ignore_if_missing: bool = False) -> None:
        """Remove a database; with ``cascade`` its tables first, one by one. Files that no table owns stay."""
        if not self.database_exists(name):
            if ignore_if_missing:
                return
            raise no_database(name, self._place, self.list_databases())
        tables = self.list_tables(name)
        if tables and not cascade:
            raise not_empty(name, tables)
        for table in tables:
            self.drop_table(f"{name}.{table}", ignore_if_missing=True)
        self.names.remove_database(name)
        directory = database_path(self.warehouse, name)
        if not self.storage.list(directory):
            self.storage.delete_directory(directory)

    def _check_database(self, name: str) -> None:
        if not self.database_exists(name):
            raise no_database(name, self._place, self.list_databases())

    # -- tables

    def list_tables(self, database: str) -> list[str]:
        """The names of the tables of a database, sorted."""
        self._check_database(database)
        return self.names.tables(database)

    def table_exists(self, name: str) -> bool:
        """Whether the table, or the branch of it, is there."""
        found = Identifier.parse(name)
        return self.names.has(found) and self._places.has_files(found)

    def table(self, name: str) -> Table:
        """Open a table, or a branch of it; raises StorageError for a name without files, and says what to do."""
        found = Identifier.parse(name)
        main = Identifier(found.database, found.table)
        if not self.names.has(main):
            self._check_database(found.database)
            raise no_table(main, self._place, self.list_tables(found.database))
        schema = self._places.schemas(main).latest()
        if schema is None and is_marked(self.storage, self._places.root(main)):
            raise TableNotFound(f"the drop of table {main} was interrupted: drop_table finishes it", table=name)
        if schema is None:
            raise StorageError(
                f"{self._place} names table {main}, but {self._places.root(main)} holds no schema: a rename was cut "
                "short (rename_table with the same names finishes it), or the files are gone (drop_table)",
                table=name,
            )
        return self._places.open(found, schema, self._publisher(main))

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
        """Make a table, see ``Catalog.create_table``: its first schema, then its name."""
        found = Identifier.of_table(name, "create")
        new = Definition(schema, primary_key, partition_by, options, types, comment).to_schema(name)
        context = self._places.context(found, new, self._publisher(found))
        check_definition(context)
        table_properties(new)
        self._check_database(found.database)
        with self.lock.held(found):
            if not self.names.has(found):
                new_name(found.table, "table", self.names.tables(found.database))
                self._check_no_view(found)
                first = self._first_schema(context)
                self.names.add(found, first)
                return self._places.open(found, first, self._publisher(found))
        if ignore_if_exists:
            return self.table(name)
        half = is_marked(self.storage, self._places.root(found))
        what = "has a drop that was interrupted: drop_table finishes it" if half else "exists already"
        raise AlreadyExists(f"table {name} {what}", table=name)

    def _first_schema(self, context: TableContext) -> TableSchema:
        """Create schema-0; one that an earlier try of the same call has left will do, any other file not."""
        found = self._first_files(context)
        if not found and context.schemas.publish(context.schema):
            return context.schema
        standing = context.schemas.latest()
        if standing is None or not self._is_left_over(context, standing):
            raise AlreadyExists(
                f"{context.paths.root} holds files of a table that {self._place} does not name: register_table adopts "
                "it, rename_table continues an interrupted rename. Where it was dropped, halfway or beside a commit: "
                f"call drop_table({context.name!r}), which removes the rest, then create the table again",
                table=context.name,
            )
        return standing

    def _is_left_over(self, context: TableContext, standing: TableSchema) -> bool:
        """Whether nothing but this first schema is there, and no table that was renamed waits for it."""
        return (
            self._first_files(context) == [context.paths.schema(0)]
            and is_same_definition(standing, context.schema)
            and all(
                self._places.has_files(Identifier(database, table))
                for database in self.names.databases()
                for table in self.names.tables(database)
            )
        )

    def _first_files(self, context: TableContext) -> list[str]:
        """Up to two files of a table's directory; one that was being written when its writer died is none."""
        paths = (f.path for f in self.storage.walk(context.paths.root) if not f.name.startswith("."))
        return list(islice(paths, 2))

    def register_table(self, name: str) -> Table:
        """Name a table whose files stand in its place in the warehouse, such as one that this catalog lost.

        Raises TableNotFound when there are none, AlreadyExists, DatabaseNotFound.
        """
        found = Identifier.of_table(name, "register")
        self._check_database(found.database)
        with self.lock.held(found):
            schema = self._places.schemas(found).latest()
            if schema is None:
                raise no_table(found, self._places.root(found), [])
            new_name(found.table, "table", self.names.tables(found.database))
            self._check_no_view(found)
            self.names.add(found, schema)
        return self.table(name)

    def drop_table(self, name: str, *, ignore_if_missing: bool = False) -> None:
        """Remove a table: write a mark, remove the name, then all files; an interrupted drop is finished.

        Files of a table that the catalog does not name stay, unless they have the mark or no schema.
        """
        found = Identifier.of_table(name, "drop")
        root = self._places.root(found)
        with self.lock.held(found):
            is_named = self.names.has(found)
            if is_named or is_half_dropped(self.storage, root):
                mark_dropped(self.storage, root)
                self.names.remove(found)
                remove_files(self.storage, root)
                return
        if not ignore_if_missing:
            self._check_database(found.database)
            raise no_table(found, self._place, self.list_tables(found.database))

    def group(self, name: str) -> Group:
        """A group of tables that are published together; it begins with its first publish."""
        return Group(self, name)

    def rename_table(self, name: str, to: str) -> None:
        """Give a table another name, then move its files; the same call again finishes one that was cut short.

        Nobody may write to the table meanwhile, unless all commit under the lock (option lock.enabled).
        """
        source, target = Identifier.of_table(name, "rename"), Identifier.of_table(to, "rename a table to")
        if source == target:
            raise AlreadyExists(f"table {to} exists already", table=to)
        self._check_database(source.database)
        self._check_database(target.database)
        with self.lock.held(source, target):
            if not self.names.has(source):
                if not self._is_cut_short(source, target):
                    raise no_table(source, self._place, self.names.tables(source.database))
            else:
                tables = self.names.tables(target.database)
                check_target(source, target, tables)
                self._check_no_view(target)
                if target.table not in tables and self.storage.list(self._places.root(target)):
                    raise AlreadyExists(f"{self._places.root(target)} holds files that no table owns", table=to)
                self.names.rename(source, target)
            self._move_files(source, target)

    def _is_cut_short(self, source: Identifier, target: Identifier) -> bool:
        return self.names.has(target) and not self._places.has_files(target) and self._places.has_files(source)

    def _move_files(self, source: Identifier, target: Identifier) -> None:
        try:
            relocate(self.storage, self._places.root(source), self._places.root(target))
        except StorageError as error:
            if self._places.has_files(source) and not self.storage.list(self._places.root(target)):
                self.names.rename(target, source)  # nothing has moved: all is as it was
                raise
            raise StorageError(
                f"table {source} is renamed to {target}, but its files are not all moved yet: repeat rename_table: "
                f"{error}",
                table=str(target),
            ) from error

    def _check_no_view(self, name: Identifier) -> None:
        if self.names.has_view(name):
            raise AlreadyExists(f"a view of the name {name} exists already", table=str(name))

    def _publisher(self, name: Identifier) -> Publisher | None:
        return (
            LockedPublisher(confined(self.storage, self._places.root(name)), self.lock, name)
            if self.commits_locked
            else None
        )
