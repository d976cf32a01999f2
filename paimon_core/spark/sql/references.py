"""References: the tables that a query names, with the columns and conditions that each read can take.

sqlglot parses the query to find which names are tables: not CTEs, columns or functions. The text is not generated
again: each name is later replaced in place, so that Spark sees everything else as the user wrote it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from paimon_core.spark.sql.ambiguous_texts import ambiguous_texts, is_certain
from paimon_core.spark.sql.grammar.cursor import Cursor, SqlToken, fail, tokens_of
from paimon_core.spark.sql.grammar.statements import Query, TableName, Value

FUNCTIONS = ("paimon_incremental_query", "paimon_incremental_between_timestamp", "paimon_incremental_to_auto_tag")
"""The table functions that read changes, by Paimon's names."""
_SET_OPERATIONS = ("UNION", "EXCEPT", "INTERSECT", "MINUS")
_FROM = "SELECT * FROM "
_PLAIN = (bool, int, float, str, Decimal, datetime.date)
"""The types of parameters that conditions may compare with columns before Spark does."""
_TIMES = "a time as text, such as '2026-01-31 12:00:00', or epoch seconds"
_VERSIONS = "an id or a tag"
_ID = re.compile(r"[0-9]{1,19}")
_INCOMPLETE = re.compile(r"Required keyword: '\w+' missing for <class '(?:\w+\.)*(\w+)'>")
"""A message of sqlglot about an incomplete expression, which names a class of sqlglot."""
_TOKEN = re.compile(r"<Token token_type: (?:TokenType\.)?\w+, text: (\w+), .*?>")
"""A word in a message of sqlglot."""
_AFTER = {
    "insert": "INSERT INTO t WITH c AS (...) SELECT ...",
    "merge": "MERGE INTO t USING (WITH c AS (...) SELECT ...) s ON ...",
}
"""By kind of statement, where its WITH is written."""


def _marker(parser: Any) -> exp.Placeholder:
    """Return the parameter whose sign was read; ``this`` is its position."""
    start = parser._prev.start
    if parser._prev.token_type is TokenType.COLON:
        parser._advance()
    return exp.Placeholder(this=str(start))


class _Parser(SparkParser):
    """Spark's parser, which keeps the positions of parameters."""

    PLACEHOLDER_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **SparkParser.PLACEHOLDER_PARSERS,
        TokenType.PLACEHOLDER: _marker,
        TokenType.COLON: _marker,
    }


class _Dialect(Spark):
    """Spark with the parser of this module."""

    Parser = _Parser


@dataclass(frozen=True)
class Reference:
    """A table in a query: a name with an optional version, or a function that reads changes."""

    name: TableName | None
    at: int
    """The position in the statement."""
    start: int
    end: int
    """The part of the parsed text to replace, from its first character to after its last one."""
    version: Value = None
    time: Value | datetime.datetime = None
    function: str = ""
    arguments: tuple[Value, ...] = ()
    alias: str | None = None
    """The alias to add, so that the query can still name the table; None when the text has an alias."""
    words: frozenset[str] | None = None
    """All words of the query in lower case. The name of each column that the query needs is one of these words. None:
    the query needs all columns.
    """
    conditions: tuple[exp.Expr, ...] = ()
    """The conditions of WHERE that may be tested before the query's joins."""
    qualifier: str = ""
    """The name by which conditions name the table."""
    alone: bool = False
    """Whether the query reads only this table, so that names of columns need no qualifier."""


@dataclass(frozen=True)
class ParsedQuery:
    """A query: the text that was parsed, its tables, and columns such as ``db.t.c`` to rename."""

    text: str
    shift: int
    """The number to add to a position in ``text`` to get the position in the statement."""
    references: tuple[Reference, ...]
    renames: tuple[tuple[int, int, str], ...]
    """Parts (start, end) of ``text``, with the text that replaces them."""


