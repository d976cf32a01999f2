"""SqlNames: the rows of a SQL catalog, in the SQL tables of Paimon's JDBC catalog, which Java also uses (format 14.8).

Every method that changes rows is one transaction. SQLAlchemy builds the statements: names are parameters, never SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.sql.connection import SqlConnection
from paimon_core.errors import AlreadyExists, InvalidOption, StorageError
from paimon_core.schema import TableSchema

LONGEST_NAME = 255
LONGEST_VALUE = 1000
_METADATA = sa.MetaData()


def _key(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.String(LONGEST_NAME), primary_key=True)


TABLES = sa.Table("paimon_tables", _METADATA, _key("catalog_key"), _key("database_name"), _key("table_name"))
DATABASE_PROPERTIES = sa.Table(
    "paimon_database_properties",
    _METADATA,
    _key("catalog_key"),
    _key("database_name"),
    _key("property_key"),
    sa.Column("property_value", sa.String(LONGEST_VALUE)),
)
TABLE_PROPERTIES = sa.Table(
    "paimon_table_properties",
    _METADATA,
    _key("catalog_key"),
    _key("database_name"),
    _key("table_name"),
    _key("property_key"),
    sa.Column("property_value", sa.String(LONGEST_VALUE)),
)
LOCKS = sa.Table(
    "paimon_distributed_locks",
    _METADATA,
    sa.Column("lock_id", sa.String(255), primary_key=True),
    sa.Column("acquired_at", sa.TIMESTAMP, server_default=sa.func.current_timestamp(), nullable=False),
    sa.Column("expire_time_seconds", sa.BigInteger, server_default="0", nullable=False),
)
_VIEWS = sa.table("paimon_views", sa.column("catalog_key"), sa.column("database_name"), sa.column("view_name"))


@dataclass(frozen=True)
class SqlNames:
    """The names of the databases and tables of one catalog, which ``key`` identifies in the SQL database."""

    connection: SqlConnection
    key: str

    def prepare(self) -> None:
        """Create the SQL tables that are missing; several processes may call this at the same time."""
        self.connection.share()
        for last in (False, False, True):
            if not self._missing():
                return
            try:
                with self.connection.transaction() as connection:
                    _METADATA.create_all(connection)
            except (StorageError, IntegrityError) as error:
                if last:
                    raise StorageError(f"cannot create the catalog's tables in {self.connection}: {error}") from None

    def _missing(self) -> set[str]:
        with self.connection.transaction() as connection:
            return set(_METADATA.tables) - set(sa.inspect(connection).get_table_names())

    # -- databases

    def databases(self) -> list[str]:
        """Return the names of all databases, sorted.

        As in Java, databases that contain tables but have no properties are included.
        """
        with self.connection.transaction() as connection:
            found = {
                name
                for table in (TABLES, DATABASE_PROPERTIES)
                for (name,) in connection.execute(
                    sa.select(table.c.database_name).where(table.c.catalog_key == self.key).distinct()
                )
            }
        return sorted(found)

    def has_database(self, name: str) -> bool:
        """Whether the database exists."""
        with self.connection.transaction() as connection:
            return any(
                connection.execute(sa.select(sa.literal(1)).where(*self._in(table, name)).limit(1)).first()
                for table in (DATABASE_PROPERTIES, TABLES)
            )

    def add_database(self, name: str, location: str) -> None:
        """Add a database with its location; raises AlreadyExists."""
        properties = {"exists": "true", "location": location}
        rows = [
            {"catalog_key": self.key, "database_name": name, "property_key": k, "property_value": v}
            for k, v in properties.items()
        ]
        try:
            with self.connection.transaction() as connection:
                connection.execute(sa.insert(DATABASE_PROPERTIES), rows)
        except IntegrityError:
            raise AlreadyExists(f"database {name} already exists", database=name) from None

    def remove_database(self, name: str) -> None:
        """Delete the rows of a database and of all its tables."""
        with self.connection.transaction() as connection:
            for table in (TABLES, TABLE_PROPERTIES, DATABASE_PROPERTIES):
                connection.execute(sa.delete(table).where(*self._in(table, name)))

    # -- tables

    def tables(self, database: str) -> list[str]:
        """Return the names of the tables of a database, sorted."""
        with self.connection.transaction() as connection:
            found = connection.execute(sa.select(TABLES.c.table_name).where(*self._in(TABLES, database)))
            return sorted(name for (name,) in found)

    def has(self, name: Identifier) -> bool:
        """Whether a table exists."""
        with self.connection.transaction() as connection:
            return self._exists(connection, name)

    def has_view(self, name: Identifier) -> bool:
        """Whether a view of this name exists. Only newer Java catalogs store views, so the SQL table may be missing."""
        columns = _VIEWS.c
        where = (columns.catalog_key == self.key, columns.database_name == name.database)
        with self.connection.transaction() as connection:
            if not sa.inspect(connection).has_table(_VIEWS.name):
                return False
            select = sa.select(sa.literal(1)).where(*where, columns.view_name == name.table)
            return connection.execute(select).first() is not None

    def add(self, name: Identifier, schema: TableSchema) -> None:
        """Add a table with its options and keys as properties; raises AlreadyExists."""
        properties = self._properties(name, schema)
        try:
            with self.connection.transaction() as connection:
                connection.execute(sa.insert(TABLES), [self._row(name)])
                self._replace(connection, name, properties)
        except IntegrityError:
            raise AlreadyExists(f"table {name} already exists", table=str(name)) from None

    def replace_properties(self, name: Identifier, schema: TableSchema) -> None:
        """Replace the properties of a table by the options and keys of its new schema."""
        properties = self._properties(name, schema)
        with self.connection.transaction() as connection:
            self._replace(connection, name, properties)

    def _row(self, name: Identifier) -> dict[str, str]:
        return {"catalog_key": self.key, "database_name": name.database, "table_name": name.table}

    def _properties(self, name: Identifier, schema: TableSchema) -> list[dict[str, str]]:
        row = self._row(name)
        found = table_properties(schema).items()
        return [{**row, "property_key": key, "property_value": value} for key, value in found]

    def _replace(self, connection: sa.Connection, name: Identifier, properties: list[dict[str, str]]) -> None:
        connection.execute(sa.delete(TABLE_PROPERTIES).where(*self._at(TABLE_PROPERTIES, name)))
        if properties:
            connection.execute(sa.insert(TABLE_PROPERTIES), properties)

    def remove(self, name: Identifier) -> bool:
        """Delete the rows of a table; return False when the table had no rows."""
        with self.connection.transaction() as connection:
            deleted = connection.execute(sa.delete(TABLES).where(*self._at(TABLES, name))).rowcount
            connection.execute(sa.delete(TABLE_PROPERTIES).where(*self._at(TABLE_PROPERTIES, name)))
        return bool(deleted)

    def rename(self, source: Identifier, target: Identifier) -> bool:
        """Change the name in the rows of a table; return False when the table had no rows. Raises AlreadyExists."""
        named = {"database_name": target.database, "table_name": target.table}
        try:
            with self.connection.transaction() as connection:
                moved = connection.execute(sa.update(TABLES).where(*self._at(TABLES, source)).values(named)).rowcount
                connection.execute(sa.update(TABLE_PROPERTIES).where(*self._at(TABLE_PROPERTIES, source)).values(named))
        except IntegrityError:
            raise AlreadyExists(f"table {target} already exists", table=str(target)) from None
        return bool(moved)

    def _exists(self, connection: sa.Connection, name: Identifier) -> bool:
        return connection.execute(sa.select(sa.literal(1)).where(*self._at(TABLES, name))).first() is not None

    def _in(self, table: sa.Table, database: str) -> tuple[sa.ColumnElement[bool], ...]:
        return table.c.catalog_key == self.key, table.c.database_name == database

    def _at(self, table: sa.Table, name: Identifier) -> tuple[sa.ColumnElement[bool], ...]:
        return (*self._in(table, name.database), table.c.table_name == name.table)


def table_properties(schema: TableSchema) -> Mapping[str, str]:
    """Return the properties that the catalog stores for a schema: its options, and its keys as options.

    Raises InvalidOption for a name or value that is too long for its column.
    """
    properties = dict(schema.options)
    keys = {"bucket-key": schema.trimmed_primary_keys} if "bucket-key" not in properties else {}
    for key, columns in {**keys, "primary-key": schema.primary_keys, "partition": schema.partition_keys}.items():
        if columns:
            properties[key] = ",".join(columns)
    for key, value in properties.items():
        for what, text, limit in (("name", key, LONGEST_NAME), ("value", value, LONGEST_VALUE)):
            if len(text) > limit:
                raise InvalidOption(
                    f"option {key!r:.80}: the {what} has {len(text)} characters, the limit of a SQL catalog is {limit}",
                    option=key,
                )
    return properties
