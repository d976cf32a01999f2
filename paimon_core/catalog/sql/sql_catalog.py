"""SqlCatalog: the names of tables are in a SQL database, as in Paimon's JDBC catalog, their files in one warehouse.

Section 14.8 of docs/format.md describes the format.

An operation on a table changes the name of the table and its files in two separate steps. After an interruption, a name
never refers to files of another table, other operations do not change files that have no name, and a repeated call
completes the operation. The order is:

- create: the files, then the name;   - rename: the name, then the files;
- drop: a mark in the files, the name, then the files.

These operations take the locks of the tables that they change, even when commits take no locks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from paimon_core.catalog.catalog import Catalog
from paimon_core.catalog.definition import check_definition, is_same_definition
from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.names import check_target, new_name
from paimon_core.catalog.options import CACHE_OPTIONS, SQL_OPTIONS, parse_catalog_options
from paimon_core.catalog.relocate import relocate
from paimon_core.catalog.sql.connection import SqlConnection
from paimon_core.catalog.sql.lock import LockedPublisher, SqlLock, SqlSchemaPublisher
from paimon_core.catalog.sql.names import SqlNames, table_properties
from paimon_core.catalog.table_removal import has_drop_mark, is_interrupted_drop, mark_dropped, remove_files
from paimon_core.catalog.warehouse_tables import TableLocations, no_database, no_table, not_empty
from paimon_core.display import Displayed, Summary
from paimon_core.errors import AlreadyExists, StorageError, TableNotFound
from paimon_core.group.group import Group
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.manifest_cache import ManifestCache
from paimon_core.metadata.stores.snapshot_store import Publisher
from paimon_core.schema import TableSchema
from paimon_core.storage.external_roots import NO_ROOTS, ExternalRoots
from paimon_core.storage.fsspec_storage import confined
from paimon_core.storage.paths import database_path, identifier
from paimon_core.storage.storage import Storage
from paimon_core.table.table import Table


@dataclass(frozen=True, repr=False)
class SqlCatalog(Displayed, Catalog):
    """The tables whose names are in a SQL database; ``SqlCatalog.open`` connects to the database."""

    storage: Storage
    warehouse: str
    location: str = field(repr=False)
    """The path of the warehouse as the user wrote it; Java reads this path in the properties of databases."""
    names: SqlNames
    lock: SqlLock = field(repr=False)
    commits_locked: bool
    roots: ExternalRoots = NO_ROOTS
    """The directories, outside of the tables' own directories, in which tables may have data files."""
    given: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The options with which the catalog was opened, without secrets."""
    manifests: ManifestCache = field(default_factory=ManifestCache, repr=False, compare=False)
    _places: TableLocations = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", TableLocations(self.storage, self.warehouse, self.roots, self.manifests))

    @staticmethod
    def open(
        storage: Storage,
        warehouse: str,
        location: str,
        uri: str,
        options: Mapping[str, str] | None = None,
        roots: ExternalRoots | None = None,
    ) -> SqlCatalog:
        """Connect to the database, create the SQL tables that are missing, and return the catalog.

        Raises InvalidRequest, InvalidOption or UnsupportedFeature, which name the argument, for a wrong ``uri`` or
        option; StorageError when the database cannot be reached.
        """
        values = parse_catalog_options(options, (*SQL_OPTIONS, *CACHE_OPTIONS), "sql")
        connection = SqlConnection.to(uri, values["request-timeout"])
        names = SqlNames(connection, values["catalog-key"])
        names.prepare()
        lock = SqlLock(connection, names.key, values["lock-acquire-timeout"], values["lock-check-max-sleep"])
        enabled = values["lock.enabled"]
        return SqlCatalog(
            storage,
            warehouse,
            location,
            names,
            lock,
            not storage.is_local if enabled is None else enabled,
            roots or NO_ROOTS,
        )

    @property
    def _label(self) -> str:
        return f"catalog {self.names.key} of {self.names.connection}"

    def _summary(self) -> Summary:
        return Summary(self.warehouse, (("database", self.names.connection.shown),))

    # -- databases

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Create a database; the directory of the database is created with its first table."""
        if self.database_exists(name):
            if ignore_if_exists:
                return
            raise AlreadyExists(f"database {name} already exists", database=name)
        new_name(name, "database", self.list_databases())
        try:
            self.names.add_database(name, f"{self.location.rstrip('/')}/{name}.db")
        except AlreadyExists:
            if not ignore_if_exists:
                raise

    def database_exists(self, name: str) -> bool:
        """Whether the database exists."""
        return self.names.has_database(identifier(name, "database"))

    def list_databases(self) -> list[str]:
        """Return the names of all databases, sorted."""
        return self.names.databases()

    def drop_database(self, name: str, *, cascade: bool = False, ignore_if_missing: bool = False) -> None:
        """Delete a database; with ``cascade``, delete its tables first. Files that belong to no table are kept."""
        if not self.database_exists(name):
            if ignore_if_missing:
                return
            raise no_database(name, self._label, self.list_databases())
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
            raise no_database(name, self._label, self.list_databases())

    # -- tables

    def list_tables(self, database: str) -> list[str]:
        """Return the names of the tables of a database, sorted."""
        self._check_database(database)
        return self.names.tables(database)

    def table_exists(self, name: str) -> bool:
        """Whether the table exists; for the name of a branch, whether the branch exists."""
        found = Identifier.parse(name)
        return self.names.has(found) and self._places.has_files(found)

    def table(self, name: str) -> Table:
        """Open a table, or a branch of the table, at its latest snapshot.

        Raises TableNotFound when a drop of the table was interrupted, and StorageError when the catalog has the name
        but there is no schema file; both messages say what the user can do.
        """
        found = Identifier.parse(name)
        main = Identifier(found.database, found.table)
        if not self.names.has(main):
            self._check_database(found.database)
            raise no_table(main, self._label, self.list_tables(found.database))
        schema, expected = self._places.newest(main)
        if schema is None and has_drop_mark(self.storage, self._places.root(main)):
            raise TableNotFound(f"the drop of table {main} was interrupted: call drop_table to complete it", table=name)
        if schema is None:
            raise StorageError(
                f"{self._label} contains table {main}, but {self._places.root(main)} contains no schema. Either a "
                "rename was interrupted (rename_table with the same names completes it), or the files are missing "
                "(call drop_table)",
                table=name,
            )
        publishers = self._publisher(main, schema), SqlSchemaPublisher(self.lock, main, schema)
        return self._places.open(found, schema, *publishers, expected=expected)

    def _create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool) -> Table:
        """Create the schema file, then add the name."""
        context = self._places.context(identifier, schema)
        check_definition(context)
        table_properties(schema)
        self._check_database(identifier.database)
        with self.lock.held(identifier):
            if not self.names.has(identifier):
                new_name(identifier.table, "table", self.names.tables(identifier.database))
                self._check_no_view(identifier)
                first = self._first_schema(context)
                self.names.add(identifier, first)
                schemas = SqlSchemaPublisher(self.lock, identifier, first)
                return self._places.open(identifier, first, self._publisher(identifier, first), schemas)
        if ignore_if_exists:
            return self.table(str(identifier))
        is_half = has_drop_mark(self.storage, self._places.root(identifier))
        what = "has a drop that was interrupted: call drop_table to complete it" if is_half else "already exists"
        raise AlreadyExists(f"table {identifier} {what}", table=str(identifier))

    def _first_schema(self, context: TableContext) -> TableSchema:
        """Create schema-0, or return schema-0 of an interrupted call with the same arguments; raises AlreadyExists."""
        found = self._first_files(context)
        if not found and context.schemas.publish(context.schema):
            return context.schema
        existing = context.schemas.latest()
        if existing is None or not self._is_left_over(context, existing):
            raise AlreadyExists(
                f"{context.paths.root} contains files of a table that {self._label} does not name: register_table adds "
                "its name, rename_table completes an interrupted rename. After an interrupted drop, or a drop with a "
                f"concurrent commit, call drop_table({context.name!r}), which deletes the remaining files, then create "
                "the table again",
                table=context.name,
            )
        return existing

    def _is_left_over(self, context: TableContext, existing: TableSchema) -> bool:
        """Whether an interrupted ``create_table`` with the same arguments left the directory.

        In this case, the only file in the directory is ``schema-0`` with the same definition. Return False if any table
        of the catalog has no files: its rename may have been interrupted, and the directory may be its old one.
        """
        return (
            self._first_files(context) == [context.paths.schema(0)]
            and is_same_definition(existing, context.schema)
            and all(
                self._places.has_files(Identifier(database, table))
                for database in self.names.databases()
                for table in self.names.tables(database)
            )
        )

    def _first_files(self, context: TableContext) -> list[str]:
        """Return the paths of up to two files in the table's directory, without temporary files."""
        paths = (f.path for f in self.storage.walk(context.paths.root) if not f.name.startswith("."))
        return list(islice(paths, 2))

    def register_table(self, name: str) -> Table:
        """Add the name of a table whose files exist, for example after the loss of the catalog's database.

        Raises TableNotFound when the files do not exist, AlreadyExists when the catalog has the name already, and
        DatabaseNotFound.
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
        """Delete a table: write a mark, delete the name, then delete all files. Also completes an interrupted drop.

        Files of a table whose name is not in the catalog are kept, unless they are the remains of an interrupted drop:
        they contain the mark, or no schema. Raises TableNotFound or DatabaseNotFound, unless ``ignore_if_missing``.
        """
        found = Identifier.of_table(name, "drop")
        root = self._places.root(found)
        with self.lock.held(found):
            is_named = self.names.has(found)
            if is_named or is_interrupted_drop(self.storage, root):
                mark_dropped(self.storage, root)
                self.names.remove(found)
                remove_files(self.storage, root)
                return
        if not ignore_if_missing:
            self._check_database(found.database)
            raise no_table(found, self._label, self.list_tables(found.database))

    def group(self, name: str) -> Group:
        """Return a group of tables that are published together; the first publish creates it."""
        return Group(self, name)

    def rename_table(self, name: str, to: str) -> None:
        """Change the name of a table, then move its files; repeating the call completes an interrupted rename.

        No process may write to the table at the same time, unless all writers commit under the lock (option
        lock.enabled).
        """
        source, target = Identifier.of_table(name, "rename"), Identifier.of_table(to, "rename a table to")
        if source == target:
            raise AlreadyExists(f"table {to} already exists", table=to)
        self._check_database(source.database)
        self._check_database(target.database)
        with self.lock.held(source, target):
            if not self.names.has(source):
                if not self._is_interrupted_rename(source, target):
                    raise no_table(source, self._label, self.names.tables(source.database))
            else:
                tables = self.names.tables(target.database)
                check_target(source, target, tables)
                self._check_no_view(target)
                if target.table not in tables and self.storage.list(self._places.root(target)):
                    raise AlreadyExists(f"{self._places.root(target)} contains files that belong to no table", table=to)
                self.names.rename(source, target)
            self._move_files(source, target)

    def _is_interrupted_rename(self, source: Identifier, target: Identifier) -> bool:
        return self.names.has(target) and not self._places.has_files(target) and self._places.has_files(source)

    def _move_files(self, source: Identifier, target: Identifier) -> None:
        try:
            relocate(self.storage, self._places.root(source), self._places.root(target))
        except StorageError as error:
            if self._places.has_files(source) and not self.storage.list(self._places.root(target)):
                self.names.rename(target, source)  # no file has moved: undo the rename
                raise
            raise StorageError(
                f"table {source} is renamed to {target}, but not all of its files are moved: repeat rename_table: "
                f"{error}",
                table=str(target),
            ) from error

    def _check_no_view(self, name: Identifier) -> None:
        if self.names.has_view(name):
            raise AlreadyExists(f"a view with the name {name} already exists", table=str(name))

    def _publisher(self, name: Identifier, opened: TableSchema) -> Publisher | None:
        if not self.commits_locked:
            return None
        root = self._places.root(name)
        return LockedPublisher(confined(self.storage, root), self.lock, name, root, opened)
