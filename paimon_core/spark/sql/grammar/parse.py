"""Parse: reads the text of one SQL statement completely, before the statement runs."""

from __future__ import annotations

from collections.abc import Callable

from paimon_core.options.similar_names import resembled
from paimon_core.spark.sql.grammar import alterations, changes, ctes, definitions, parts
from paimon_core.spark.sql.grammar.cursor import Cursor
from paimon_core.spark.sql.grammar.markers import NOTHING, Bound
from paimon_core.spark.sql.grammar.statements import (
    Analyze,
    Call,
    Describe,
    DropDatabase,
    DropTable,
    DropView,
    RemovePartitions,
    Select,
    Show,
    Spec,
    Statement,
    Use,
    Value,
)

_EXPLAIN_MODES = ("EXTENDED", "CODEGEN", "COST", "FORMATTED")
_INSTEAD = {
    "SET": "use spark.conf.set",
    "RESET": "use spark.conf.unset",
    "CACHE": "call cache() of a DataFrame",
    "UNCACHE": "call unpersist() of a DataFrame",
    "REFRESH": "each statement reads the newest snapshot; call lake.refresh() for views",
    "MSCK": "partitions are found without it",
    "REPAIR": "partitions are found without it",
    "LOAD": "use write_spark",
    "COPY": "use write_spark",
    "GRANT": "rights are those of the store",
    "REVOKE": "rights are those of the store",
    "VACUUM": "use CALL sys.expire_snapshots and CALL sys.remove_orphan_files",
    "OPTIMIZE": "use CALL sys.compact",
    "RESTORE": "use CALL sys.rollback",
    "UNDROP": "a dropped table is gone",
    "BEGIN": "pass one statement at a time",
    "DECLARE": "use Python variables",
}


def parse(text: str, bound: Bound = NOTHING) -> Statement:
    """Return the statement of a text; ``bound``: the values of its parameters.

    Raises SqlError, which names the position and what to use instead, if the text is not exactly one supported
    statement.
    """
    cursor = Cursor(text, bound=bound)
    _refuse_dollars(cursor)
    _refuse_identifiers(cursor)
    if clause := ctes.with_clause(cursor):
        return ctes.with_ctes(cursor, clause, _statement(cursor))
    if parts.is_query(cursor):
        return Select(parts.query(cursor))
    return _statement(cursor)


def _statement(cursor: Cursor) -> Statement:
    word = cursor.next.word
    if word not in _STATEMENTS:
        if word in _INSTEAD:
            cursor.fail(f"{word} is not supported: {_INSTEAD[word]}")
        similar = resembled(word.lower(), ["select", *(word.lower() for word in _STATEMENTS)])
        known = f"{similar.upper()}?" if similar else f"SELECT, {', '.join(_STATEMENTS)}"
        found = cursor.next.text[:40] or "the end"
        cursor.fail(f"a statement cannot start with {found!r}: {'did you mean ' if similar else 'use '}{known}")
    cursor.at += 1
    return _STATEMENTS[word](cursor)


def _refuse_dollars(cursor: Cursor) -> None:
    """Raise SqlError for a name with a dollar sign outside of backquotes, which Spark would not read."""
    for table, sign, kind in zip(cursor.tokens, cursor.tokens[1:], cursor.tokens[2:], strict=False):
        adjoins = table.end == sign.start and sign.end == kind.start
        if sign.text == "$" and sign.kind == "sign" and adjoins and table.word and kind.word:
            name = f"`{table.text}${kind.text}`"
            cursor.fail(f"a name with $ is written in backquotes, such as {name} or db.{name}", table.start)


def _refuse_identifiers(cursor: Cursor) -> None:
    """Raise SqlError for IDENTIFIER(...): a name that is computed cannot be found before the statement runs."""
    for word, sign in zip(cursor.tokens, cursor.tokens[1:], strict=False):
        if word.word == "IDENTIFIER" and sign.kind == "sign" and sign.text == "(":
            cursor.fail("IDENTIFIER(...) is not supported: write the name; parameters are values only", word.start)


def _explain(cursor: Cursor) -> Select:
    mode = cursor.choose(*_EXPLAIN_MODES)
    if not parts.is_query(cursor):
        cursor.refuse("a query: only queries are explained")
    return Select(parts.query(cursor), explain=f"EXPLAIN {mode}".strip())


