"""What the catalogs that keep tables at ``warehouse/database.db/table`` have in common: places, contexts, errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from paimon_core.catalog.identifier import Identifier
from paimon_core.errors import CorruptTable, DatabaseNotFound, InvalidRequest, TableNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.branch_store import BranchStore
from paimon_core.metadata.stores.manifest_store import ManifestCache
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.metadata.stores.snapshot_store import Publisher
from paimon_core.schema import TableSchema
from paimon_core.storage.fsspec_storage import confined
from paimon_core.storage.paths import MAIN, TablePaths, table_path
from paimon_core.storage.storage import Storage
from paimon_core.table.table import Table


@dataclass(frozen=True)
class TablePlaces:
    """The tables below one warehouse directory, by name."""

    storage: Storage
    warehouse: str
    manifests: ManifestCache = field(default_factory=ManifestCache, repr=False, compare=False)

    def root(self, name: Identifier) -> str:
        """The table's directory."""
        return table_path(self.warehouse, name.database, name.table)

    def schemas(self, name: Identifier) -> SchemaStore:
        """The schemas of the table, or of its branch."""
        root = self.root(name)
        return SchemaStore(confined(self.storage, root), TablePaths(root, name.branch))

    def has_files(self, name: Identifier) -> bool:
        """Whether the table, or its branch, has a schema; a branch that is being made or deleted is not there."""
        root = self.root(name)
        if name.branch != MAIN and BranchStore(confined(self.storage, root), TablePaths(root)).is_hidden(name.branch):
            return False
        return bool(self.schemas(name).ids())

    def context(self, name: Identifier, schema: TableSchema, publisher: Publisher | None = None) -> TableContext:
        """The table's main branch under one of its schemas."""
        base = f"{name.database}.{name.table}"
        return TableContext.of(base, self.storage, self.root(name), schema, self.manifests, publisher=publisher)

    def open(self, name: Identifier, schema: TableSchema, publisher: Publisher | None = None) -> Table:
        """The table, or its branch; raises BranchNotFound."""
        context = self.context(name, schema, publisher)
        return Table(context if name.branch == MAIN else context.on_branch(name.branch))


def has_schema(storage: Storage, root: str) -> bool:
    """Whether there is a table at ``root``; True also when its schemas cannot be read."""
    try:
        return bool(SchemaStore(confined(storage, root), TablePaths(root)).ids())
    except CorruptTable:
        return True


def no_database(name: str, place: str, known: Iterable[str]) -> DatabaseNotFound:
    """The error that says which databases there are."""
    return DatabaseNotFound(f"no database {name} in {place} (databases: {', '.join(known) or 'none'})", database=name)


def not_empty(name: str, tables: Sequence[str]) -> InvalidRequest:
    """The error of dropping a database that holds tables."""
    held = ", ".join(tables[:3]) + (f" and {len(tables) - 3} more" if tables[3:] else "")
    return InvalidRequest(f"database {name} holds tables ({held}): drop them first, or cascade", database=name)


def no_table(name: Identifier, place: str, known: Iterable[str]) -> TableNotFound:
    """The error that says which tables there are."""
    return TableNotFound(f"no table {name} in {place} (tables: {', '.join(known) or 'none'})", table=str(name))
