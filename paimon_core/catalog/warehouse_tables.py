"""Warehouse tables: shared code of the catalogs that store tables at ``warehouse/database.db/table``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from paimon_core.catalog.identifier import Identifier
from paimon_core.errors import CorruptTable, DatabaseNotFound, InvalidRequest, TableNotFound, listed
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.branch_store import BranchStore
from paimon_core.metadata.stores.manifest_cache import ManifestCache
from paimon_core.metadata.stores.schema_store import SchemaPublisher, SchemaStore
from paimon_core.metadata.stores.snapshot_store import Publisher, SnapshotStore
from paimon_core.parallel_work import call_together
from paimon_core.schema import TableSchema
from paimon_core.storage.external_roots import NO_ROOTS, ExternalRoots
from paimon_core.storage.fsspec_storage import confined
from paimon_core.storage.paths import MAIN, TablePaths, table_path
from paimon_core.storage.storage import Storage
from paimon_core.table.table import Table


@dataclass(frozen=True)
class TableLocations:
    """The directories, schemas and contexts of the tables below one warehouse directory."""

    storage: Storage
    warehouse: str
    roots: ExternalRoots = NO_ROOTS
    """The directories, outside of the tables' own directories, in which tables may have data files."""
    manifests: ManifestCache = field(default_factory=ManifestCache, repr=False, compare=False)

    def root(self, name: Identifier) -> str:
        """Return the table's directory."""
        return table_path(self.warehouse, name.database, name.table)

    def schemas(self, name: Identifier) -> SchemaStore:
        """Return the schemas of the table or branch that ``name`` names."""
        root = self.root(name)
        return SchemaStore(confined(self.storage, root), TablePaths(root, name.branch))

    def newest(self, name: Identifier) -> tuple[TableSchema | None, int | None]:
        """Return the newest schema of the table (None: no schema), and the snapshot to expect as the latest.

        The second is None on a local disk, and when it is unknown. On a remote store it is requested with the schema.
        """
        schemas = self.schemas(name)
        if not self.storage.is_remote:
            return schemas.latest(), None
        found: list[TableSchema | None] = []
        snapshots = SnapshotStore(schemas.storage, schemas.paths)
        hint, _ = call_together(snapshots.latest_hint, lambda: found.append(schemas.latest()))
        return found[0], hint

    def has_files(self, name: Identifier) -> bool:
        """Whether the table or branch has a schema; False for a branch that is being created or deleted."""
        root = self.root(name)
        if name.branch != MAIN and BranchStore(confined(self.storage, root), TablePaths(root)).is_hidden(name.branch):
            return False
        return bool(self.schemas(name).ids())

    def context(
        self,
        name: Identifier,
        schema: TableSchema,
        publisher: Publisher | None = None,
        schema_publisher: SchemaPublisher | None = None,
    ) -> TableContext:
        """Return the context of the table's main branch with the given schema."""
        return TableContext.of(
            f"{name.database}.{name.table}",
            self.storage,
            self.root(name),
            schema,
            self.manifests,
            publisher=publisher,
            schema_publisher=schema_publisher,
            roots=self.roots,
        )

    def open(
        self,
        name: Identifier,
        schema: TableSchema,
        publisher: Publisher | None = None,
        schema_publisher: SchemaPublisher | None = None,
        expected: int | None = None,
    ) -> Table:
        """Return the table or branch that ``name`` names; ``expected``: see ``newest``. Raises BranchNotFound."""
        context = self.context(name, schema, publisher, schema_publisher)
        context.snapshots.expect(expected)
        return Table(context if name.branch == MAIN else context.on_branch(name.branch))


def has_schema(storage: Storage, root: str) -> bool:
    """Whether a table exists at ``root``; also True when its schemas cannot be read."""
    try:
        return bool(SchemaStore(confined(storage, root), TablePaths(root)).ids())
    except CorruptTable:
        return True


def no_database(name: str, place: str, known: Iterable[str]) -> DatabaseNotFound:
    """Return the error for a missing database; it lists the existing databases."""
    return DatabaseNotFound(f"no database {name} in {place} (databases: {listed(known) or 'none'})", database=name)


def not_empty(name: str, tables: Sequence[str]) -> InvalidRequest:
    """Return the error for dropping a database that contains tables."""
    shown = ", ".join(tables[:3]) + (f" and {len(tables) - 3} more" if tables[3:] else "")
    return InvalidRequest(
        f"database {name} contains tables ({shown}): drop them first, or pass cascade=True", database=name
    )


def no_table(name: Identifier, place: str, known: Iterable[str]) -> TableNotFound:
    """Return the error for a missing table; it lists the existing tables."""
    return TableNotFound(f"no table {name} in {place} (tables: {listed(known) or 'none'})", table=str(name))
