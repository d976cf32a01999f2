"""Table names: find the names ``database.table`` in a query of Spark SQL, without a parser for the whole grammar.

The query is divided into tokens; strings, comments and hints are skipped. A name is in the place of a table when it
follows FROM, JOIN, TABLE or a comma of a FROM clause. The FROM in ``extract(day FROM t)`` and in ``IS DISTINCT FROM``
does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<skip>\s+|--(?:\\\r?\n|[^\r\n])*)
    |(?P<text>[rR]'[^']*'|[rR]"[^"]*"|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
    |(?P<quoted>`(?:``|[^`])+`)
    |(?P<number>\d+\.(?:\d+\w*)?|\.\d+\w*)
    |(?P<word>\w+)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")
# fmt: off
_ENDS_FROM = frozenset((
    "SELECT", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "UNION",
    "INTERSECT", "EXCEPT", "MINUS", "WINDOW",
))
_NO_ALIAS = _ENDS_FROM | {
    "ON", "USING", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI", "NATURAL", "OUTER", "LATERAL",
    "PIVOT", "UNPIVOT",
}
"""When one of these words follows a table name, it begins the next part of the query and is not an alias of the
table.
"""
# fmt: on
_QUERIES = frozenset(("SELECT", "WITH", "FROM", "VALUES", "TABLE", "("))
_INTO = frozenset(("INTO", "OVERWRITE", "TABLE"))


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        return self.text.upper() if self.kind in ("word", "sign") else ""

    @property
    def part(self) -> str:
        """The identifier without backticks."""
        return self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text


@dataclass(frozen=True)
class NamedTable:
    """A name of two or more parts in a query, at ``query[start:end]``."""

    name: str
    start: int
    end: int
    is_table: bool
    """Whether the name is in the place of a table; otherwise it may qualify a column, as in ``db.t.column``."""
    takes_alias: bool = False
    """Whether the table has no alias in the query, and an alias can be added after the name."""


@dataclass
class _Level:
    """The state inside of one pair of brackets."""

    is_query: bool
    in_from: bool = False
    awaits_table: bool = False


def named_tables(query: str) -> list[NamedTable]:
    """Return the names of two or more parts that are, or may be, names of tables, in the order of the query."""
    tokens = list(_tokens(query))
    levels = [_Level(is_query=True)]
    found = []
    position = 0
    while position < len(tokens):
        token, level = tokens[position], levels[-1]
        parts = _parts(tokens, position)
        if token.kind in ("word", "quoted") and len(parts) > 1:
            after = tokens[position + 2 * len(parts) - 1 :][:1]
            found += _named(parts, after[0] if after else None, level.awaits_table, tokens[:position])
            level.awaits_table = False
            position += 2 * len(parts) - 1
            continue
        _advance(levels, token, tokens[position - 1] if position else None)
        position += 1
    return found


def is_query(query: str) -> bool:
    """Whether the text is a query that changes nothing: its first word begins a query, and it has no INSERT."""
    tokens = list(_tokens(query))
    inserts = any(one.upper == "INSERT" and two.upper in _INTO for one, two in pairwise(tokens))
    return bool(tokens) and tokens[0].upper in _QUERIES and not inserts


def _advance(levels: list[_Level], token: _Token, before: _Token | None) -> None:
    level, word = levels[-1], token.upper
    awaited, level.awaits_table = level.awaits_table, False
    if word == "(":
        levels.append(_Level(is_query=False, in_from=awaited, awaits_table=awaited))
    elif word == ")":
        if len(levels) > 1:
            levels.pop()
    elif word == "FROM" and not (before and before.upper == "DISTINCT"):
        if level.is_query or before is None or before.upper == "(":
            level.is_query = level.in_from = level.awaits_table = True
    elif word in ("TABLE", "JOIN") or (level.in_from and word == ","):
        level.awaits_table = True
    elif word in _ENDS_FROM or word == "WITH":
        level.in_from = False
        level.is_query = level.is_query or word in ("SELECT", "WITH")


def _named(parts: Sequence[_Token], after: _Token | None, is_table: bool, before: Sequence[_Token]) -> list[NamedTable]:
    if is_table and after is not None and after.upper == "(":
        return []  # a function that returns a table
    if not is_table:
        # The first two parts may be a table, followed by a column or by ``*`` (``db.t.column``, ``db.t.*``).
        return [_of(parts[:2], is_table=False)] if len(parts) > 2 or (after is not None and after.text == ".") else []
    by_keyword = bool(before) and before[-1].upper == "TABLE"
    return [_of(parts, is_table=True, takes_alias=not by_keyword and _is_free(after))]


def _of(parts: Sequence[_Token], *, is_table: bool, takes_alias: bool = False) -> NamedTable:
    return NamedTable(".".join(p.part for p in parts), parts[0].start, parts[-1].end, is_table, takes_alias)


def _is_free(after: _Token | None) -> bool:
    """Whether an alias may be added after a table, because no alias follows it; ``after`` is the next token."""
    if after is None or (after.kind == "sign" and after.text != "."):
        return True
    return after.upper in _NO_ALIAS


def _parts(tokens: Sequence[_Token], position: int) -> list[_Token]:
    """Return the identifiers of a dotted name that begins at a position."""
    parts = []
    while position < len(tokens) and tokens[position].kind in ("word", "quoted"):
        parts.append(tokens[position])
        if position + 1 >= len(tokens) or tokens[position + 1].text != ".":
            break
        position += 2
    return parts


def _tokens(query: str) -> Iterator[_Token]:
    position = 0
    while position < len(query):
        if query.startswith("/*", position):
            position = _comment_end(query, position)
            continue
        match = _TOKEN.match(query, position)
        assert match is not None
        kind = match.lastgroup or ""
        if kind != "skip":
            yield _Token(kind, match[0], position, match.end())
        position = match.end()


def _comment_end(query: str, start: int) -> int:
    """Return the end of a comment, in which comments may be nested; the end of the query when it is not closed."""
    depth = 0
    for mark in _COMMENT.finditer(query, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(query)
