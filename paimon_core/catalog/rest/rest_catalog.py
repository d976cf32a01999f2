"""RestCatalog: the databases and tables of a Paimon REST server, which also creates the snapshots (format 14.9).

This process reads and writes data files and manifests in the store that the server names; the server creates the
snapshot files. External tables are an exception: the server does not manage their snapshots, so this process creates
the snapshot files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from paimon_core.catalog.catalog import Catalog
from paimon_core.catalog.definition import check_definition
from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.names import check_target, new_name
from paimon_core.catalog.options import CACHE_OPTIONS, HEADER_PREFIX, REST_OPTIONS, parse_catalog_options
from paimon_core.catalog.rest.client import RestClient
from paimon_core.catalog.rest.publisher import RestPublisher, RestSchemaPublisher
from paimon_core.catalog.rest.table_store import TableStore
from paimon_core.catalog.warehouse_tables import not_empty
from paimon_core.display import Displayed, Summary
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
from paimon_core.metadata.stores.manifest_cache import ManifestCache
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.options import TableOptions
from paimon_core.schema import TableSchema
from paimon_core.storage.fsspec_storage import MEMORY, FsspecStorage, confined
from paimon_core.storage.paths import MAIN, TablePaths, identifier
from paimon_core.storage.secret import Secret
from paimon_core.table.table import Table

TABLE_DEFAULT = "table-default."


@dataclass(frozen=True, repr=False)
class RestCatalog(Displayed, Catalog):
    """The tables of one warehouse of a REST server; ``RestCatalog.open`` connects to it."""

    warehouse: str
    client: RestClient
    store: TableStore = field(repr=False)
    defaults: Mapping[str, str] = field(repr=False)
    """The options that the server sets for every new table."""
    given: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The options with which the catalog was opened, without secrets."""
    manifests: ManifestCache = field(default_factory=ManifestCache, repr=False, compare=False)

    @staticmethod
    def open(
        warehouse: str, uri: str, options: Mapping[str, str] | None = None, storage: Mapping[str, str] | None = None
    ) -> RestCatalog:
        """Request the configuration of a server (defaults and overrides of options), and return its catalog.

        Raises InvalidRequest for an invalid ``uri``; InvalidOption, which names the option, for an option of the caller
        or of the server that is wrong or not supported.
        """
        address = RestClient.checked_uri(uri)
        given = dict(options or {})
        first = _client(address, parse_catalog_options(given, (*REST_OPTIONS, *CACHE_OPTIONS), "rest", headers=True))
        config = replace(first, prefix=None).get("config", query={"warehouse": warehouse})
        configured = {**_texts(config.get("defaults")), **given, **_texts(config.get("overrides"))}
        used = {key: text for key, text in configured.items() if key in given or _is_catalog_option(key)}
        values = parse_catalog_options(used, (*REST_OPTIONS, *CACHE_OPTIONS), "rest", headers=True)
        client = _client(address, values)
        store = TableStore(client, dict(storage or {}), _secret_texts(configured), values["data-token.enabled"])
        defaults = {k.removeprefix(TABLE_DEFAULT): v for k, v in configured.items() if k.startswith(TABLE_DEFAULT)}
        return RestCatalog(warehouse, client, store, defaults)

    def _summary(self) -> Summary:
        return Summary(self.warehouse, (("uri", self.client.uri),))

    # -- databases

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Create a database; raises AlreadyExists unless ``ignore_if_exists``."""
        try:
            existing = self.list_databases()
            if name not in existing:
                new_name(name, "database", existing)
            self.client.post("databases", body={"name": name, "options": {}})
        except AlreadyExists as error:
            if not ignore_if_exists or error.facts.get("status") != 409:
                raise

    def database_exists(self, name: str) -> bool:
        """Whether the database exists."""
        try:
            self.client.get("databases", identifier(name, "database"))
        except NotFound:
            return False
        return True

    def list_databases(self) -> list[str]:
        """Return the names of all databases, sorted."""
        return sorted(self.client.pages("databases", "databases"))

    def drop_database(self, name: str, *, cascade: bool = False, ignore_if_missing: bool = False) -> None:
        """Delete a database; raises InvalidRequest when it contains tables, unless ``cascade``."""
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
        """Return the names of the tables of a database, sorted."""
        return sorted(self.client.pages("tables", "databases", identifier(database, "database"), "tables"))

    def table_exists(self, name: str) -> bool:
        """Whether the table exists; for the name of a branch, whether the branch exists."""
        try:
            self._description(Identifier.parse(name))
        except NotFound:
            return False
        return True

    def table(self, name: str) -> Table:
        """Open a table, or a branch of the table, at its latest snapshot.

        Raises UnsupportedFeature, in addition to the errors of ``Catalog.table``, for a server that does not store
        schemas and snapshots as files of the table.
        """
        found = Identifier.parse(name)
        main = Identifier(found.database, found.table)
        description = self._description(found)
        TableOptions.parse(_table_type(description), table=str(main))
        place, table_id = description.get("path"), description.get("id")
        if not isinstance(place, str) or not isinstance(table_id, str):
            raise CorruptTable(f"the answer of {self.client.uri} contains no path or no id of table {name}", table=name)
        storage, root = self.store.open(main, place)
        schema = SchemaStore(confined(storage, root), TablePaths(root)).latest()
        schema_id = description.get("schemaId")
        if schema is None or (found == main and (type(schema_id) is not int or schema.id < schema_id)):
            raise UnsupportedFeature(
                f"table {name}: {self.client.uri} has schema {schema_id!r:.40}, but {root}/schema does not contain it: "
                "servers that store schemas elsewhere are not supported",
                table=name,
            )
        external = bool(description.get("isExternal"))
        publisher = None if external else RestPublisher(self.client, main, table_id, storage, root, schema)
        schemas = RestSchemaPublisher(self.client, main)
        context = TableContext.of(
            str(main), storage, root, schema, self.manifests, publisher=publisher, schema_publisher=schemas
        )
        context = context if found.branch == MAIN else context.on_branch(found.branch)
        if not external:
            self._check_history(found, context)
        return Table(context)

    def _description(self, name: Identifier) -> dict[str, Any]:
        return self.client.get("databases", name.database, "tables", name.object_name)

    def latest_snapshot(self, name: str) -> Snapshot | None:
        """Return the server's latest snapshot; None if the table has none, or the server manages no snapshots."""
        found = Identifier.parse(name)
        try:
            answer = self.client.get("databases", found.database, "tables", found.object_name, "snapshot")
        except (SnapshotNotFound, UnsupportedFeature):
            return None
        found_snapshot = answer.get("snapshot")
        members = found_snapshot.get("snapshot") if isinstance(found_snapshot, dict) else None
        return Snapshot.from_members(members) if isinstance(members, dict) else None

    def _check_history(self, name: Identifier, context: TableContext) -> None:
        latest = self.latest_snapshot(str(name))
        if latest is not None and not context.snapshots.exists(latest.id):
            raise UnsupportedFeature(
                f"table {name}: {self.client.uri} has snapshot {latest.id}, which is no file in {context.paths.root}: "
                "servers that store snapshots elsewhere are not supported",
                table=str(name),
            )

    @property
    def _default_options(self) -> Mapping[str, str]:
        return self.defaults

    def _create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool) -> Table:
        """Request the server to create the table, and open it."""
        name = str(identifier)
        root = f"/{identifier.database}/{identifier.table}"
        check_definition(TableContext.of(name, FsspecStorage(MEMORY), root, schema))
        existing = self.list_tables(identifier.database)
        if identifier.table not in existing:
            new_name(identifier.table, "table", existing)
        members: dict[str, Any] = {
            "fields": [f.to_json() for f in schema.fields],
            "partitionKeys": list(schema.partition_keys),
            "primaryKeys": list(schema.primary_keys),
            "options": dict(schema.options),
        }
        if schema.comment is not None:
            members["comment"] = schema.comment
        body = {"identifier": {"database": identifier.database, "object": identifier.table}, "schema": members}
        try:
            self.client.post("databases", identifier.database, "tables", body=body)
        except AlreadyExists:
            if not ignore_if_exists:
                raise
        return self.table(name)

    def drop_table(self, name: str, *, ignore_if_missing: bool = False) -> None:
        """Request the server to delete a table with its files."""
        found = Identifier.of_table(name, "drop")
        try:
            self.client.delete("databases", found.database, "tables", found.table)
        except NotFound:
            if not ignore_if_missing:
                raise

    def group(self, name: str) -> Group:
        """Raise UnsupportedFeature: the server defines the directory of each table and has no directory for groups."""
        raise UnsupportedFeature(
            f"table group {name!r}: a REST catalog has no warehouse directory for groups", group=name
        )

    def rename_table(self, name: str, to: str) -> None:
        """Request the server to rename a table."""
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


def _is_catalog_option(key: str) -> bool:
    return key.startswith(HEADER_PREFIX) or key in {option.key for option in REST_OPTIONS}


def _table_type(description: Mapping[str, Any]) -> dict[str, str]:
    """Return the option ``type`` from the server's description of a table.

    The type is checked before the schema file is read, because some types of tables have no schema file.
    """
    schema = description.get("schema")
    options = schema.get("options") if isinstance(schema, dict) else None
    return {"type": str(options["type"])} if isinstance(options, dict) and "type" in options else {}


def _texts(members: Any) -> dict[str, str]:
    if members is not None and not isinstance(members, dict):
        raise StorageError("the server's configuration is not a JSON object of strings")
    return {str(key): str(value) for key, value in (members or {}).items() if value is not None}


def _secret_texts(members: Mapping[str, str]) -> tuple[tuple[str, Secret], ...]:
    return tuple((key, Secret(value)) for key, value in sorted(members.items()))
