"""Parts: the elements that several statements have in common, such as names of tables, PARTITION (...) and
TBLPROPERTIES (...).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from paimon_core.errors import InvalidRequest
from paimon_core.spark.columns import quoted
from paimon_core.spark.sql.grammar.cursor import Cursor, SqlToken, fail
from paimon_core.spark.sql.grammar.statements import Query, TableName, Value
from paimon_core.types import parse_columns

_TYPES = {
    "LONG": "BIGINT",
    "SHORT": "SMALLINT",
    "BYTE": "TINYINT",
    "REAL": "FLOAT",
    "TIMESTAMP": "TIMESTAMP_LTZ",
    "TIMESTAMP_NTZ": "TIMESTAMP",
    "BINARY": "BYTES",
    "TIME": "TIME(6)",
}
"""By name in Spark, the name in texts of the library, for types whose name or meaning differs."""
_AFTER_TYPE = ("NOT", "COMMENT", "DEFAULT", "FIRST", "AFTER", "GENERATED", "COLLATE", "PRIMARY", "USING")
_AFTER_WORD = ("NULL", "WITH", "WITHOUT", "PRECISION")
QUERY_WORDS = ("SELECT", "FROM", "WITH", "VALUES", "TABLE")


def table_name(cursor: Cursor) -> TableName:
    """Return the name of a table: ``t``, ``db.t``, or with backticks ``db.`t$files```."""
    start = cursor.next.start
    parts = cursor.path("the name of a table")
    return TableName(parts, start, cursor.tokens[cursor.at - 1].end)


def rest(cursor: Cursor, what: str) -> Query:
    """Return the rest of the statement as a query."""
    start = cursor.next.start
    if cursor.next.kind == "end":
        cursor.refuse(what)
    cursor.at = len(cursor.tokens) - 1
    return Query(cursor.source, start, cursor.tokens[-1].end, cursor.bound)


def is_query(cursor: Cursor) -> bool:
    """Whether a query starts here."""
    return cursor.next.word in QUERY_WORDS or cursor.peek("(")


def query(cursor: Cursor) -> Query:
    """Return the rest of the statement; raises SqlError unless it starts like a query."""
    if not is_query(cursor):
        cursor.refuse("SELECT, VALUES, WITH, FROM, TABLE or a query in parentheses")
    return rest(cursor, "a query")


def expression(cursor: Cursor, *ends: str, what: str) -> Query:
    """Return the expression up to one of the words or signs ``ends``."""
    return Query(cursor.source, *cursor.until(*ends, what=what), cursor.bound)


def value(cursor: Cursor, *ends: str) -> Query:
    """Return the value of a column, up to one of ``ends``; DEFAULT is a null, which a write replaces by the default."""
    first = cursor.next
    found = expression(cursor, *ends, what="a value")
    return with_nulls(found, [first]) if first.word == "DEFAULT" and first.end == found.end else found


def with_nulls(query: Query, defaults: Iterable[SqlToken]) -> Query:
    """Return a part of a statement with NULL in place of each word DEFAULT; all positions stay the same."""
    text = query.written
    for token in defaults:
        start, end = token.start - query.start, token.end - query.start
        text = text[:start] + "NULL".ljust(end - start) + text[end:]
    return replace(query, replaced=text)


def partition(cursor: Cursor) -> tuple[dict[str, Value], tuple[str, ...]]:
    """Return the values of PARTITION (p = 'x', q), and its columns without value; PARTITION has been read."""
    values: dict[str, Value] = {}
    dynamic: list[str] = []

    def one() -> None:
        at = cursor.next.start
        name = cursor.name("a partition column")
        if name in values or name in dynamic:
            cursor.fail(f"PARTITION names column {name!r} twice", at)
        if cursor.skip("="):
            cursor.choose("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")  # the value is read as the type of the column
            values[name] = cursor.literal("the value of a partition column")
        else:
            dynamic.append(name)

    cursor.listed(one)
    return values, tuple(dynamic)


def static_partition(cursor: Cursor) -> dict[str, Value]:
    """Return the values of PARTITION (...), which must have a value for each column; PARTITION has been read."""
    at = cursor.next.start
    values, dynamic = partition(cursor)
    if dynamic:
        cursor.fail(f"partition column {dynamic[0]!r} needs a value here, such as {dynamic[0]} = 'x'", at)
    return values


def properties(cursor: Cursor) -> dict[str, str]:
    """Return the options of TBLPROPERTIES ('a' = 'b', c.d = 1); TBLPROPERTIES has been read."""
    found: dict[str, str] = {}

    def one() -> None:
        at = cursor.next.start
        key = property_key(cursor)
        if key in found:
            cursor.fail(f"TBLPROPERTIES names {key!r} twice", at)
        cursor.need("=")
        value = cursor.literal(f"the value of {key}")
        if value is None:
            cursor.fail(f"the value of {key} cannot be null: use UNSET TBLPROPERTIES", at)
        found[key] = str(value).lower() if isinstance(value, bool) else str(value)

    cursor.listed(one)
    return found


def property_key(cursor: Cursor) -> str:
    """Return the name of an option, in quotes or as words with dots."""
    return cursor.text("an option") if cursor.next.kind == "text" else ".".join(cursor.path("an option"))


def type_text(cursor: Cursor) -> str:
    """Return the text of a type of Spark as the library writes it; TIMESTAMP has a time zone, as in Spark."""
    words: list[str] = []
    start, depth = cursor.next.start, 0
    while cursor.next.kind != "end":
        token = cursor.next
        if depth == 0 and (token.word in _AFTER_TYPE or token.text in (",", ")")):
            break
        depth += sum({"(": 1, "<": 1, ")": -1, ">": -1}.get(sign, 0) for sign in token.text * (token.kind == "sign"))
        cursor.at += 1
        if token.kind == "word" and not _is_field_name(cursor, words):
            sized = token.word in ("BINARY", "TIME") and cursor.peek("(")
            words.append(token.word if sized else _TYPES.get(token.word, token.text))
        elif token.kind == "text":
            words.append(quoted_text(token.text))
        else:
            words.append(quoted(token.text) if token.kind in ("word", "name") else token.text)
    if not words:
        cursor.refuse("a type such as STRING or DECIMAL(10, 2)")
    text = " ".join(words)
    try:
        parse_columns(f"c {text}")
    except InvalidRequest as error:
        problem = error.message
    else:
        return text
    written = cursor.source[start : cursor.tokens[cursor.at - 1].end]
    return cursor.fail(f"{written!r:.80} is not the type of a column: {problem}", start)


def _is_field_name(cursor: Cursor, before: list[str]) -> bool:
    """Whether the word that was just read is the name of a field of a STRUCT: a colon or a type follows it."""
    follows = cursor.next.kind in ("word", "name") and cursor.next.word not in (*_AFTER_TYPE, *_AFTER_WORD)
    return cursor.peek(":") or (before[-1:] in (["<"], [","]) and follows)


def quoted_text(text: str) -> str:
    """Return a text in single quotes, for a schema text of the library."""
    return "'" + text.replace("'", "''") + "'"


def literal_text(text: str) -> str:
    """Return a text in single quotes, as a literal of Spark."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def same_names(names: Iterable[str]) -> tuple[str, str] | None:
    """Return the first two names that are the same for Spark, which ignores the case of letters."""
    seen: dict[str, str] = {}
    for name in names:
        if name.casefold() in seen:
            return seen[name.casefold()], name
        seen[name.casefold()] = name
    return None


def refuse_doubled(names: Iterable[str], text: str, at: int, owner: str) -> None:
    """Raise SqlError for two columns of ``owner`` whose names are the same for Spark."""
    if doubled := same_names(names):
        fail(text, at, f"{owner} has two columns {' and '.join(doubled)}, which are the same for Spark: rename one")
