"""CTEs: reads WITH before INSERT, UPDATE, DELETE and MERGE INTO, and makes its names usable in their queries."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimon_core.spark.columns import quoted
from paimon_core.spark.sql.grammar.cursor import Cursor
from paimon_core.spark.sql.grammar.statements import Delete, Insert, Merge, Query, Statement, Update

_CHANGES = ("INSERT", "UPDATE", "DELETE", "MERGE")
_SELECT = "SELECT * FROM "


@dataclass(frozen=True)
class WithClause:
    """The text WITH ... before a statement, and the names that it defines."""

    start: int
    end: int
    names: tuple[str, ...]


def with_clause(cursor: Cursor) -> WithClause | None:
    """Skip WITH ... if a change of rows follows it; otherwise skip nothing and return None: the text is a query."""
    first, start = cursor.at, cursor.next.start
    found: list[str] = []
    if cursor.skip("WITH"):
        if cursor.peek("RECURSIVE") and not cursor.peek("RECURSIVE", "AS"):
            cursor.skip("RECURSIVE")
        while cursor.next.kind in ("word", "name"):
            found.append(cursor.name("the name of a query"))
            if cursor.peek("(") and not cursor.peek("(", "SELECT"):
                _skip_parentheses(cursor)
            while cursor.next.kind in ("word", "number") and not cursor.skip("AS"):
                cursor.at += 1
            if not cursor.peek("("):
                break
            _skip_parentheses(cursor)
            if not cursor.skip(","):
                break
        if cursor.next.word in _CHANGES and cursor.tokens[cursor.at - 1].text == ")":
            return WithClause(start, cursor.tokens[cursor.at - 1].end, tuple(found))
    cursor.at = first
    return None


def _skip_parentheses(cursor: Cursor) -> None:
    depth = 0
    while cursor.next.kind != "end":
        token = cursor.next
        cursor.at += 1
        depth += (token.text == "(") - (token.text == ")") if token.kind == "sign" else 0
        if not depth:
            return


def with_ctes(cursor: Cursor, clause: WithClause, statement: Statement) -> Statement:
    """Return a change of rows whose queries can name the CTEs of ``clause``.

    The query of an INSERT gets the clause as a part of its text, so that Spark computes each CTE as in any query. The
    others get one query for each CTE; each use of it is computed by itself.
    """
    written = cursor.source[clause.start : clause.end]
    if isinstance(statement, Insert):
        return replace(statement, query=_after(written, clause, statement.query))
    assert isinstance(statement, Update | Delete | Merge)
    found = {
        name.casefold(): Query(
            cursor.source, clause.start, clause.end, cursor.bound, f"{written} {_SELECT}{quoted(name)}"
        )
        for name in clause.names
    }
    return replace(statement, ctes=found)


def _after(written: str, clause: WithClause, query: Query) -> Query:
    """Return a query with the clause before it; the text between them becomes blanks, so that all positions stay."""
    text = query.written
    first = text.lstrip("( \n\t").split(None, 1)[0].upper() if text.strip() else ""
    before, after = "", ""
    if text.upper().startswith("WITH"):
        before, after = "(", ")"
    elif text.upper().startswith("VALUES"):
        before = _SELECT
    elif first == "TABLE" and text.upper().startswith("TABLE"):
        before, text = _SELECT, " " * len("TABLE") + text[len("TABLE") :]
    between = query.start - clause.end
    # Spark counts the markers ?, so those of the text between, such as in PARTITION (p = ?), must not be in the query
    values = {at: value for at, value in query.bound.values.items() if not clause.end <= at < query.start}
    bound = replace(query.bound, values=values)
    return Query(query.text, clause.start, query.end, bound, f"{written}{before.rjust(between)}{text}{after}")
