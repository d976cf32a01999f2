"""Tables: runs CREATE, DROP, ALTER, TRUNCATE and ANALYZE with the methods of the catalog and of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from paimon_core.alter.changes import AddColumn, DropColumn, RemoveOption, RenameColumn, SchemaChange, path_of
from paimon_core.errors import AlreadyExists, PaimonError
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.spark.sql.grammar.cursor import fail
from paimon_core.spark.sql.grammar.parts import refuse_doubled
from paimon_core.spark.sql.grammar.statements import (
    AlterTable,
    Analyze,
    CreateDatabase,
    CreateLike,
    CreateTable,
    DropDatabase,
    DropTable,
    RemovePartitions,
    RenameTable,
    TableName,
)
from paimon_core.spark.sql.names import Names, column_of, located
from paimon_core.spark.sql.partitions import partition_predicate
from paimon_core.spark.sql.queries import frame
from paimon_core.spark.sql.replacing import replace_table
from paimon_core.spark.sql.writing import errors_of_writes
from paimon_core.spark.writes.writer import write_spark
from paimon_core.table.table import Table
from paimon_core.types import DataType

_PRIMARY_KEY = "primary-key"


def create(spark: SparkSession, names: Names, statement: CreateTable, text: str) -> Snapshot | None:
    """Create a table, and write the rows of the statement's query if it has one; return the snapshot of the rows.

    When the rows cannot be written, the new table is dropped. An existing table is replaced only after the new table
    has all of its rows (see ``replace_table``).
    """
    full = _new_name(names, statement.table, text)
    exists = names.catalog.table_exists(full)
    if statement.must_exist and not exists:
        names.unknown(statement.table, text)
    if exists and statement.if_not_exists:
        return None
    if exists and not statement.replace:
        raise AlreadyExists(f"table {full} exists", table=full)
    old = names.catalog.table(full) if exists else None  # opened before the query reads it
    rows = None if statement.query is None else frame(spark, names, statement.query)
    if rows is not None and statement.query is not None:
        refuse_doubled(rows.columns, text, statement.query.start, "the query")

    def write(table: Table) -> Snapshot | None:
        if rows is None:
            return None
        with errors_of_writes(table, text, statement.table.start):
            return write_spark(rows, table)

    if old is not None:
        return replace_table(names.catalog, old, lambda name: _created(names, statement, name, rows), write)
    table = _created(names, statement, full, rows)
    try:
        return write(table)
    except BaseException:
        names.catalog.drop_table(full, ignore_if_missing=True)
        raise


def _created(names: Names, statement: CreateTable, full: str, rows: DataFrame | None) -> Table:
    """Create the table without its rows."""
    schema: Any = statement.columns if rows is None else _nullable(rows.schema)
    options = dict(statement.properties)
    keys = [key.strip() for key in options.pop(_PRIMARY_KEY, "").split(",") if key.strip()]
    return names.catalog.create_table(
        full,
        schema,
        primary_key=keys,
        partition_by=statement.partition_by,
        options=options,
        comment=statement.comment,
    )


def _nullable(schema: StructType) -> StructType:
    """Return the columns of a query, which may be null in a new table, as in Spark."""
    return StructType([StructField(f.name, f.dataType, True, f.metadata) for f in schema.fields])


def create_like(names: Names, statement: CreateLike, text: str) -> bool:
    """Create a table with the columns, keys, options and comment of another table, without its rows.

    Return whether the table was created; with IF NOT EXISTS, an existing table is not changed.
    """
    full = _new_name(names, statement.table, text)
    exists = names.catalog.table_exists(full)
    schema = (source := names.table(statement.source, text)).schema
    options: Mapping[str, str] = {**{k: v for k, v in schema.options.items() if k != "path"}, **statement.properties}
    keys = options.get(_PRIMARY_KEY)
    names.catalog.create_table(
        full,
        source.arrow_schema,
        primary_key=schema.primary_keys if keys is None else [key.strip() for key in keys.split(",")],
        partition_by=schema.partition_keys,
        options={k: v for k, v in options.items() if k != _PRIMARY_KEY},
        comment=schema.comment,
        ignore_if_exists=statement.if_not_exists,
    )
    return not exists


def rename(names: Names, statement: RenameTable, text: str) -> None:
    """Rename a table; if the new name has no database, the database stays the same."""
    old = names.table(statement.table, text).name
    to = statement.to
    new = f"{old.partition('.')[0]}.{to}" if len(to.parts) == 1 else names.full(to, text)
    try:
        names.catalog.rename_table(old, new)
    except PaimonError as error:
        located(error, text, to.start)


def alter(names: Names, statement: AlterTable, text: str) -> None:
    """Apply the changes together, as ``Table.alter`` does."""
    table = names.table(statement.table, text)
    is_optional = [_is_left_out(table, change, statement) for change in statement.changes]
    changes = [
        _with_known_column(table, change, statement, text)
        for change, left_out in zip(statement.changes, is_optional, strict=True)
        if not left_out
    ]
    _refuse_doubled(table, changes, statement, text)
    try:
        if changes:
            table.alter(*changes)
    except PaimonError as error:
        located(error, text, statement.table.end)


def _refuse_doubled(table: Table, changes: Sequence[SchemaChange], statement: AlterTable, text: str) -> None:
    """Raise SqlError for a new name of a column that another column has in another case of letters."""
    names = list(table.schema.names)
    for change in changes:
        path = path_of(change.column) if isinstance(change, AddColumn | RenameColumn) else ()
        new = change.name if isinstance(change, RenameColumn) else path[-1] if path else ""
        if len(path) != 1 or new in names:  # Table.alter refuses an equal name
            continue
        if isinstance(change, RenameColumn):
            names.remove(path[0])
        names.append(new)
    refuse_doubled(names, text, statement.table.end, f"table {table.name} then")


def _is_left_out(table: Table, change: SchemaChange, statement: AlterTable) -> bool:
    """Whether a change can be left out: it removes something that does not exist, and the statement has IF EXISTS."""
    if isinstance(change, DropColumn):
        path = path_of(change.column)
        known = {name.casefold() for name in table.schema.names}
        return ".".join(path) in statement.if_exists and path[0].casefold() not in known
    if isinstance(change, RemoveOption):
        return change.key in statement.if_exists and change.key not in table.schema.options
    return False


def _with_known_column(table: Table, change: SchemaChange, statement: AlterTable, text: str) -> SchemaChange:
    """Return a change of a column with the table's name of the column, which may be in another case of letters."""
    if isinstance(change, AddColumn) or not hasattr(change, "column"):
        return change
    first, *fields = path_of(change.column)
    name = column_of(table.schema, first, text, statement.table.end, table.name)
    fields = _known_fields(table.schema.by_name[name].type, fields)
    found: Any = change
    renamed: SchemaChange = replace(found, column=[name, *fields] if fields else name)
    return renamed


