"""Inspection: the answers of DESCRIBE and SHOW, from the metadata of the catalog and of tables."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame, SparkSession

from paimon_core.catalog.shown_options import shown_options
from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.codec.partition_text import partition_values
from paimon_core.plan.partitions import matching_partitions
from paimon_core.spark.columns import quoted
from paimon_core.spark.sql.grammar.cursor import fail
from paimon_core.spark.sql.grammar.parts import literal_text
from paimon_core.spark.sql.grammar.statements import Describe, Show, TableName
from paimon_core.spark.sql.names import Names, column_of
from paimon_core.spark.sql.partitions import partition_predicate
from paimon_core.spark.sql.results import rows
from paimon_core.spark.sql.views import temporary_views
from paimon_core.storage.paths import escape
from paimon_core.table.system.group_columns import partition_rows
from paimon_core.table.system.source import Source
from paimon_core.table.table import Table
from paimon_core.types import STRING_ROOTS, DataType, TypeRoot

_DESCRIBED = "col_name STRING, data_type STRING, comment STRING"


def describe(spark: SparkSession, names: Names, statement: Describe, text: str) -> DataFrame:
    """Return the columns of a table with Paimon's names of types, or the name and number of tables of a database."""
    if statement.table is None:
        name = names.known_database(*statement.database, text)
        facts = [("Database Name", name), ("Tables", str(len(names.catalog.list_tables(name))))]
        return rows(spark, "info_name STRING, info_value STRING", facts)
    table = names.table(statement.table, text)
    if statement.column is not None:
        name = column_of(table.schema, statement.column, text, statement.table.end, table.name)
        field = table.schema.by_name[name]
        facts = [("col_name", name), ("data_type", str(field.type)), ("comment", field.description or "")]
        return rows(spark, "info_name STRING, info_value STRING", facts)
    found = [(f.name, str(f.type), f.description) for f in table.schema.fields]
    if table.schema.partition_keys:
        found += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        found += [(f.name, str(f.type), f.description) for f in table.schema.partition_fields]
    if statement.extended:
        found += [("", "", ""), ("# Detailed Table Information", "", "")]
        found += [(name, value, "") for name, value in _facts(table)]
    return rows(spark, _DESCRIBED, found)


def _facts(table: Table) -> list[tuple[str, str]]:
    snapshot = table.latest_snapshot()
    options = ", ".join(f"{key}={value}" for key, value in shown_options(table.schema.options).items())
    return [
        ("Name", table.name),
        ("Comment", table.schema.comment or ""),
        ("Location", table.location),
        ("Provider", "paimon"),
        ("Primary Key", ", ".join(table.schema.primary_keys)),
        ("Table Properties", f"[{options}]"),
        ("Snapshot", "" if snapshot is None else str(snapshot.id)),
    ]


def show(spark: SparkSession, names: Names, statement: Show, text: str) -> DataFrame:
    """Return the answer of SHOW, with the columns that Spark has."""
    if statement.what == "databases":
        return rows(spark, "namespace STRING", [(n,) for n in _like(names.catalog.list_databases(), statement.like)])
    if statement.what == "views":
        if statement.database:
            names.known_database(*statement.database, text)
        columns = "namespace STRING, viewName STRING, isTemporary BOOLEAN"
        return rows(spark, columns, [("", name, True) for name in _like(temporary_views(spark), statement.like)])
    if statement.what == "tables":
        database = names.known_database(*statement.database, text) if statement.database else names.database
        found = _like(names.catalog.list_tables(database), statement.like)
        columns = "namespace STRING, tableName STRING, isTemporary BOOLEAN"
        return rows(spark, columns, [(database, name, False) for name in found])
    assert statement.table is not None
    table = names.table(_in_database(statement), text)
    if statement.what == "tags":
        return rows(spark, "tag STRING", [(tag.name,) for tag in table.tags.list()])
    if statement.what == "columns":
        return rows(spark, "col_name STRING", [(name,) for name in table.schema.names])
    if statement.what == "tblproperties":
        return _properties(spark, table, statement.key)
    if statement.what == "create table":
        return rows(spark, "createtab_stmt STRING", [(create_text(table),)])
    return rows(spark, "partition STRING", [(text,) for text in _partitions(table, statement, text)])


def _in_database(statement: Show) -> TableName:
    """Return the table of SHOW COLUMNS IN t IN db, or the table that the statement names."""
    assert statement.table is not None
    if statement.database is None or len(statement.table.parts) > 1:
        return statement.table
    return TableName((statement.database[0], *statement.table.parts), statement.table.start, statement.table.end)


