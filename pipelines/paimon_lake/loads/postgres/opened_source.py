"""Opened source: the state of a table of PostgreSQL at the begin of a load, and how its columns are read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.loads.database import DatabaseRead, split_column
from paimon_lake.loads.postgres.names import Names, names_of
from paimon_lake.loads.postgres.rules import check_generated, check_key, check_server, lost_column
from paimon_lake.loads.postgres.source_columns import SourceColumns
from paimon_lake.loads.shapes.row_shape import shape_of
from paimon_lake.loads.step import LoadStep
from paimon_lake.sources.database_rows import rows_of_database
from paimon_lake.sources.files.columns import required_columns
from paimon_lake.sources.postgres.position import Position
from paimon_lake.sources.postgres.server import Server, ServerFacts
from paimon_lake.sources.postgres.source_table import SourceTable, read_table


@dataclass(frozen=True)
class OpenedSource:
    """The current source of a load, with the slot and publication to use."""

    name: tuple[str, ...]
    facts: ServerFacts
    table: SourceTable
    read: DatabaseRead
    key: tuple[str, ...]
    """The columns of the source that are the primary key of the table."""
    names: Names
    columns: SourceColumns

    @property
    def text(self) -> str:
        """The name of the source in errors."""
        return self.read.database.name

    def position(self, lsn: int, version: str, known: Collection[str]) -> Position:
        """Return the position ``lsn`` in this source; ``version``: the version of its publication."""
        columns = {}
        for declared, name in zip(self.read.rows.schema.names, self.read.rows.columns, strict=True):
            column = self.table.columns[name]
            columns[declared] = [name, column.number, column.type_oid, column.type_modifier]
        return Position(
            lsn,
            self.facts.system,
            self.facts.timeline,
            self.facts.database,
            ".".join(self.name),
            self.table.oid,
            columns,
            list(known),
            self.names.slot,
            self.names.publication,
            version,
            self.table.made,
            self.table.file_node,
        )


def open_source(
    step: LoadStep,
    server: Server,
    options: PostgresChangesSource,
    names: Names | None,
    *,
    is_followed: bool,
    may_lack: Collection[str] = (),
    facts: ServerFacts | None = None,
) -> OpenedSource:
    """Return the source of a load; ``names``: the names of its shared slot, or None for a slot of its own.

    ``is_followed``: whether the source was copied before; ``may_lack``: the columns that the source may lack;
    ``facts``: the facts of the server, or None to ask for them. Raises PipelineError for a source that cannot be
    followed.
    """
    database, name = server.database, tuple(options.name.split("."))
    facts = facts or server.facts()
    check_server(database.name, facts)
    table, shape = read_table(server, name), shape_of(step.spec, options, step.table, step.lookups)
    folded = {column.casefold() for column in table.columns}
    if lacking := [name for name in shape.file_schema.names if name in may_lack and name.casefold() not in folded]:
        kept = [field for field in shape.file_schema if field.name not in lacking]
        shape = replace(shape, file_schema=pa.schema(kept))
    if is_followed:
        for column in shape.file_schema.names:
            if column.casefold() not in folded:
                raise lost_column(database.name, column, table.columns)
    key_columns = [column for column in step.spec.primary_key if column != options.source_column]
    required = required_columns(shape.file_schema, shape.rules) | set(key_columns)
    advice = "remove it from the declaration"
    rows = rows_of_database(
        database.name, table.schema(), shape.file_schema, required, is_postgresql=True, advice=advice
    )
    by_name = dict(zip(shape.file_schema.names, rows.columns, strict=True))
    key = tuple(by_name[column] for column in key_columns)
    check_key(database.name, table, key)
    check_generated(database.name, table, rows.columns)
    split = options.split and split_column(database.name, table.schema(), options.split, is_postgresql=True)
    read = DatabaseRead(database, shape, rows, (), split)
    columns = SourceColumns(database.name, name, table, key, options.schema_changes)
    names = names or names_of(step.settings, step.spec.load_name, options, step.ledger.position)
    return OpenedSource(name, facts, table, read, key, names, columns)
