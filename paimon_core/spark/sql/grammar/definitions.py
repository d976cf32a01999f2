"""Definitions: reads CREATE TABLE, CTAS, REPLACE TABLE, CREATE TABLE LIKE and CREATE DATABASE."""

from __future__ import annotations

from typing import Any

from paimon_core.spark.columns import quoted
from paimon_core.spark.sql.grammar import parts
from paimon_core.spark.sql.grammar.cursor import Cursor
from paimon_core.spark.sql.grammar.statements import (
    CreateDatabase,
    CreateLike,
    CreateTable,
    CreateView,
    TableName,
)
from paimon_core.types import parse_columns

_REFUSED = {
    "LOCATION": "LOCATION is not supported: a table is in the folder that its catalog chooses",
    "OPTIONS": "OPTIONS is not supported: use TBLPROPERTIES",
    "CLUSTERED": "CLUSTERED BY is not supported: use TBLPROPERTIES ('bucket' = '4', 'bucket-key' = 'id')",
    "CLUSTER": "CLUSTER BY is not supported: use TBLPROPERTIES ('clustering.columns' = 'id')",
    "ROW": "ROW FORMAT is not supported: use TBLPROPERTIES ('file.format' = 'parquet')",
    "STORED": "STORED AS is not supported: use TBLPROPERTIES ('file.format' = 'parquet')",
    "DEFAULT": "DEFAULT COLLATION is not supported: leave it out",
}


def create(cursor: Cursor) -> CreateTable | CreateLike | CreateDatabase | CreateView:
    """Read the rest of a statement after CREATE."""
    if cursor.choose("DATABASE", "SCHEMA", "NAMESPACE"):
        return _database(cursor)
    replace = cursor.skip("OR", "REPLACE")
    if cursor.peek("GLOBAL"):
        cursor.fail("CREATE GLOBAL TEMPORARY VIEW is not supported: use createGlobalTempView of a DataFrame")
    if cursor.peek("VIEW"):
        cursor.fail("CREATE VIEW is not supported, because the catalog has no views: use CREATE TEMPORARY VIEW")
    is_temporary = bool(cursor.choose("TEMPORARY", "TEMP"))
    if cursor.skip("VIEW"):
        return _view(cursor, replace=replace)
    if is_temporary or cursor.peek("FUNCTION"):
        word = f"TEMPORARY {cursor.next.text[:40]}".strip() if is_temporary else "FUNCTION"
        cursor.fail(f"CREATE {word} is not supported: use CREATE TEMPORARY VIEW, or spark.sql for functions")
    if cursor.peek("EXTERNAL"):
        cursor.fail("CREATE EXTERNAL TABLE is not supported: use CREATE TABLE")
    cursor.need("TABLE")
    return table(cursor, replace=replace)


def table(cursor: Cursor, *, replace: bool, must_exist: bool = False) -> CreateTable | CreateLike:
    """Read the rest of a statement after CREATE TABLE, CREATE OR REPLACE TABLE or REPLACE TABLE."""
    at = cursor.next.start
    if_not_exists = cursor.skip("IF", "NOT", "EXISTS")
    if if_not_exists and replace:
        cursor.fail("OR REPLACE and IF NOT EXISTS exclude each other: leave one out", at)
    name = parts.table_name(cursor)
    if cursor.skip("LIKE"):
        if replace:
            cursor.fail("OR REPLACE is not supported with LIKE: drop the table first", at)
        return _like(cursor, name, if_not_exists)
    columns: list[str] = []
    if cursor.peek("(") and cursor.tokens[cursor.at + 1].word not in ("SELECT", "WITH", "VALUES", "FROM"):
        columns = cursor.listed(lambda: _column(cursor))
    clauses = _clauses(cursor, columns)
    if columns:
        written = [column.name for column in parse_columns(", ".join(columns))]
        parts.refuse_doubled(written, cursor.source, name.start, "the table")
    query = None
    if cursor.skip("AS") or parts.is_query(cursor):
        if columns:
            cursor.fail("CREATE TABLE AS takes its columns from the query: leave out the list of columns")
        query = parts.query(cursor)
    elif not columns:
        cursor.refuse("a list of columns in parentheses, or AS and a query")
    cursor.end()
    return CreateTable(
        name,
        ", ".join(columns) or None,
        **clauses,
        if_not_exists=if_not_exists,
        replace=replace,
        must_exist=must_exist,
        query=query,
    )


