"""Expressions: values and conditions of UPDATE, DELETE and MERGE, with each column found in the target or the source.

The text of an expression is kept for Spark; only its columns are replaced, by ``target.`a``` and ``source.`b```.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from paimon_core.spark.columns import quoted
from paimon_core.spark.row_changes.conditions import TARGET
from paimon_core.spark.row_changes.expressions import SOURCE
from paimon_core.spark.sql.changes.subqueries import Edit, edited, hiding_names, is_inner, is_inside
from paimon_core.spark.sql.grammar.cursor import fail
from paimon_core.spark.sql.grammar.statements import Query
from paimon_core.spark.sql.names import similar
from paimon_core.spark.sql.references import parse_tree

_NO_VALUES = (exp.Alias, exp.Command, exp.Query, exp.DDL, exp.DML)


@dataclass(frozen=True)
class Expression:
    """An expression: its text for Spark, and its tree with the same columns; ``query``: the text of the user."""

    text: str
    tree: exp.Expr
    query: Query
    target: frozenset[str] = frozenset()
    """The columns of the target that the expression reads."""
    source: frozenset[str] = frozenset()
    """The columns of the source that the expression reads."""

    def conjuncts(self) -> list[exp.Expr]:
        """Return the conditions that must all be true."""
        tree = self.tree.unnest()
        return list(tree.flatten()) if isinstance(tree, exp.And) else [tree]


@dataclass(frozen=True)
class Scope:
    """The columns that expressions may name: of the target, and in a MERGE of the source."""

    target: Sequence[str]
    target_names: Sequence[tuple[str, ...]]
    """The qualifiers of the target's columns, in lower case: the alias, or ``t`` and ``db.t``."""
    source: Mapping[str, str] = field(default_factory=dict)
    """The names in the prepared source by the names in the text."""
    source_names: Sequence[tuple[str, ...]] = ()
    refused: str = ""
    """Why expressions cannot name columns of the target; empty if they can."""

    def expression(self, query: Query, edits: Sequence[Edit] | None = None) -> Expression:
        """Parse an expression; raises SqlError with the position if the text is not one value of known columns.

        ``edits`` replace the tables of subqueries (see ``subqueries``); without it, subqueries are refused.
        """
        tree = parse_tree(query, query.written, query.start)
        if isinstance(tree, _NO_VALUES) and not isinstance(tree, exp.Subquery):
            fail(query.text, query.start, "an expression is needed here: one value, without an alias")
        for inner in tree.find_all(exp.Query, exp.AggFunc, exp.Window, exp.Star):
            if edits is not None and (isinstance(inner, exp.Query) or is_inside(inner)):
                continue
            what = "a subquery" if isinstance(inner, exp.Query) else "*" if isinstance(inner, exp.Star) else inner.key
            fail(query.text, query.start, f"{what} is not possible here: compute it in the source of a MERGE INTO")
        changes, hiding = list(edits or ()), hiding_names(tree, edits or ())
        bound = query.bound
        changes += [
            Edit(at - query.start, bound.ends[at] - query.start, bound.variables[at])
            for at in bound.within(query.start, query.end)
            if not any(edit.start <= at - query.start < edit.end for edit in edits or ())  # such as VERSION AS OF :v
        ]
        found: dict[str, set[str]] = {TARGET: set(), SOURCE: set()}
        columns = sorted(tree.find_all(exp.Column), key=lambda c: c.parts[0].meta.get("start", -1))
        for column in columns:
            parts = column.parts
            if is_inside(column) and not self._is_outer(column):
                continue
            side, name, used = self._resolved(query, parts)
            hidden = next((name for name in (side, parts[0].name.casefold()) if name in hiding), None)
            if is_inside(column) and hidden is not None:
                at = query.start + parts[0].meta.get("start", 0)
                owner = "the changed table" if side == TARGET else "the source"
                problem = f"cannot use the rows of {owner}: use other aliases"
                fail(query.text, at, f"a subquery that has a column {hidden!r}, or a table of this name, {problem}")
            found[side].add(name)
            if "start" not in parts[0].meta or "end" not in parts[used - 1].meta:
                at = query.start + parts[0].meta.get("start", 0)
                fail(query.text, at, "the expression is not understood: write the names of columns in backticks")
            changes.append(Edit(parts[0].meta["start"], parts[used - 1].meta["end"] + 1, f"{side}.{quoted(name)}"))
            column.set("this", exp.to_identifier(name, quoted=True))
            column.set("table", exp.to_identifier(side))
            column.set("db", None if used == len(parts) else exp.to_identifier("field"))
        return Expression(
            edited(query.written, changes), tree, query, frozenset(found[TARGET]), frozenset(found[SOURCE])
        )

    def _is_outer(self, column: exp.Column) -> bool:
        """Whether a column inside of a subquery names the target or the source by its qualifier."""
        names = tuple(part.name.casefold() for part in column.parts)
        qualifiers = (*self.target_names, *self.source_names)
        named = any(len(names) > len(q) and names[: len(q)] == q for q in qualifiers)
        return named and not is_inner(column)

    def _resolved(self, query: Query, parts: Sequence[exp.Expr]) -> tuple[str, str, int]:
        """Return target or source, the name of the column in this table, and how many of the parts name the column."""
        at = query.start + parts[0].meta.get("start", 0)
        names = [part.name for part in parts]
        lower = tuple(name.casefold() for name in names)
        for side, qualifiers in ((TARGET, self.target_names), (SOURCE, self.source_names)):
            for qualifier in qualifiers:
                if len(names) > len(qualifier) and lower[: len(qualifier)] == qualifier:
                    name = self._column(side, names[len(qualifier)])
                    if name is None:
                        return self._unknown(query, at, ".".join(names[: len(qualifier) + 1]), side)
                    return side, self._allowed(query, at, side, name), len(qualifier) + 1
        both = [(side, name) for side in (TARGET, SOURCE) if (name := self._column(side, names[0])) is not None]
        if not both:
            self._unknown(query, at, names[0], TARGET if self.target else SOURCE)
        if len(both) > 1 and not self.refused:
            fail(query.text, at, f"column {names[0]!r} is in the target and in the source: write the alias before it")
        side, name = both[-1]
        return side, self._allowed(query, at, side, name), 1

    def _allowed(self, query: Query, at: int, side: str, name: str) -> str:
        if side == TARGET and self.refused:
            fail(query.text, at, self.refused)
        return name

    def _column(self, side: str, name: str) -> str | None:
        known = {c: c for c in self.target} if side == TARGET else self.source
        if name in known:
            return known[name]
        same = [found for other, found in known.items() if other.casefold() == name.casefold()]
        return same[0] if len(same) == 1 else None

    def _unknown(self, query: Query, at: int, name: str, side: str) -> NoReturn:
        known = self.target if side == TARGET else list(self.source)
        fail(
            query.text, at, f"there is no column {name}{similar(name.rpartition('.')[2], known, 'columns')}", name=name
        )