def parse_query(query: Query, *, relation: bool = False) -> ParsedQuery:
    """Parse a query, or with ``relation`` a text that may follow FROM; raises SqlError with the position.

    The positions ``start`` and ``end`` of references and renames are positions in ``text`` of the result.
    """
    written, shift = query.written, query.start
    first = tokens_of(written)[0]
    if relation or first.word == "TABLE":
        skipped = 0 if relation else first.end
        written, shift = _FROM + written[skipped:], query.start + skipped - len(_FROM)
    _refuse_inner_table(query, tokens_of(written), shift)
    tree = parse_tree(query, written, shift)
    if isinstance(tree, exp.DML) and first.word == "WITH":
        instead = f": write {_AFTER[tree.key]}" if tree.key in _AFTER else ""
        fail(query.text, query.start, f"WITH before {tree.key.upper()} is not supported{instead}")
    if not isinstance(tree, exp.Query | exp.Values):
        fail(
            query.text, query.start, f"{tree.key.upper()} is not a query: use SELECT, VALUES or a query in parentheses"
        )
    for inner in tree.find_all(exp.Command, exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create):
        fail(query.text, query.start, f"{inner.key.upper()} is not possible inside of a query")
    tokens = tokens_of(written)
    finder = _Finder(replace(query, start=shift), tokens, _words(tokens, written), written)
    references = [*finder.tables(tree), *finder.functions()]
    renames = tuple(renamed(tree.find_all(exp.Column), references))
    return ParsedQuery(written, shift, tuple(sorted(references, key=lambda r: r.start)), renames)


def _refuse_inner_table(query: Query, tokens: list[SqlToken], shift: int) -> None:
    """Raise SqlError for ``TABLE u`` in parentheses or behind UNION and the like, where Spark would look for ``u``."""
    for at, token in enumerate(tokens[1:-2], 1):
        before = tokens[at - 2] if at > 1 and tokens[at - 1].word in ("ALL", "DISTINCT") else tokens[at - 1]
        if token.word != "TABLE" or not (before.text == "(" or before.word in _SET_OPERATIONS):
            continue
        name, end = tokens[at + 1], tokens[at + 2]
        if name.kind in ("word", "name") and (end.kind == "end" or end.text in (")", ".", ";")):
            fail(query.text, token.start + shift, "TABLE inside of a query is not supported: use SELECT * FROM")


def references_of(condition: Query, tree: exp.Expr) -> list[Reference]:
    """Return the tables that the subqueries of a condition read; positions count from the start of the condition.

    Functions that read changes are not found: Spark refuses them.
    """
    tokens = tokens_of(condition.written)
    return list(_Finder(condition, tokens, _words(tokens, condition.written), condition.written).tables(tree))


def _words(tokens: list[SqlToken], written: str) -> frozenset[str]:
    """Return all words of a text in lower case, of which some are names of columns."""
    names = (t for t in tokens if t.kind in ("word", "name") or (t.kind == "text" and written[t.start] == '"'))
    return frozenset(t.text.casefold() for t in names)


def parse_tree(query: Query, written: str, shift: int) -> exp.Expr:
    """Return sqlglot's tree of a text; raises SqlError with the position in the statement."""
    try:
        found = _Dialect().parse(written)
    except ParseError as error:
        detail = error.errors[0] if error.errors else {}
        problem, at = str(detail.get("description", error)), _offset(written, detail)
    except SqlglotError as error:
        problem, at = str(error), 0
    else:
        if found and found[0] is not None:
            for marker in found[0].find_all(exp.Placeholder):
                value = query.bound.values.get(int(marker.this) + shift)
                if isinstance(value, _PLAIN):
                    marker.meta["value"] = value
            return found[0]
        problem, at = "a query is missing", 0
    problem = _TOKEN.sub(r"'\1', a word of the parser: as a name, write it in backquotes", problem)
    problem = _INCOMPLETE.sub(lambda found: f"{found[1].upper()} is incomplete", problem)
    if "SENTINEL" in problem:
        problem, at = problem.partition(" but got")[0] + ", but the text ends", len(written)
    return fail(query.text, max(query.start, min(at + shift, query.end)), f"the query is not understood: {problem}")


def _offset(written: str, detail: dict[str, object]) -> int:
    """Return the position that an error of sqlglot states: its column is the end of the word in question."""
    line, column, highlight = detail.get("line"), detail.get("col"), detail.get("highlight") or ""
    if not isinstance(line, int) or not isinstance(column, int):
        return 0
    before = sum(len(text) + 1 for text in written.split("\n")[: line - 1])
    return max(0, before + column - len(str(highlight)))


