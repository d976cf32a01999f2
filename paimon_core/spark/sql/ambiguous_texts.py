"""Ambiguous texts: literals whose value in Spark depends on settings of the session, which the parser does not know.

Backslashes depend on the setting ``escapedStringLiterals``, two quotes in a row on the version of Spark. With the
setting ``doubleQuotedIdentifiers``, a text in double quotes is a name. A comment whose line ends with a backslash goes
on in the next line.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot import exp

from paimon_core.spark.row_changes.conditions import is_rewritten
from paimon_core.spark.sql.grammar.cursor import SqlToken


def ambiguous_texts(written: str, tokens: Sequence[SqlToken]) -> frozenset[str] | None:
    """Return the values of the ambiguous literals of a query; None when a comment after WHERE makes all ambiguous."""
    start = next((token.start for token in tokens if token.word == "WHERE"), len(written))
    if any(is_rewritten(written[a.end : b.start]) for a, b in pairwise(tokens) if b.start > start):
        return None
    texts = (token for token in tokens if token.kind == "text")
    return frozenset(t.text for t in texts if is_rewritten(written[t.start : t.end]))


def is_certain(condition: exp.Expr, ambiguous: frozenset[str] | None) -> bool:
    """Whether no literal of a condition is ambiguous."""
    if ambiguous is None:
        return False
    return not any(literal.is_string and literal.this in ambiguous for literal in condition.find_all(exp.Literal))
