"""Changes: reads INSERT, UPDATE, DELETE and MERGE INTO; queries and expressions stay parts of the text."""

from __future__ import annotations

from paimon_core.spark.sql.grammar import parts
from paimon_core.spark.sql.grammar.cursor import Cursor, SqlToken
from paimon_core.spark.sql.grammar.statements import Assignment, Delete, Insert, Merge, MergeClause, Query, Update


def insert(cursor: Cursor) -> Insert:
    """Read the rest of a statement after INSERT."""
    overwrite = cursor.choose("INTO", "OVERWRITE")
    if not overwrite:
        cursor.refuse("INTO or OVERWRITE")
    if cursor.peek("DIRECTORY") or cursor.peek("LOCAL", "DIRECTORY"):
        cursor.fail("INSERT OVERWRITE DIRECTORY is not supported: write the DataFrame of the query")
    cursor.skip("TABLE")
    name = parts.table_name(cursor)
    values: dict[str, str | int | bool | None] = {}
    dynamic: tuple[str, ...] = ()
    if cursor.skip("PARTITION"):
        values, dynamic = parts.partition(cursor)
    if cursor.peek("IF"):
        cursor.fail("INSERT ... IF NOT EXISTS is not supported: count the rows of the partition first")
    by_name = cursor.skip("BY", "NAME")
    columns = None
    if cursor.peek("(") and not any(cursor.peek("(", word) for word in (*parts.QUERY_WORDS, "(")):
        at = cursor.next.start
        columns = tuple(cursor.listed(lambda: cursor.name("a column")))
        if by_name:
            cursor.fail("BY NAME takes no list of columns: the query names them", at)
        if len(set(columns)) < len(columns):
            cursor.fail("the list of columns names a column twice", at)
    if cursor.peek("REPLACE"):
        cursor.fail("INSERT ... REPLACE WHERE is not supported: use INSERT OVERWRITE ... PARTITION (...)")
    defaults = _defaults(cursor) if cursor.peek("VALUES") else []
    query = parts.with_nulls(parts.query(cursor), defaults)
    return Insert(name, query, columns, by_name, overwrite == "OVERWRITE", values, dynamic)


def _defaults(cursor: Cursor) -> list[SqlToken]:
    """Return the words DEFAULT that are whole values after VALUES; raises SqlError for one inside of a value."""
    found, depth = [], 0
    following = cursor.tokens[cursor.at :]
    for before, token, after in zip(following, following[1:], following[2:], strict=False):
        if token.kind == "sign":
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if token.word != "DEFAULT" or before.text not in ("(", ",") or after.text not in (")", ","):
            continue
        if depth > 1:
            cursor.fail("DEFAULT is a whole value: it cannot be a part of one", token.start)
        found.append(token)
    return found


def update(cursor: Cursor) -> Update:
    """Read the rest of a statement after UPDATE."""
    _refuse_limit(cursor, "UPDATE")
    name = parts.table_name(cursor)
    alias = _alias(cursor, "SET")
    cursor.need("SET")
    values = _assignments(cursor, "WHERE", "FROM")
    if cursor.peek("FROM"):
        cursor.fail("UPDATE ... FROM is not supported: use MERGE INTO ... WHEN MATCHED THEN UPDATE SET")
    where = None
    if cursor.skip("WHERE"):
        where = parts.rest(cursor, "a condition")
    cursor.end()
    return Update(name, alias, values, where)


def delete(cursor: Cursor) -> Delete:
    """Read the rest of a statement after DELETE."""
    _refuse_limit(cursor, "DELETE")
    cursor.need("FROM")
    name = parts.table_name(cursor)
    alias = _alias(cursor, "WHERE", "USING")
    if cursor.peek("USING"):
        cursor.fail("DELETE ... USING is not supported: use MERGE INTO ... WHEN MATCHED THEN DELETE")
    where = None
    if cursor.skip("WHERE"):
        where = parts.rest(cursor, "a condition")
    cursor.end()
    return Delete(name, alias, where)


def _refuse_limit(cursor: Cursor, statement: str) -> None:
    """Raise SqlError for a LIMIT at the end."""
    last = cursor.tokens[-3:-1]
    if [token.word or token.kind for token in last] == ["LIMIT", "number"]:
        cursor.fail(f"LIMIT is not supported in {statement}: WHERE selects the rows", last[0].start)