def _known_fields(kind: DataType, fields: Sequence[str]) -> list[str]:
    """Return the table's names of the fields of a column; names that it does not have stay, for the error."""
    found: list[str] = []
    for field in fields:
        same = [child for child in kind.listed if child.name.casefold() == field.casefold()]
        exact = [child for child in same if child.name == field]
        if len(exact or same) != 1:
            return [*found, *fields[len(found) :]]
        (child,) = exact or same
        found.append(child.name)
        kind = child.type
    return found


def remove_partitions(names: Names, statement: RemovePartitions, text: str) -> Snapshot | None:
    """Remove all rows of the partitions of each spec, in one commit; without specs, all rows of the table.

    Rows that a concurrent commit adds to these partitions before this commit are removed as well.
    """
    table = names.table(statement.table, text)
    if not statement.specs:
        return table.delete("true")
    found = None
    for spec in statement.specs:
        known = {column_of(table.schema, c, text, statement.table.end, table.name): v for c, v in spec.items()}
        where = partition_predicate(table, known)
        assert where is not None
        if statement.must_exist and not table.scan(where=where).splits():
            shown = ", ".join(f"{c} = {v}" for c, v in known.items())
            fail(text, statement.table.end, f"table {table.name} has no partition {shown}; IF EXISTS allows it")
        found = where if found is None else found | where
    assert found is not None
    return table.delete(found)


def analyze(names: Names, statement: Analyze, text: str) -> Snapshot | None:
    """Compute the statistics of the named columns or of all columns; without FOR COLUMNS, only count rows and bytes."""
    table = names.table(statement.table, text)
    columns = statement.columns
    if columns is not None:
        columns = tuple(column_of(table.schema, c, text, statement.table.end, table.name) for c in columns)
    return table.analyze(columns)


def _new_name(names: Names, name: TableName, text: str) -> str:
    full = names.full(name, text)
    names.known_database(full.partition(".")[0], name.start, text)
    return full


def drop(names: Names, statement: DropTable, text: str) -> bool:
    """Delete a table with all of its files; return whether it existed."""
    full = names.full(statement.table, text)
    if not names.exists(statement.table, text) and statement.if_exists:
        return False
    names.table(statement.table, text)
    names.catalog.drop_table(full, ignore_if_missing=statement.if_exists)
    return True


def create_database(names: Names, statement: CreateDatabase, text: str) -> bool:
    """Create a database; return whether it was created."""
    exists = names.catalog.database_exists(statement.name)
    try:
        names.catalog.create_database(statement.name, ignore_if_exists=statement.if_not_exists)
    except PaimonError as error:
        located(error, text, statement.at)
    return not exists


def drop_database(names: Names, statement: DropDatabase, text: str) -> bool:
    """Delete a database; without CASCADE, only an empty one. Return whether it existed."""
    exists = names.catalog.database_exists(statement.name)
    if not statement.if_exists:
        names.known_database(statement.name, statement.at, text)
    try:
        names.catalog.drop_database(statement.name, cascade=statement.cascade, ignore_if_missing=statement.if_exists)
    except PaimonError as error:
        located(error, text, statement.at, "" if statement.cascade else " (in SQL: CASCADE)")
    return exists