def _column(cursor: Cursor) -> str:
    """Read one column and return it as the library's schema text."""
    if cursor.next.word in ("CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE", "CHECK") and cursor.tokens[
        cursor.at + 1
    ].word in ("KEY", "FOREIGN", "PRIMARY"):
        cursor.fail("a constraint is not supported: use TBLPROPERTIES ('primary-key' = 'id')")
    name = cursor.name("the name of a column")
    cursor.skip(":")
    found = f"{quoted(name)} {parts.type_text(cursor)}"
    while True:
        if cursor.skip("NOT", "NULL"):
            found += " NOT NULL"
        elif cursor.skip("COMMENT"):
            found += f" COMMENT {parts.quoted_text(cursor.text('a comment'))}"
        elif cursor.skip("DEFAULT"):
            at = cursor.next.start
            value = cursor.literal(f"the default of {name}")
            if value is None:
                cursor.fail("DEFAULT NULL is what a column without default has: leave it out", at)
            found += f" DEFAULT {parts.quoted_text(str(value).lower() if isinstance(value, bool) else str(value))}"
        elif cursor.peek("PRIMARY"):
            cursor.fail("PRIMARY KEY is not supported here: use TBLPROPERTIES ('primary-key' = 'id')")
        elif cursor.peek("GENERATED"):
            cursor.fail("GENERATED columns are not supported: compute the values in the query that is inserted")
        else:
            return found


def _clauses(cursor: Cursor, columns: list[str]) -> dict[str, Any]:
    """Read USING, PARTITIONED BY, TBLPROPERTIES and COMMENT, in any order and each at most once."""
    found: dict[str, Any] = {}
    seen: set[str] = set()
    while word := cursor.choose("USING", "PARTITIONED", "TBLPROPERTIES", "COMMENT"):
        if word in seen:
            cursor.fail(f"{word} is stated twice", cursor.tokens[cursor.at - 1].start)
        seen.add(word)
        if word == "USING":
            at = cursor.next.start
            if (kind := cursor.name("paimon")).lower() != "paimon":
                cursor.fail(f"USING {kind} is not supported: this catalog has Paimon tables; use spark.sql for it", at)
        elif word == "PARTITIONED":
            cursor.need("BY")
            found["partition_by"] = tuple(cursor.listed(lambda: _partition_column(cursor, columns)))
        elif word == "TBLPROPERTIES":
            found["properties"] = parts.properties(cursor)
        else:
            found["comment"] = cursor.text("a comment")
    if cursor.next.word in _REFUSED:
        cursor.fail(_REFUSED[cursor.next.word])
    return found


def _partition_column(cursor: Cursor, columns: list[str]) -> str:
    """Return one column of PARTITIONED BY; with a type, the column is added to the columns of the table."""
    name = cursor.name("a partition column")
    if cursor.peek("("):
        cursor.fail(
            f"PARTITIONED BY {name}(...) is not supported: partition by columns; for buckets use "
            "TBLPROPERTIES ('bucket' = '4')",
            cursor.tokens[cursor.at - 1].start,
        )
    if not (cursor.peek(",") or cursor.peek(")")):
        cursor.at -= 1
        columns.append(_column(cursor))
    return name


def _view(cursor: Cursor, *, replace: bool) -> CreateView:
    """Read the rest of a statement after CREATE TEMPORARY VIEW."""
    if cursor.peek("IF"):
        cursor.fail("IF NOT EXISTS is not possible with TEMPORARY: use CREATE OR REPLACE TEMPORARY VIEW")
    name = parts.table_name(cursor)
    if len(name.parts) > 1:
        cursor.fail(f"a temporary view has no database: write {name.parts[-1]}", name.start)
    columns = None
    if cursor.peek("("):
        at = cursor.next.start
        columns = tuple(cursor.listed(lambda: _view_column(cursor)))
        parts.refuse_doubled([column for column, _ in columns], cursor.source, at, "the view")
    for word, instead in (
        ("COMMENT", "leave it out; columns may have comments"),
        ("TBLPROPERTIES", "leave it out"),
        ("USING", "use spark.sql for views of files"),
        ("WITH", "leave it out: write AS before the query"),
    ):
        if cursor.peek(word):
            cursor.fail(f"{word} of a temporary view is not supported: {instead}")
    cursor.need("AS")
    return CreateView(name.parts[0], name.start, parts.query(cursor), columns, replace)


def _view_column(cursor: Cursor) -> tuple[str, str]:
    name = cursor.name("the name of a column")
    return name, cursor.text("a comment") if cursor.skip("COMMENT") else ""


def _like(cursor: Cursor, name: TableName, if_not_exists: bool) -> CreateLike:
    source = parts.table_name(cursor)
    columns: list[str] = []
    at = cursor.next.start
    found = _clauses(cursor, columns)
    for clause in found:
        if clause != "properties":
            cursor.fail("CREATE TABLE LIKE takes only TBLPROPERTIES: the rest comes from the other table", at)
    cursor.end()
    return CreateLike(name, source, found.get("properties", {}), if_not_exists)


def _database(cursor: Cursor) -> CreateDatabase:
    if_not_exists = cursor.skip("IF", "NOT", "EXISTS")
    at = cursor.next.start
    name = cursor.name("the name of a database")
    for word in ("COMMENT", "LOCATION", "WITH"):
        if cursor.peek(word):
            cursor.fail(f"CREATE DATABASE takes no {word}: a database is a folder that has only its name")
    cursor.end()
    return CreateDatabase(name, at, if_not_exists)
