"""RestCatalog: databases and tables of a Paimon REST server, which also commits (format 14.9).

Data files and manifests are read and written here, in the store that the server names; snapshot files are the
server's. External tables are an exception: their history is no business of the server, so their commits are files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paimon_core.catalog.catalog import Catalog
from paimon_core.catalog.definition import Definition, check_definition
from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.names import check_target, new_name
from paimon_core.catalog.options import HEADER_PREFIX, REST_OPTIONS, parse_catalog_options
from paimon_core.catalog.rest_client import RestClient
from paimon_core.catalog.rest_publisher import RestPublisher
from paimon_core.catalog.rest_storage import TableStore
from paimon_core.catalog.warehouse_tables import not_empty
from paimon_core.errors import (
    AlreadyExists,
    CorruptTable,
    NotFound,
    SnapshotNotFound,
    StorageError,
    UnsupportedFeature,
)
from paimon_core.group.group import Group
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.manifest_store import ManifestCache
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.options import TableOptions
from paimon_core.storage.fsspec_storage import MEMORY, FsspecStorage, confined
from paimon_core.storage.paths import MAIN, TablePaths, identifier
from paimon_core.storage.secret import Secret
from paimon_core.table.table import Table

TABLE_DEFAULT = "table-default."


@dataclass(frozen=True)
class RestCatalog(Catalog):
    """The tables of one warehouse of a server; ``RestCatalog.open`` connects."""

    warehouse: str
    client: RestClient
    store: TableStore = field(repr=False)
    defaults: Mapping[str, str] = field(repr=False)
    """Table options that the server wants every new table to have."""
    _manifests: ManifestCache = field(default_factory=ManifestCache, repr=False, compare=False)

    @staticmethod
    def open(
        warehouse: str, uri: str, options: Mapping[str, str] | None = None, storage: Mapping[str, str] | None = None
    ) -> RestCatalog:
        """Ask the server for its configuration, which it may give defaults for and decide over.

        Raises InvalidOption and UnsupportedFeature naming an option that is not obeyed, also one of the server's.
        """
        address = RestClient.checked_uri(uri)
        given = dict(options or {})
        first = _client(address, parse_catalog_options(given, REST_OPTIONS, "rest", headers=True))
        config = replace(first, prefix=None).get("config", query={"warehouse": warehouse})
        told = {**_texts(config.get("defaults")), **given, **_texts(config.get("overrides"))}
        ours = {key: text for key, text in told.items() if key in given or _is_ours(key)}
        values = parse_catalog_options(ours, REST_OPTIONS, "rest", headers=True)
        client = _client(address, values)
        store = TableStore(client, dict(storage or {}), _secret_texts(told), values["data-token.enabled"])
        defaults = {k.removeprefix(TABLE_DEFAULT): v for k, v in told.items() if k.startswith(TABLE_DEFAULT)}
        return RestCatalog(warehouse, client, store, defaults)

    # -- databases

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Make a database; raises AlreadyExists unless told to ignore it."""
        try:
            existing = self.list_databases()
            if name not in existing:
                new_name(name, "database", existing)
            self.client.post("databases", body={"name": name, "options": {}})
        except AlreadyExists as error:
            if not ignore_if_exists or error.facts.get("status") != 409:
                raise

    def database_exists(self, name: str) -> bool:
        """Whether the database is there."""
        try:
            self.client.get("databases", identifier(name, "database"))
        except NotFound:
            return False
        return True

    def list_databases(self) -> list[str]:
        """The names of all databases, sorted."""
        return sorted(self.client.pages("databases", "databases"))

    def drop_database(self, name: str, *, cascade: bool = False, ignore_if_missing: bool = False) -> None:
        """Remove a database; raises InvalidRequest when it holds tables, unless ``cascade``."""
        try:
            tables = self.list_tables(name)
            if tables and not cascade:
                raise not_empty(name, tables)
            self.client.delete("databases", name)
        except NotFound:
            if not ignore_if_missing:
                raise

    # -- tables

    def list_tables(self, database: str) -> list[str]:
        """The names of the tables of a database, sorted."""
        return sorted(self.client.pages("tables", "databases", identifier(database, "database"), "tables"))

    def table_exists(self, name: str) -> bool:
        """Whether the table, or the branch of it, is there."""
        try:
            self._told(Identifier.parse(name))
        except NotFound:
            return False
        return True

    def table(self, name: str) -> Table:
        """Open a table, or a branch of it, at its latest snapshot.

        Raises UnsupportedFeature too for a server that keeps schemas or snapshots elsewhere than in the table's files.
        """
        found = Identifier.parse(name)
        main = Identifier(found.database, found.table)
        told = self._told(found)
        TableOptions.parse(_table_type(told), table=str(main))
        place, table_id = told.get("path"), told.get("id")
        if not isinstance(place, str) or not isinstance(table_id, str):
            raise CorruptTable(f"{self.client.uri} tells no path and id of table {name}", table=name)
        storage, root = self.store.open(main, place)
        schema = SchemaStore(confined(storage, root), TablePaths(root)).latest()
        wanted = told.get("schemaId")
        if schema is None or (found == main and (type(wanted) is not int or schema.id < wanted)):
            raise UnsupportedFeature(
                f"table {name}: {self.client.uri} has schema {wanted!r:.40}, which is no file in {root}/schema: "
                "servers that keep schemas elsewhere are not supported",
                table=name,
            )
        external = bool(told.get("isExternal"))
        publisher = None if external else RestPublisher(self.client, main, table_id, storage, root, schema)
        context = TableContext.of(str(main), storage, root, schema, self._manifests, publisher=publisher)
        context = context if found.branch == MAIN else context.on_branch(found.branch)
        if not external:
            self._check_history(found, context)
        return Table(context)

    def _told(self, name: Identifier) -> dict[str, Any]:
        return self.client.get("databases", name.database, "tables", name.object_name)

    def latest_snapshot(self, name: str) -> Snapshot | None:
        """The snapshot that the server holds for the latest; None for a table without one, or kept by no server."""
        found = Identifier.parse(name)
        try:
            told = self.client.get("databases", found.database, "tables", found.object_name, "snapshot")
        except (SnapshotNotFound, UnsupportedFeature):
            return None
        members = (told.get("snapshot") or {}).get("snapshot")
        return Snapshot.from_members(members) if isinstance(members, dict) else None

    def _check_history(self, name: Identifier, context: TableContext) -> None:
        latest = self.latest_snapshot(str(name))
        if latest is not None and not context.snapshots.exists(latest.id):
            raise UnsupportedFeature(
                f"table {name}: {self.client.uri} is at snapshot {latest.id}, no file of {context.paths.root}: "
                "servers that keep snapshots elsewhere are not supported",
                table=str(name),
            )

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
        """Ask the server to make a table, see ``Catalog.create_table``; checked here before it is asked."""
        found = Identifier.of_table(name, "create")
        wanted = {**self.defaults, **(options or {})}
        new = Definition(schema, primary_key, partition_by, wanted, types, comment).to_schema(name)
        check_definition(TableContext.of(name, FsspecStorage(MEMORY), f"/{found.database}/{found.table}", new))
        existing = self.list_tables(found.database)
        if found.table not in existing:
            new_name(found.table, "table", existing)
        members: dict[str, Any] = {
            "fields": [f.to_json() for f in new.fields],
            "partitionKeys": list(new.partition_keys),
            "primaryKeys": list(new.primary_keys),
            "options": dict(new.options),
        }
        if new.comment is not None:
            members["comment"] = new.comment
        body = {"identifier": {"database": found.database, "object": found.table}, "schema": members}
        try:
            self.client.post("databases", found.database, "tables", body=body)
        except AlreadyExists:
            if not ignore_if_exists:
                raise
        return self.table(name)

    def drop_table(self, name: str, *, ignore_if_missing: bool = False) -> None:
        """Ask the server to remove a table with its files."""
        found = Identifier.of_table(name, "drop")
        try:
            self.client.delete("databases", found.database, "tables", found.table)
        except NotFound:
            if not ignore_if_missing:
                raise

    def group(self, name: str) -> Group:
        """Refused: the server says where each table lies, and keeps no directory for groups."""
        raise UnsupportedFeature(f"table group {name!r}: a REST catalog has no warehouse directory for it", group=name)

    def rename_table(self, name: str, to: str) -> None:
        """Ask the server to give a table another name."""
        source, target = Identifier.of_table(name, "rename"), Identifier.of_table(to, "rename a table to")
        check_target(source, target, self.list_tables(target.database))
        body = {
            "source": {"database": source.database, "object": source.table},
            "destination": {"database": target.database, "object": target.table},
        }
        self.client.post("tables", "rename", body=body)


def _client(uri: str, values: Mapping[str, Any]) -> RestClient:
    headers = [(k.removeprefix(HEADER_PREFIX), Secret(v)) for k, v in values.items() if k.startswith(HEADER_PREFIX)]
    token = None if values["token"] is None else Secret(values["token"])
    return RestClient(uri, token, tuple(headers), values["prefix"], values["request-timeout"])


def _is_ours(key: str) -> bool:
    return key.startswith(HEADER_PREFIX) or key in {option.key for option in REST_OPTIONS}


def _table_type(told: Mapping[str, Any]) -> dict[str, str]:
    """The option ``type`` as the server tells it: tables of other types have no schema file to look into."""
    schema = told.get("schema")
    options = schema.get("options") if isinstance(schema, dict) else None
    return {"type": str(options["type"])} if isinstance(options, dict) and "type" in options else {}


def _texts(told: Any) -> dict[str, str]:
    if told is not None and not isinstance(told, dict):
        raise StorageError("the server's configuration is no object of texts")
    return {str(key): str(value) for key, value in (told or {}).items() if value is not None}


def _secret_texts(told: Mapping[str, str]) -> tuple[tuple[str, Secret], ...]:
    return tuple((key, Secret(value)) for key, value in sorted(told.items()))