class _Finder:
    """The tokens of one query; finds the references in its tree."""

    def __init__(self, query: Query, tokens: list[SqlToken], words: frozenset[str], written: str) -> None:
        self._query = query
        self._tokens = tokens
        self._words = words
        self._is_piped = "|>" in written
        self._ambiguous = ambiguous_texts(written, tokens)

    def tables(self, tree: exp.Expr) -> Iterator[Reference]:
        """Yield the tables that have a name, without CTEs."""
        for table in tree.find_all(exp.Table):
            names = list(table.parts)
            if not all(isinstance(part, exp.Identifier) and "start" in part.meta for part in names):
                continue  # a function such as range(10)
            if (len(names) == 1 and _is_cte(table)) or table.find_ancestor(exp.Hint) is not None:
                continue
            start, end = names[0].meta["start"], names[-1].meta["end"] + 1
            name = TableName(tuple(part.name for part in names), start + self._query.start, end + self._query.start)
            version, time, end = self._version(table, end)
            has_alias = bool(table.alias) or bool(table.args.get("sample")) or bool(table.args.get("pivots"))
            scope = _scope(table)
            plain = scope is not None and not self._is_piped and not _has_inner_joins(scope) and not _is_reshaped(scope)
            plain = plain and not table.args.get("sample") and not table.alias_column_names
            is_open = plain and scope is not None and not _needs_all_columns(scope)
            conditions = _conditions(scope, table) if plain and scope is not None else ()
            yield Reference(
                name,
                name.start,
                start,
                end,
                version,
                time,
                alias=None if has_alias else names[-1].name,
                words=self._words if is_open else None,
                conditions=tuple(c for c in conditions if is_certain(c, self._ambiguous)),
                qualifier=table.alias or names[-1].name,
                alone=scope is not None and len(relations(scope)) == 1,
            )

    def _version(self, table: exp.Table, end: int) -> tuple[Value, Value | datetime.datetime, int]:
        """Return the version and the time that follow the name, and the position after them."""
        if table.args.get("version") is None:
            return None, None, end
        at = next(number for number, token in enumerate(self._tokens) if token.start >= end)
        cursor = Cursor(self._query.text, self._tokens, at)
        cursor.skip("FOR")
        kind = cursor.choose("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME")
        if not kind or not cursor.skip("AS", "OF"):
            self._refuse(cursor, "only VERSION AS OF and TIMESTAMP AS OF select a version")
        is_time = kind in ("TIMESTAMP", "SYSTEM_TIME")
        cursor.choose("TIMESTAMP", "DATE")
        token = cursor.next
        if token.kind == "parameter":
            return self._version_of(cursor, kind, is_time)
        if token.kind not in ("text", "number") or not (token.kind == "text" or _ID.fullmatch(token.text)):
            self._refuse(cursor, f"{kind} AS OF needs {_TIMES if is_time else _VERSIONS}")
        value: Value = token.text if token.kind == "text" else int(token.text)
        return (None, value, token.end) if is_time else (value, None, token.end)

    def _version_of(self, cursor: Cursor, kind: str, is_time: bool) -> tuple[Value, Value | datetime.datetime, int]:
        """Return the value of a parameter as a version or a time, and the position after the parameter."""
        token = cursor.next
        value = self._query.bound.values.get(token.start + self._query.start)
        kinds = (str, int, datetime.datetime) if is_time else (str, int)
        if isinstance(value, bool) or not isinstance(value, kinds):
            needed = f"{_TIMES} or a datetime" if is_time else _VERSIONS
            self._refuse(cursor, f"{kind} AS OF needs {needed}: the parameter {token.text} is {value!r:.60}")
        return (None, value, token.end) if is_time else (value, None, token.end)

    def _refuse(self, cursor: Cursor, problem: str) -> None:
        fail(self._query.text, cursor.next.start + self._query.start, problem)

    def functions(self) -> Iterator[Reference]:
        """Yield the functions that read changes, with their arguments."""
        for at, token in enumerate(self._tokens):
            if token.text.lower() not in FUNCTIONS or self._tokens[at + 1].text != "(":
                continue
            arguments, end = self._arguments(at + 1)
            at_text = token.start + self._query.start
            yield Reference(None, at_text, token.start, end, function=token.text.lower(), arguments=arguments)

    def _arguments(self, at: int) -> tuple[tuple[Value, ...], int]:
        """Return the literals in parentheses from token ``at`` on, and the position after them."""
        shift = self._query.start
        moved = [replace(t, start=t.start + shift, end=t.end + shift) for t in self._tokens]
        cursor = Cursor(self._query.text, moved, at, self._query.bound)
        arguments = tuple(cursor.listed(lambda: cursor.argument("an argument")))
        return arguments, self._tokens[cursor.at - 1].end


