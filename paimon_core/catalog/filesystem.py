"""FilesystemCatalog: databases and tables as directories of a warehouse (format 1.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from paimon_core.datafile.format_rules import check_formats
from paimon_core.errors import (
    AlreadyExists,
    DatabaseNotFound,
    InvalidOption,
    InvalidRequest,
    TableNotFound,
)
from paimon_core.lsm.engines.choice import merge_engine
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifest_store import ManifestCache
from paimon_core.metadata.schema_store import SchemaStore
from paimon_core.metadata.table_rules import check_table
from paimon_core.options import TableOptions
from paimon_core.schema import new_schema
from paimon_core.storage.paths import DATABASE_SUFFIX, TablePaths, database_path, table_path
from paimon_core.storage.storage import Storage
from paimon_core.table.table import Table


@dataclass(frozen=True)
class Identifier:
    """``database.table``."""

    database: str
    table: str

    @staticmethod
    def parse(text: str) -> Identifier:
        """From ``database.table``; raises InvalidRequest for anything else."""
        parts = text.split(".") if isinstance(text, str) else []
        if len(parts) != 2 or not all(parts):
            raise InvalidRequest(f"table name {text!r} must be 'database.table'", name=text)
        return Identifier(parts[0], parts[1])

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


@dataclass(frozen=True)
class FilesystemCatalog:
    """The tables below one warehouse directory."""

    storage: Storage
    warehouse: str
    _manifests: ManifestCache = field(default_factory=ManifestCache, repr=False, compare=False)

    # -- databases

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Make a database; raises AlreadyExists unless told to ignore it."""
        if self.database_exists(name):
            if ignore_if_exists:
                return
            raise AlreadyExists(f"database {name} exists already", database=name)
        self.storage.make_directory(database_path(self.warehouse, name))

    def database_exists(self, name: str) -> bool:
        """Whether the database is there."""
        return self.storage.exists(database_path(self.warehouse, name))

    def list_databases(self) -> list[str]:
        """The names of all databases, sorted."""
        found = self.storage.list(self.warehouse)
        names = (
            i.name.removesuffix(DATABASE_SUFFIX) for i in found if i.is_directory and i.name.endswith(DATABASE_SUFFIX)
        )
        return sorted(n for n in names if n)

    def drop_database(self, name: str, *, cascade: bool = False, ignore_if_missing: bool = False) -> None:
        """Remove a database; raises InvalidRequest when it holds tables, unless ``cascade``."""
        if not self.database_exists(name):
            if ignore_if_missing:
                return
            raise DatabaseNotFound(f"no database {name} in {self.warehouse}", database=name)
        tables = self.list_tables(name)
        if tables and not cascade:
            raise InvalidRequest(
                f"database {name} holds {len(tables)} tables: drop them first, or cascade", database=name
            )
        self.storage.delete_directory(database_path(self.warehouse, name))

    def _check_database(self, name: str) -> None:
        if not self.database_exists(name):
            known = ", ".join(self.list_databases()) or "none"
            raise DatabaseNotFound(f"no database {name} in {self.warehouse} (databases: {known})", database=name)

    # -- tables

    def list_tables(self, database: str) -> list[str]:
        """The names of the tables of a database, sorted."""
        self._check_database(database)
        root = database_path(self.warehouse, database)
        return sorted(
            i.name
            for i in self.storage.list(root)
            if i.is_directory and SchemaStore(self.storage, TablePaths(i.path)).ids()
        )

    def table_exists(self, name: str) -> bool:
        """Whether ``database.table`` is there."""
        return self._schemas(Identifier.parse(name)).latest() is not None

    def table(self, name: str) -> Table:
        """Open ``database.table`` at its latest snapshot.

        Raises DatabaseNotFound, TableNotFound, and UnsupportedFeature naming the option, type or feature that this
        library cannot read rightly.
        """
        identifier = Identifier.parse(name)
        schema = self._schemas(identifier).latest()
        if schema is None:
            self._check_database(identifier.database)
            known = ", ".join(self.list_tables(identifier.database)) or "none"
            raise TableNotFound(f"no table {name} in {self.warehouse} (tables: {known})", table=name)
        return Table(TableContext.of(name, self.storage, self._root(identifier), schema, self._manifests))

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
        identifier = Identifier.parse(name)
        for role, keys in (("primary_key", primary_key), ("partition_by", partition_by)):
            if not isinstance(keys, list | tuple) or not all(isinstance(k, str) for k in keys):
                raise InvalidRequest(f"{role} must be a list of column names, not {keys!r:.60}")
        if comment is not None and not isinstance(comment, str):
            raise InvalidRequest(f"comment must be text, not {comment!r:.60}")
        if types is not None and not isinstance(types, Mapping):
            raise InvalidRequest(f"types must map column names to type texts, not {types!r:.60}")
        new = new_schema(
            _arrow_schema(schema),
            primary_key=primary_key,
            partition_by=partition_by,
            options=_option_texts(options or {}),
            types=types,
            comment=comment,
        )
        TableOptions.parse(new.options, table=name, creating=True)
        context = TableContext.of(name, self.storage, self._root(identifier), new, self._manifests)
        check_table(context)
        check_formats(context.schema, context.options)
        merge_engine(context.schema, context.options)
        self._check_database(identifier.database)
        if context.schemas.latest() is None and context.snapshots.ids():
            raise InvalidRequest(f"{self._root(identifier)} has snapshots and no schema: it is the rest of a table")
        if context.schemas.latest() is None and context.schemas.publish(new):
            return Table(context)
        if ignore_if_exists:
            return self.table(name)
        raise AlreadyExists(f"table {name} exists already", table=name)

    def drop_table(self, name: str, *, ignore_if_missing: bool = False) -> None:
        """Remove a table with all of its files."""
        identifier = Identifier.parse(name)
        if not self.table_exists(name):
            if ignore_if_missing:
                return
            raise TableNotFound(f"no table {name} in {self.warehouse}", table=name)
        self.storage.delete_directory(self._root(identifier))

    def _root(self, identifier: Identifier) -> str:
        return table_path(self.warehouse, identifier.database, identifier.table)

    def _schemas(self, identifier: Identifier) -> SchemaStore:
        return SchemaStore(self.storage, TablePaths(self._root(identifier)))


def _arrow_schema(schema: Any) -> pa.Schema:
    if isinstance(schema, pa.Schema):
        return schema
    if hasattr(schema, "__arrow_c_schema__"):
        return pa.schema(schema)
    if hasattr(schema, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(schema).schema
    raise InvalidRequest(f"schema must be a pyarrow.Schema or export one, not {type(schema).__name__}")


def _option_texts(options: Mapping[str, str]) -> dict[str, str]:
    for key, value in options.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidOption(f"option {key!r} = {value!r} must be text on both sides", option=key)
    return dict(options)