def _like(names: Iterable[str], pattern: str | None) -> list[str]:
    """Return the names that match one of the patterns ``a*|b*``, in any case of letters, as in Spark."""
    if pattern is None:
        return list(names)
    patterns = [part.strip().lower() for part in pattern.split("|")]
    return [name for name in names if any(fnmatch.fnmatchcase(name.lower(), part) for part in patterns)]


def _properties(spark: SparkSession, table: Table, key: str | None) -> DataFrame:
    found = shown_options(table.schema.options)
    if table.schema.primary_keys:
        found["primary-key"] = ",".join(table.schema.primary_keys)
    if key is not None:
        found = {key: found.get(key, f"Table {table.name} does not have property: {key}")}
    return rows(spark, "key STRING, value STRING", sorted(found.items()))


def _partitions(table: Table, statement: Show, text: str) -> Sequence[str]:
    """Return the partitions as ``a=1/b=x``, sorted; raises SqlError for a table without partitions.

    As in Spark, a value is the text that PARTITION (...) takes, with the escapes of the names of directories, and
    ``null`` for null. So an empty text and null, which share a directory, are shown as two partitions.
    """
    assert statement.table is not None
    fields = table.schema.partition_fields
    if not fields:
        fail(text, statement.table.start, f"table {table.name} has no partition columns")
    spec = {column_of(table.schema, c, text, statement.table.end, table.name): v for c, v in statement.spec.items()}
    where = partition_predicate(table, spec)
    keeps = (lambda partition: True) if where is None else matching_partitions(table.context, where)
    types = [f.type for f in fields]
    found = []
    for partition, *_ in partition_rows(Source(table.context)):
        if keeps(partition):
            values = decode_row(partition, types)
            texts = (_shown_value(value, kind) for value, kind in zip(values, types, strict=True))
            found.append("/".join(f"{escape(f.name)}={escape(text)}" for f, text in zip(fields, texts, strict=True)))
    return sorted(found)


def _shown_value(value: object, kind: DataType) -> str:
    """Return a value of a partition, given as it is stored; ``null`` for null."""
    if value is None or kind.root in STRING_ROOTS:
        return "null" if value is None else str(value)
    return partition_values([value], [kind], legacy=False, default_name="")[0]


def create_text(table: Table) -> str:
    """Return a CREATE TABLE statement that makes a table with the same columns, keys, options and comment.

    Options that are secrets have the value ``***``.
    """
    schema = table.schema
    columns = [
        f"{quoted(f.name)} {sql_type(f.type)}"
        + (f" DEFAULT {literal_text(f.default)}" if f.default is not None else "")
        + (f" COMMENT {literal_text(f.description)}" if f.description else "")
        for f in schema.fields
    ]
    properties = shown_options(schema.options)
    if schema.primary_keys:
        properties["primary-key"] = ",".join(schema.primary_keys)
    lines = [f"CREATE TABLE {'.'.join(map(quoted, table.name.split('.', 1)))} (", "  " + ",\n  ".join(columns) + ")"]
    lines.append("USING paimon")
    if schema.partition_keys:
        lines.append(f"PARTITIONED BY ({', '.join(map(quoted, schema.partition_keys))})")
    if schema.comment:
        lines.append(f"COMMENT {literal_text(schema.comment)}")
    if properties:
        shown = ",\n  ".join(f"{literal_text(k)} = {literal_text(v)}" for k, v in sorted(properties.items()))
        lines.append(f"TBLPROPERTIES (\n  {shown})")
    return "\n".join(lines)


def sql_type(kind: DataType) -> str:
    """Return the text of a type for CREATE TABLE, in which TIMESTAMP means a time with zone, and BINARY any length."""
    members = kind.listed
    match kind.root:
        case TypeRoot.TIMESTAMP_LTZ:
            found = f"TIMESTAMP_LTZ({kind.precision})"
        case TypeRoot.TIMESTAMP:
            found = f"TIMESTAMP_NTZ({kind.precision})"
        case TypeRoot.ARRAY | TypeRoot.MAP | TypeRoot.MULTISET:
            found = f"{kind.root}<{', '.join(sql_type(member.type) for member in members)}>"
        case TypeRoot.ROW:
            fields = (
                f"{quoted(member.name)}: {sql_type(member.type)}"
                + (f" COMMENT {literal_text(member.description)}" if member.description else "")
                for member in members
            )
            found = f"STRUCT<{', '.join(fields)}>"
        case _:
            found = str(kind.with_nullable(True))
    return found + ("" if kind.nullable else " NOT NULL")