def _replace(cursor: Cursor) -> Statement:
    cursor.need("TABLE")
    return definitions.table(cursor, replace=True, must_exist=True)


def _drop(cursor: Cursor) -> DropTable | DropDatabase | DropView:
    if cursor.choose("DATABASE", "SCHEMA", "NAMESPACE"):
        if_exists = cursor.skip("IF", "EXISTS")
        at = cursor.next.start
        name = cursor.name("the name of a database")
        cascade = cursor.choose("CASCADE", "RESTRICT") == "CASCADE"
        cursor.end()
        return DropDatabase(name, at, if_exists, cascade)
    if cursor.peek("TEMPORARY") or cursor.peek("FUNCTION"):
        cursor.fail(f"DROP {cursor.next.word} is not supported: use spark.sql")
    if cursor.skip("VIEW"):
        if_exists = cursor.skip("IF", "EXISTS")
        view = parts.table_name(cursor)
        if len(view.parts) > 1:
            cursor.fail(
                f"{view} has a database: a catalog has no views, and a temporary view has no database", view.start
            )
        cursor.end()
        return DropView(view, if_exists)
    cursor.need("TABLE")
    if_exists = cursor.skip("IF", "EXISTS")
    table = parts.table_name(cursor)
    cursor.skip("PURGE")
    cursor.end()
    return DropTable(table, if_exists)


def _alter(cursor: Cursor) -> Statement:
    for word in ("DATABASE", "SCHEMA", "NAMESPACE", "VIEW"):
        if cursor.peek(word):
            instead = "use CREATE OR REPLACE TEMPORARY VIEW" if word == "VIEW" else "only tables can be altered"
            cursor.fail(f"ALTER {word} is not supported: {instead}")
    cursor.need("TABLE")
    return alterations.alter(cursor)


def _truncate(cursor: Cursor) -> RemovePartitions:
    cursor.need("TABLE")
    table = parts.table_name(cursor)
    specs: tuple[Spec, ...] = (parts.static_partition(cursor),) if cursor.skip("PARTITION") else ()
    cursor.end()
    return RemovePartitions(table, specs)


def _analyze(cursor: Cursor) -> Analyze:
    if cursor.peek("TABLES"):
        cursor.fail("ANALYZE TABLES is not supported: analyze one table at a time")
    cursor.need("TABLE")
    table = parts.table_name(cursor)
    if cursor.peek("PARTITION"):
        cursor.fail("ANALYZE ... PARTITION is not supported: statistics are of the whole table")
    cursor.need("COMPUTE", "STATISTICS")
    if cursor.peek("NOSCAN"):
        cursor.fail("NOSCAN is not supported: leave it out; without FOR COLUMNS only rows are counted")
    columns: tuple[str, ...] | None = ()
    if cursor.skip("FOR", "ALL", "COLUMNS"):
        columns = None
    elif cursor.skip("FOR", "COLUMNS"):
        found = [cursor.name("a column")]
        while cursor.skip(","):
            found.append(cursor.name("a column"))
        columns = tuple(found)
    cursor.end()
    return Analyze(table, columns)


def _describe(cursor: Cursor) -> Describe:
    if cursor.choose("DATABASE", "SCHEMA", "NAMESPACE"):
        if cursor.peek("EXTENDED"):
            cursor.fail("DESCRIBE DATABASE EXTENDED is not supported: leave out EXTENDED; databases have no properties")
        at = cursor.next.start
        name = cursor.name("the name of a database")
        cursor.end()
        return Describe(None, (name, at))
    if cursor.peek("FUNCTION") or cursor.peek("QUERY") or cursor.next.word in ("SELECT", "WITH", "VALUES"):
        cursor.fail("DESCRIBE of a function or query is not supported: use spark.sql, or the schema of lake.sql(...)")
    cursor.skip("TABLE")
    extended = bool(cursor.choose("EXTENDED", "FORMATTED"))
    table = parts.table_name(cursor)
    if extended and cursor.next.kind != "end":
        cursor.fail("DESCRIBE EXTENDED of a column is not supported: leave out EXTENDED, or read t$statistics")
    column = None if cursor.next.kind == "end" else cursor.name("a column")
    cursor.end()
    return Describe(table, extended=extended, column=column)


