"""Markers: the parameters ``:name`` and ``?`` in the tokens of a statement, and the values that are bound to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paimon_core.spark.sql.grammar.cursor import SqlToken

_BEFORE_VALUES = frozenset(
    (  # noqa: SIM905
        "SELECT DISTINCT ALL WHERE AND OR NOT IN LIKE ILIKE RLIKE REGEXP BETWEEN THEN ELSE WHEN CASE ON HAVING BY "
        "LIMIT OFFSET OF VALUES SET INTERVAL IS FROM ESCAPE DIV RETAIN VERSION "
        "COMMENT DEFAULT QUALIFY ANY SOME USING ROWS RANGE"
    ).split()
)
"""Words after which a colon begins a parameter; after any other word it reads a field, as in ``v:field``."""


@dataclass(frozen=True)
class Bound:
    """The values of the parameters of one statement."""

    values: Mapping[int, Any] = field(default_factory=dict)
    """The values by the position of the marker."""
    names: Mapping[int, str] = field(default_factory=dict)
    """The names of the markers ``:name`` by their position; none for the markers ``?``."""
    ends: Mapping[int, int] = field(default_factory=dict)
    """The positions after the markers."""
    variables: dict[int, str] = field(default_factory=dict)
    """The variables of the session that have the values, by the position of the marker."""

    def within(self, start: int, end: int) -> list[int]:
        """Return the positions of the markers in a part of the statement, in their order."""
        return [at for at in sorted(self.values) if start <= at < end]


NOTHING = Bound()
"""The parameters of a statement that has none."""


def joined(tokens: Sequence[SqlToken]) -> list[SqlToken]:
    """Return the tokens with one token of the kind parameter for each ``:name`` and ``?``."""
    found: list[SqlToken] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if token.kind == "sign" and token.text == "?":
            found.append(replace(token, kind="parameter"))
        elif after is not None and _begins_name(token, after, found[-1] if found else None):
            at += 1
            found.append(replace(token, kind="parameter", text=f":{after.text}", end=after.end))
        else:
            found.append(token)
        at += 1
    return found


def _begins_name(token: SqlToken, after: SqlToken, before: SqlToken | None) -> bool:
    if token.kind != "sign" or token.text != ":" or after.kind not in ("word", "name"):
        return False
    if before is None or before.kind == "sign":
        return before is None or before.text not in (")", "]")
    return before.word in _BEFORE_VALUES and before.end < token.start