def merge(cursor: Cursor) -> Merge:
    """Read the rest of a statement after MERGE."""
    if cursor.peek("WITH", "SCHEMA", "EVOLUTION"):
        cursor.fail("WITH SCHEMA EVOLUTION is not supported: add the columns with ALTER TABLE first")
    cursor.need("INTO")
    name = parts.table_name(cursor)
    alias = _alias(cursor, "USING")
    cursor.need("USING")
    source = _source(cursor)
    source_alias = _alias(cursor, "ON")
    if source_alias is not None and cursor.peek("("):  # the names of the source's columns
        cursor.listed(lambda: cursor.name("a column"))
        source = Query(cursor.source, source.start, cursor.tokens[cursor.at - 1].end, cursor.bound)
    cursor.need("ON")
    on = parts.expression(cursor, "WHEN", what="a condition")
    clauses = []
    while cursor.peek("WHEN"):
        clauses.append(_clause(cursor))
    if not clauses:
        cursor.refuse("WHEN MATCHED or WHEN NOT MATCHED")
    cursor.end()
    return Merge(name, alias, source, source_alias, on, tuple(clauses))


def _alias(cursor: Cursor, *ends: str) -> str | None:
    if cursor.skip("AS"):
        return cursor.name("an alias")
    if cursor.next.kind in ("word", "name") and cursor.next.word not in ends:
        return cursor.name("an alias")
    return None


def _source(cursor: Cursor) -> Query:
    """Return the relation after USING: a query in parentheses, a function, or a name with an optional version."""
    start = cursor.next.start
    if cursor.skip("("):
        cursor.until(")", what="a query")
        cursor.need(")")
    else:
        parts.table_name(cursor)
        if cursor.skip("("):  # a function that reads changes
            cursor.until(")", what="its arguments")
            cursor.need(")")
        for words in (("FOR", "VERSION"), ("VERSION",), ("FOR", "TIMESTAMP"), ("TIMESTAMP",)):
            if cursor.skip(*words, "AS", "OF"):
                cursor.literal("a version")
                break
    return Query(cursor.source, start, cursor.tokens[cursor.at - 1].end, cursor.bound)


def _clause(cursor: Cursor) -> MergeClause:
    at = cursor.next.start
    cursor.need("WHEN")
    negated = cursor.skip("NOT")
    cursor.need("MATCHED")
    kind = "not matched" if negated else "matched"
    if negated and cursor.skip("BY", "SOURCE"):
        kind = "not matched by source"
    elif negated:
        cursor.skip("BY", "TARGET")
    condition = parts.expression(cursor, "THEN", what="a condition") if cursor.skip("AND") else None
    cursor.need("THEN")
    if kind == "not matched":
        cursor.need("INSERT")
        return MergeClause(kind, "insert", condition, _inserted(cursor), at)
    if cursor.skip("DELETE"):
        return MergeClause(kind, "delete", condition, None, at)
    if not cursor.skip("UPDATE"):
        cursor.refuse("UPDATE or DELETE")
    cursor.need("SET")
    if cursor.peek("*"):
        if kind == "not matched by source":
            cursor.fail("rows that are not matched by the source have no values for *: name the columns to set")
        cursor.need("*")
        return MergeClause(kind, "update", condition, None, at)
    return MergeClause(kind, "update", condition, _assignments(cursor, "WHEN"), at)


def _inserted(cursor: Cursor) -> tuple[Assignment, ...] | None:
    if cursor.skip("*"):
        return None
    columns = cursor.listed(lambda: (cursor.next.start, cursor.path("a column")))
    cursor.need("VALUES")
    at = cursor.next.start
    values = cursor.listed(lambda: parts.value(cursor, ","))
    if len(values) != len(columns):
        cursor.fail(f"INSERT has {len(columns)} columns and {len(values)} values", at)
    return tuple(Assignment(path, at, value) for (at, path), value in zip(columns, values, strict=True))


def _assignments(cursor: Cursor, *ends: str) -> tuple[Assignment, ...]:
    """Read ``a = 1, t.b = 2, s.field = 3``."""
    found: list[Assignment] = []
    while True:
        at = cursor.next.start
        path = cursor.path("a column")
        cursor.need("=")
        found.append(Assignment(path, at, parts.value(cursor, ",", *ends)))
        if not cursor.skip(","):
            return tuple(found)