def _show(cursor: Cursor) -> Show:
    if cursor.choose("DATABASES", "SCHEMAS", "NAMESPACES"):
        found = Show("databases", like=_like(cursor))
    elif cursor.skip("TABLES"):
        database = _database(cursor) if cursor.choose("IN", "FROM") else None
        found = Show("tables", database=database, like=_like(cursor))
    elif cursor.skip("VIEWS"):
        database = _database(cursor) if cursor.choose("IN", "FROM") else None
        found = Show("views", database=database, like=_like(cursor))
    elif cursor.skip("PARTITIONS"):
        table = parts.table_name(cursor)
        spec = parts.static_partition(cursor) if cursor.skip("PARTITION") else {}
        found = Show("partitions", table, spec=spec)
    elif cursor.skip("CREATE", "TABLE"):
        found = Show("create table", parts.table_name(cursor))
    elif cursor.skip("TBLPROPERTIES"):
        table = parts.table_name(cursor)
        key = None
        if cursor.skip("("):
            key = parts.property_key(cursor)
            cursor.need(")")
        found = Show("tblproperties", table, key=key)
    elif cursor.skip("TAGS"):
        found = Show("tags", parts.table_name(cursor))
    elif cursor.skip("COLUMNS"):
        if not cursor.choose("IN", "FROM"):
            cursor.refuse("IN or FROM")
        table = parts.table_name(cursor)
        database = _database(cursor) if cursor.choose("IN", "FROM") else None
        found = Show("columns", table, database)
    else:
        cursor.refuse("DATABASES, TABLES, VIEWS, PARTITIONS, CREATE TABLE, TBLPROPERTIES, COLUMNS or TAGS")
    cursor.end()
    return found


def _database(cursor: Cursor) -> tuple[str, int]:
    at = cursor.next.start
    return cursor.name("the name of a database"), at


def _like(cursor: Cursor) -> str | None:
    if cursor.skip("LIKE") or cursor.next.kind == "text":
        return cursor.text("a pattern")
    return None


def _use(cursor: Cursor) -> Use:
    cursor.choose("DATABASE", "SCHEMA", "NAMESPACE")
    at = cursor.next.start
    name = cursor.name("the name of a database")
    cursor.end()
    return Use(name, at)


def _call(cursor: Cursor) -> Call:
    at = cursor.next.start
    path = cursor.path("the name of a procedure")
    if len(path) > 2 or (len(path) == 2 and path[0].lower() != "sys"):
        cursor.fail("procedures are in the database sys: write CALL sys.name(...)", at)
    arguments: dict[str, Value] = {}
    cursor.need("(")
    while not cursor.peek(")"):
        start = cursor.next.start
        is_named = cursor.next.kind in ("word", "name") and cursor.tokens[cursor.at + 1].text in ("=>", "=")
        name = cursor.name("an argument") if is_named else str(len(arguments))
        if is_named:
            cursor.at += 1
        elif any(not known.isdigit() for known in arguments):
            cursor.fail("an argument without name cannot follow one with a name: name all", start)
        if name.lower() in arguments:
            cursor.fail(f"argument {name!r} is given twice", start)
        arguments[name.lower()] = cursor.argument(f"the value of {name}" if is_named else "a value, or name => value")
        if not cursor.skip(","):
            break
        if cursor.peek(")"):
            cursor.refuse("an argument after the comma")
    cursor.need(")")
    cursor.end()
    return Call(path[-1].lower(), arguments, at)


_STATEMENTS: dict[str, Callable[[Cursor], Statement]] = {
    "INSERT": changes.insert,
    "UPDATE": changes.update,
    "DELETE": changes.delete,
    "MERGE": changes.merge,
    "CREATE": definitions.create,
    "REPLACE": _replace,
    "DROP": _drop,
    "ALTER": _alter,
    "TRUNCATE": _truncate,
    "COMMENT": alterations.comment_on,
    "CALL": _call,
    "ANALYZE": _analyze,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "SHOW": _show,
    "EXPLAIN": _explain,
    "USE": _use,
}
"""For each first word of a statement, the function that reads the rest of the statement."""