def _is_cte(table: exp.Table) -> bool:
    """Whether the name of a table is the name of a CTE that is visible at this place."""
    name = table.name.casefold()
    child: exp.Expr = table
    node = table.parent
    within: exp.Expr | None = None
    while node is not None:
        if isinstance(node, exp.CTE):
            within = node
        elif isinstance(node, exp.With):
            earlier = node.expressions
            if not node.args.get("recursive"):
                earlier = earlier[: next(i for i, cte in enumerate(earlier) if cte is within)]
            if any(cte.alias.casefold() == name for cte in earlier):
                return True
        elif not isinstance(child, exp.With) and any(c.alias.casefold() == name for c in getattr(node, "ctes", ())):
            return True
        child, node = node, node.parent
    return False


def _scope(table: exp.Table) -> exp.Select | None:
    """Return the SELECT that reads the table directly."""
    parent = table.parent
    if not isinstance(parent, exp.From | exp.Join) or parent.this is not table:
        return None
    return parent.parent if isinstance(parent.parent, exp.Select) else None


def relations(scope: exp.Select) -> list[exp.Expr]:
    """Return the tables, subqueries and functions that a SELECT reads directly."""
    found = scope.args.get("from_")
    relations = [found.this] if found is not None else []
    return [*relations, *(join.this for join in scope.args.get("joins") or ()), *(scope.args.get("laterals") or ())]


def _has_inner_joins(scope: exp.Select) -> bool:
    """Whether a relation has joins that the SELECT does not list, such as those after a leading FROM.

    Such joins may be outer or natural, and Spark may bind them in another order than the parser.
    """
    return any(relation.args.get("joins") for relation in relations(scope))


def _is_reshaped(scope: exp.Select) -> bool:
    """Whether the SELECT has PIVOT, UNPIVOT or LATERAL.

    These clauses use columns that the SELECT does not name, and create new columns.
    """
    joins = scope.args.get("joins") or ()
    if scope.args.get("laterals") or any(join.args.get("pivots") for join in joins):
        return True
    found = relations(scope)
    return any(isinstance(r, exp.Lateral) or r.args.get("pivots") or r.args.get("laterals") for r in found)


def _needs_all_columns(scope: exp.Select) -> bool:
    """Whether the SELECT uses columns without naming them: by a star, or by a natural join."""
    stars = (star for star in scope.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
    natural = any(join.method == "NATURAL" for join in scope.args.get("joins") or ())
    return natural or any(True for _ in stars)


def _conditions(scope: exp.Select, table: exp.Table) -> tuple[exp.Expr, ...]:
    """Return the conditions of WHERE, if testing them on the table's rows before the joins gives the same result.

    This is true unless an outer join adds rows with nulls for the table, or adds rows depending on the table's rows.
    """
    where, joins = scope.args.get("where"), scope.args.get("joins") or []
    names = [relation.alias_or_name.casefold() for relation in relations(scope)]
    if where is None or names.count((table.alias or table.name).casefold()) != 1:
        return ()
    at = next((i for i, join in enumerate(joins) if join.this is table), -1)
    if any(join.side not in ("", "LEFT") for join in joins[at + 1 :]):
        return ()
    if at >= 0 and (joins[at].side or joins[at].kind not in ("", "INNER", "CROSS")):
        return ()
    condition = where.this.unnest()
    return tuple(condition.flatten()) if isinstance(condition, exp.And) else (condition,)


def renamed(columns: Iterable[exp.Column], references: Sequence[Reference]) -> Iterator[tuple[int, int, str]]:
    """Yield the qualifiers ``db.t`` of columns that name a table without alias; they become the alias ``t``."""
    known = {tuple(part.casefold() for part in r.name.parts): r for r in references if r.name is not None and r.alias}
    for column in columns:
        qualifiers = [part for part in column.parts[:-1] if "start" in part.meta]
        for length in range(2, len(qualifiers) + 1):
            found = known.get(tuple(part.name.casefold() for part in qualifiers[:length]))
            if found is not None and found.alias is not None:
                yield qualifiers[0].meta["start"], qualifiers[length - 1].meta["end"] + 1, found.alias
