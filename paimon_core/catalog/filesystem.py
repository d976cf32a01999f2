"""FilesystemCatalog: databases and tables are directories of a warehouse (format 1.1)."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paimon_core.catalog.catalog import Catalog
from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.names import check_target, new_name
from paimon_core.catalog.table_removal import (
    completed_drop,
    dropped,
    is_free,
    is_interrupted_drop,
    is_link,
    mark_dropped,
    remove_files,
)
from paimon_core.catalog.warehouse_tables import TableLocations, has_schema, no_database, no_table, not_empty
from paimon_core.display import Displayed, Summary
from paimon_core.errors import (
    AlreadyExists,
    CommitConflict,
    CorruptTable,
    InvalidRequest,
    NotFound,
    StorageError,
    UnsupportedFeature,
)
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.manifest_cache import ManifestCache
from paimon_core.schema import TableSchema
from paimon_core.storage.external_roots import NO_ROOTS, ExternalRoots
from paimon_core.storage.paths import DATABASE_SUFFIX, database_path, table_path
from paimon_core.storage.storage import FileInfo, Storage
from paimon_core.table.table import Table

if TYPE_CHECKING:
    from paimon_core.group.group import Group

HIDDEN = ".create-"
"""The beginning of the name of a directory, beside tables, in which ``create_at_once`` prepares a table."""
_MARK = "running"
"""The first file of such a directory: if it is missing at the end, another process has removed the directory."""
_ROUNDS = 5
"""The maximum number of times that ``drop_database`` lists the entries of the database and deletes them."""


@dataclass(frozen=True, repr=False)
class FilesystemCatalog(Displayed, Catalog):
    """The tables below one warehouse directory; every directory that contains a schema is a table."""

    storage: Storage
    warehouse: str
    roots: ExternalRoots = NO_ROOTS
    """The directories, outside of the tables' own directories, in which tables may have data files."""
    given: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The options with which the catalog was opened, without secrets."""
    manifests: ManifestCache = field(default_factory=ManifestCache, repr=False, compare=False)
    _places: TableLocations = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", TableLocations(self.storage, self.warehouse, self.roots, self.manifests))

    def _summary(self) -> Summary:
        return Summary(self.warehouse)

    # -- databases

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Create a database; raises AlreadyExists unless ``ignore_if_exists``."""
        if self.database_exists(name):
            if ignore_if_exists:
                return
            raise AlreadyExists(f"database {name} already exists", database=name)
        new_name(name, "database", self.list_databases())
        self.storage.make_directory(database_path(self.warehouse, name))

    def database_exists(self, name: str) -> bool:
        """Whether the database exists."""
        return self.storage.exists(database_path(self.warehouse, name))

    def list_databases(self) -> list[str]:
        """Return the names of all databases, sorted."""
        found = self.storage.list(self.warehouse)
        names = (
            i.name.removesuffix(DATABASE_SUFFIX) for i in found if i.is_directory and i.name.endswith(DATABASE_SUFFIX)
        )
        return sorted(n for n in names if n)

    def drop_database(self, name: str, *, cascade: bool = False, ignore_if_missing: bool = False) -> None:
        """Delete a database; raises InvalidRequest when it contains tables, unless ``cascade``."""
        if not self.database_exists(name):
            if ignore_if_missing:
                return
            raise no_database(name, self.warehouse, self.list_databases())
        tables = self.list_tables(name)
        if tables and not cascade:
            raise not_empty(name, tables)
        directory = database_path(self.warehouse, name)
        if is_link(self.storage, directory) or not self.storage.is_local:
            for table in () if is_link(self.storage, directory) else tables:
                dropped(self.storage, table_path(self.warehouse, name, table))
            self.storage.delete_directory(directory)
            return
        # Only an empty directory is deleted, so that a table that another process creates meanwhile is not deleted.
        for _ in range(_ROUNDS):
            for entry in self.storage.list(directory):
                self._remove_entry(name, entry, cascade=cascade)
            if self.storage.remove_empty_directory(directory) or not self.database_exists(name):
                return
        raise CommitConflict(
            f"database {name}: other processes created entries in {directory} as fast as they were deleted: drop it "
            "again",
            database=name,
        )

    def _remove_entry(self, database: str, entry: FileInfo, *, cascade: bool) -> None:
        """Delete an entry of a database.

        Without ``cascade``, raises InvalidRequest for a table: another process has just created it.
        """
        if entry.is_link or not entry.is_directory:
            self.storage.delete([entry.path])
        elif has_schema(self.storage, entry.path):
            if not cascade:
                raise not_empty(database, [entry.name])
            dropped(self.storage, entry.path)
        else:
            self.storage.delete_directory(entry.path)

    def _check_database(self, name: str) -> None:
        if not self.database_exists(name):
            raise no_database(name, self.warehouse, self.list_databases())

    # -- tables

    def list_tables(self, database: str) -> list[str]:
        """Return the names of the tables of a database, sorted."""
        self._check_database(database)
        root = database_path(self.warehouse, database)
        return sorted(i.name for i in self.storage.list(root) if i.is_directory and has_schema(self.storage, i.path))

    def table_exists(self, name: str) -> bool:
        """Whether the table, or the named branch of the table, exists."""
        return self._places.has_files(Identifier.parse(name))

    def table(self, name: str) -> Table:
        """Open a table, or a branch of the table, at its latest snapshot."""
        identifier = Identifier.parse(name)
        main = Identifier(identifier.database, identifier.table)
        schema, expected = self._places.newest(main)
        if schema is None:
            raise self._no_table(main)
        return self._places.open(identifier, schema, expected=expected)

    def damaged_table(self, name: str) -> Table:
        """Open the main branch of a table for its repair, with the newest schema that can be read.

        Raises CorruptTable when the table has schemas and none can be read, TableNotFound when it has no schema.
        """
        identifier = Identifier.of_table(name, "repair")
        schemas = self._places.schemas(identifier)
        failed: CorruptTable | None = None
        for schema_id in reversed(schemas.ids()):
            try:
                return self._places.open(identifier, schemas.read(schema_id))
            except CorruptTable as error:
                failed = error
        if failed is None:
            raise self._no_table(identifier)
        raise CorruptTable(
            f"{failed.message}. No schema of table {identifier} can be read, and without a schema "
            "no row can be read: restore this file from a backup, or drop the table and write its rows again",
            **{**failed.facts, "problem": failed.message},
        ) from failed

    def _create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool) -> Table:
        """Create the table by creating its schema file: the table exists as soon as this file exists."""
        context = self._places.context(identifier, schema)
        if self._may_create(identifier, context) and context.schemas.publish(schema):
            return Table(context)
        if ignore_if_exists:
            return self.table(str(identifier))
        raise AlreadyExists(f"table {identifier} already exists", table=str(identifier))

    def create_at_once(
        self, identifier: Identifier, schema: TableSchema, fill: Callable[[TableContext], None]
    ) -> Table:
        """Create a table with everything that ``fill`` writes, by one rename: until then no process finds the table.

        ``fill`` gets the context of the table in a hidden directory, and must write its schemas too; the rename is an
        atomic step of the local disk. After an error the table does not exist and the directory is deleted. Raises
        AlreadyExists, also when another process creates the table meanwhile: its table stays as it is; DatabaseNotFound
        when the database is dropped meanwhile; StorageError when another process removes the directory meanwhile.
        """
        context = self._places.context(identifier, schema)
        if not self._may_create(identifier, context):
            raise AlreadyExists(f"table {identifier} already exists", table=str(identifier))
        root = context.paths.root
        hidden = f"{database_path(self.warehouse, identifier.database)}/{HIDDEN}{uuid.uuid4()}"
        staged, mark = f"{hidden}/{identifier.table}", f"{hidden}/{_MARK}"
        try:
            self.storage.write(mark, b"")
            fill(TableContext.of(context.name, self.storage, staged, schema))
            if not self.storage.has_file(mark):  # ``fill`` has created the directory again, without its first files
                raise FileNotFoundError(mark)
            self.storage.remove_empty_directory(root)
            self._move(staged, root, identifier)
        except FileNotFoundError:  # another process has dropped the database with everything in it
            self._check_database(identifier.database)
            raise StorageError(
                f"table {identifier} was not created: another process deleted {hidden}. Create it again", path=hidden
            ) from None
        finally:
            with contextlib.suppress(StorageError):
                self.storage.delete_directory(hidden)
        return self.table(str(identifier))

    def _may_create(self, identifier: Identifier, context: TableContext) -> bool:
        """Whether no table of this name exists; raises the errors of ``create_table`` for what cannot be created."""
        name = str(identifier)
        from paimon_core.catalog.definition import check_definition

        check_definition(context)
        self._check_database(identifier.database)
        is_new = context.schemas.latest() is None
        if is_new:
            new_name(identifier.table, "table", self.list_tables(identifier.database))
            if not is_free(self.storage, context.paths.root):
                raise InvalidRequest(
                    f"{context.paths.root} contains files of a table but no schema: "
                    + (
                        "a drop was interrupted, or a concurrent commit wrote files after it. Call "
                        f"drop_table({name!r}), which deletes the remaining files, then create the table again"
                        if is_interrupted_drop(self.storage, context.paths.root)
                        else "delete them manually, because not all of them are files of a table"
                    ),
                    table=name,
                    path=context.paths.root,
                )
        return is_new

    def drop_table(self, name: str, *, ignore_if_missing: bool = False) -> None:
        """Delete a table with all of its files, or complete an interrupted drop, even a drop by another program.

        A commit that another process makes during the drop may be deleted with the table. Unless ``ignore_if_missing``,
        raises TableNotFound when the table does not exist, or when a concurrent drop or rename has removed it first.
        """
        identifier = Identifier.of_table(name, "drop")
        root = self._places.root(identifier)
        if has_schema(self.storage, root):
            if dropped(self.storage, root):
                return
        elif is_interrupted_drop(self.storage, root):
            mark_dropped(self.storage, root)
            remove_files(self.storage, root)
            return
        if ignore_if_missing:
            return
        raise self._no_table(identifier)

    def _no_table(self, identifier: Identifier) -> NotFound:
        if not self.database_exists(identifier.database):
            return no_database(identifier.database, self.warehouse, self.list_databases())
        return no_table(identifier, self.warehouse, self.list_tables(identifier.database))

    def _move(self, source: str, target: str, to: Identifier) -> None:
        """Rename the directory of a table; raises AlreadyExists when the directory ``target`` exists."""
        try:
            self.storage.move_directory(source, target)
        except StorageError:
            if has_schema(self.storage, target):
                raise AlreadyExists(
                    f"table {to} already exists: another process has just created it", table=str(to)
                ) from None
            if self.storage.exists(target):
                raise AlreadyExists(
                    f"table {to} cannot take the place of the directory {target}, which exists: delete the directory",
                    table=str(to),
                    path=target,
                ) from None
            raise

    def group(self, name: str) -> Group:
        """Return a group of tables that are published together; the first publish creates it."""
        from paimon_core.group.group import Group

        return Group(self, name)

    def rename_table(self, name: str, to: str) -> None:
        """Rename a table by renaming its directory; no process may write to the table at the same time.

        Raises UnsupportedFeature on stores that cannot rename directories. When another process at the same time drops
        or renames the table, or creates a table with the new name, only one of the two calls succeeds; this call may
        raise TableNotFound or AlreadyExists.
        """
        source, target = Identifier.of_table(name, "rename"), Identifier.of_table(to, "rename a table to")
        if not self.table_exists(name):
            raise self._no_table(source)
        self._check_database(target.database)
        if self.storage.exists(self._places.root(target)):
            left = ", left by an interrupted drop, which drop_table completes"
            is_left_over = is_interrupted_drop(self.storage, self._places.root(target))
            raise AlreadyExists(
                f"table {to} already exists: {self._places.root(target)}{left if is_left_over else ''}", table=to
            )
        check_target(source, target, self.list_tables(target.database))
        if not self.storage.is_local:
            raise UnsupportedFeature(
                f"cannot rename table {name}: {self.warehouse} cannot rename directories, and a table that is only "
                "partly moved could not be read. A SQL catalog can rename tables on such a store",
                table=name,
            )
        try:
            self._move(self._places.root(source), self._places.root(target), target)
        except FileNotFoundError:
            raise self._no_table(source) from None
        if completed_drop(self.storage, self._places.root(target)):
            raise self._no_table(source)
