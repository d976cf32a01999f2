"""Source table: the columns, keys, replica identity and publication of a table, from the catalog of PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.database_texts import arrow_type
from paimon_lake.sources.postgres.server import Server

_TABLE = """
SELECT c.oid::bigint, c.relkind::text, c.relreplident::text, row_security_active(c.oid),
  EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid), pg_relation_filenode(c.oid)::bigint, c.relnatts
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s
"""
_COLUMNS = """
SELECT a.attname::text, a.attnum, a.atttypid::bigint, a.atttypmod, CASE WHEN t.typtype = 'e' THEN 'enum'
    WHEN coalesce(b.typnamespace, t.typnamespace) = 'pg_catalog'::regnamespace THEN coalesce(b.typname, t.typname)::text
    ELSE format_type(a.atttypid, a.atttypmod) END, a.attgenerated <> '', a.attnotnull,
  CASE WHEN a.atthasmissing THEN a.attmissingval::text END
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_TYPES = """
SELECT t.oid::bigint, CASE WHEN t.typtype = 'e' THEN 'enum'
    WHEN coalesce(b.typnamespace, t.typnamespace) = 'pg_catalog'::regnamespace THEN coalesce(b.typname, t.typname)::text
    ELSE format_type(t.oid, NULL) END
FROM pg_type t LEFT JOIN pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype WHERE t.oid = ANY (%s::oid[])
"""
_KEYS = """
SELECT i.indisprimary, i.indisreplident, (SELECT array_agg(a.attname::text)
  FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, place)
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number WHERE k.place <= i.indnkeyatts)
FROM pg_index i WHERE i.indrelid = %s AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
  AND i.indexprs IS NULL
"""
_PUBLICATION = """
SELECT p.oid::bigint, p.xmin::text, p.puballtables, r.oid::bigint, r.xmin::text,
  p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate, (SELECT to_jsonb(t) FROM pg_publication_tables t
    WHERE t.pubname = p.pubname AND t.schemaname = %s AND t.tablename = %s)
FROM pg_publication p LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = %s WHERE p.pubname = %s
"""


@dataclass(frozen=True)
class SourceColumn:
    """A column of the table; messages of pgoutput contain the same ``type_oid`` and ``type_modifier``."""

    name: str
    number: int
    type_oid: int
    type_modifier: int
    type_name: str
    """The name of the type; for a domain, of its base type; ``enum`` for every enumerated type."""
    is_generated: bool
    is_not_null: bool
    older_value: str | None = None
    """The text of an array with the value of rows that are older than the column; None: null or rewritten."""


@dataclass(frozen=True)
class SourceTable:
    """The current state of a table of PostgreSQL."""

    oid: int
    file_node: int
    """The file node; it changes when the table is truncated or rewritten."""
    columns: Mapping[str, SourceColumn]
    identity: str
    """The values of the old row that the log contains: ``d`` the primary key, ``i`` the key of an index, ``f`` all,
    ``n`` nothing.
    """
    identity_key: frozenset[str]
    """The columns of the primary key or of the index that the replica identity names."""
    keys: frozenset[frozenset[str]]
    """The columns of each unique key without nulls that is not deferrable."""
    made: int = 0
    """The number of columns that were ever created, dropped columns included."""

    def schema(self) -> pa.Schema:
        """Return the columns that can be read, as the driver of PostgreSQL describes them."""
        fields = []
        for column in self.columns.values():
            metadata = {b"POSTGRESQL:type": column.type_name.encode()}
            fields.append(pa.field(column.name, arrow_type(column.type_name) or pa.null(), metadata=metadata))
        return pa.schema(fields)


@dataclass(frozen=True)
class Publication:
    """A publication, and its settings for one table."""

    version: str
    """A text that differs after every change of the publication that concerns the table."""
    names_table: bool
    """Whether the publication names the table, or all tables; a publication of a schema does not name its tables."""
    has_all_kinds: bool
    columns: Sequence[str] | None
    """The columns that the publication sends; None: all columns."""
    has_filter: bool


def read_table(server: Server, name: Sequence[str]) -> SourceTable:
    """Return a table, given by schema and name; raises PipelineError for a table that cannot be followed."""
    found = server.rows(_TABLE, name)
    if not found:
        raise PipelineError(f"{server.database.name}: there is no such table: correct source.table")
    oid, kind, identity, hides_rows, has_children, file_node, made = found[0]
    if kind != "r" or has_children:
        what = {"p": "a partitioned table", "v": "a view", "m": "a materialized view", "f": "a foreign table"}
        raise PipelineError(
            f"{server.database.name} is {what.get(kind, 'a table with child tables')}, whose changes are not in the "
            "log under its name: declare a table for each of its parts, or one with source_column for all of them"
        )
    if hides_rows:
        raise PipelineError(
            f"{server.database.name} has row security, which would hide rows from the first copy: give the user "
            "BYPASSRLS, or make it the owner"
        )
    columns = {row[0]: SourceColumn(*row) for row in server.rows(_COLUMNS, [oid])}
    keys, identity_key = set(), frozenset[str]()
    for is_primary, is_identity, names in server.rows(_KEYS, [oid]):
        key = frozenset(names)
        if all(columns[column].is_not_null for column in key):
            keys.add(key)
        if (identity == "d" and is_primary) or (identity == "i" and is_identity):
            identity_key = key
    return SourceTable(oid, file_node, columns, identity, identity_key, frozenset(keys), made)


def type_names(server: Server, oids: Collection[int]) -> dict[int, str]:
    """Return the names of types as ``SourceColumn.type_name`` has them; dropped types are left out."""
    return dict(server.rows(_TYPES, [list(oids)]))


def has_values(server: Server, name: Sequence[str], column: str) -> bool:
    """Whether a row of the table has a value that is not null in a column; reads the table."""
    from psycopg import sql

    query = sql.SQL("SELECT EXISTS (SELECT FROM ONLY {} WHERE {} IS NOT NULL)")
    return bool(server.rows(query.format(sql.Identifier(*name), sql.Identifier(column)))[0][0])


def read_publication(server: Server, publication: str, name: Sequence[str], oid: int) -> Publication | None:
    """Return a publication with its settings for a table; None when the server has no publication with this name."""
    found = server.rows(_PUBLICATION, [*name, oid, publication])
    if not found:
        return None
    number, version, has_all_tables, entry, entry_version, has_all_kinds, seen = found[0]
    is_listed, seen = seen is not None, seen or {}  # a publication of all tables has no unlogged tables
    return Publication(
        f"{number}:{version}:{entry}:{entry_version}",
        is_listed and (has_all_tables or entry is not None),
        has_all_kinds,
        seen.get("attnames"),
        seen.get("rowfilter") is not None,
    )
