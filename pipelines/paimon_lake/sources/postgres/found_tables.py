"""Found tables: the existing tables of PostgreSQL that match a list of names and patterns.

In a pattern, ``*`` stands for any text. A pattern matches tables, and no views. A partitioned table has no rows of its
own: it is left out, and all of its partitions must match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from paimon_lake.protocol import PipelineError, some
from paimon_lake.sources.postgres.server import Server

MOST_TABLES = 100
"""The largest number of source tables of one table; each snapshot of the table contains a position for each source
table.
"""
_TABLES = """
SELECT n.nspname::text, c.relname::text, c.relkind::text, c.oid::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND EXISTS
  (SELECT FROM unnest(%s::text[], %s::text[]) AS wanted (schema, name)
   WHERE n.nspname ~ wanted.schema AND c.relname ~ wanted.name)
ORDER BY 1, 2
"""
_PARTS = """
SELECT n.nspname || '.' || c.relname FROM pg_partition_tree(%s::oid) AS part JOIN pg_class c ON c.oid = part.relid
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE part.isleaf AND c.relkind <> 'p' ORDER BY 1
"""
_SIZES = "SELECT oid::bigint, pg_table_size(oid) FROM unnest(%s::oid[]) AS oid"


def found_tables(server: Server, wanted: Sequence[str]) -> list[str]:
    """Return the sorted names ``schema.name`` of the tables that match ``wanted``.

    Raises PipelineError for a name without a table, for patterns that no table matches, for more than ``MOST_TABLES``
    tables, and for a partitioned table without some of its parts.
    """
    kinds, oids = {}, {}
    for schema, name, kind, oid in _matching(server, wanted):
        if "." in schema or "." in name:
            raise PipelineError(
                f"{server.database.name}: the table {name!r:.80} in the schema {schema!r:.80} has a dot in its name: "
                "rename it, or use a pattern that it does not match"
            )
        kinds[f"{schema}.{name}"], oids[f"{schema}.{name}"] = kind, oid
    for one in wanted:
        if "*" not in one and one not in kinds:
            raise PipelineError(f"{server.database.place} {one}: there is no such table: correct source.table")
    for one in [name for name, kind in kinds.items() if kind == "p"]:
        _check_parts(server, one, oids[one], kinds)
        del kinds[one]
    if not kinds:
        raise PipelineError(f"{server.database.name}: there is no such table: correct source.table")
    if len(kinds) > MOST_TABLES:
        raise PipelineError(
            f"{server.database.name}: {len(kinds):,} tables match, and one table follows at most {MOST_TABLES}: use a "
            "narrower pattern, and declare a table for the other ones"
        )
    return sorted(kinds)


def meant_tables(server: Server, wanted: Sequence[str]) -> set[str]:
    """Return the names of the tables that match ``wanted``, even when ``found_tables`` would raise an error."""
    return {f"{schema}.{name}" for schema, name, *_ in _matching(server, wanted) if "." not in schema + name}


def table_sizes(server: Server, oids: Sequence[int]) -> Mapping[int, int]:
    """Return about how many bytes of disk each table has, by its object identifier."""
    return dict(server.rows(_SIZES, [list(oids)]))


def _matching(server: Server, wanted: Sequence[str]) -> list[tuple[str, str, str, int]]:
    """Return schema, name, kind and object identifier of each table whose name matches."""
    schemas, names = zip(*(map(_expression, one.split(".")) for one in wanted), strict=True)
    return server.rows(_TABLES, [list(schemas), list(names)])


def _expression(pattern: str) -> str:
    return f"^{'.*'.join(map(re.escape, pattern.split('*')))}$"


def _check_parts(server: Server, name: str, oid: int, kinds: Mapping[str, str]) -> None:
    if missing := [part for (part,) in server.rows(_PARTS, [oid]) if part not in kinds]:
        raise PipelineError(
            f"{server.database.place} {name} is a partitioned table, whose changes are in the log under the names of "
            f"its parts, and source.table does not mean its parts {some(missing)}: name its parts, or a pattern that "
            "all of them match"
        )
