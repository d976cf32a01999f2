"""Inferred columns: the columns of a new declaration, from the catalog of PostgreSQL."""

from __future__ import annotations

from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.declarations.table import TableSpec
from paimon_lake.loads.postgres.slot_keys import naming_keys
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.database import Database
from paimon_lake.sources.postgres.column_types import column_type
from paimon_lake.sources.postgres.found_tables import found_tables
from paimon_lake.sources.postgres.server import connected
from paimon_lake.sources.postgres.source_table import read_table


def inferred_columns(
    database: Database, spec: TableSpec, source: PostgresChangesSource
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the types of the columns by name, and for each column that is left out the reason.

    Columns are nullable, except the columns of the primary key, so that a column may lose its NOT NULL in the source.
    If there are several tables, each column has the type of the first table that has the column. Raises PipelineError
    for a table that cannot be followed, and when no column can be read.
    """
    columns = {source.source_column: "STRING"} if source.source_column else {}
    left_out: dict[str, str] = {}
    with naming_keys(source.database), connected(database) as server:
        for name in found_tables(server, source.table) if source.source_column else source.table:
            for column in read_table(server, name.split(".")).columns.values():
                kind = column_type(column.type_name, column.type_modifier)
                if column.is_generated:
                    left_out[column.name] = "it is generated, and the log does not contain it"
                elif kind is None:
                    left_out[column.name] = f"its type {column.type_name} cannot be read"
                else:
                    columns.setdefault(column.name, kind.sql)
    if lacking := [one for one in spec.primary_key if one not in columns]:
        raise PipelineError(f"{database.name}: {lacking[0]!r:.80} of primary_key is not a column that can be read")
    return columns, {name: why for name, why in left_out.items() if name not in columns}
