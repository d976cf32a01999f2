"""Conditions: the part of a condition that this library evaluates, and the part that Spark evaluates.

A predicate of this library is evaluated by the library; the library also uses it to leave out files. A Column of Spark
is evaluated by Spark for each row that is read. A text is Spark SQL. Those of its conjuncts that mean the same in both
dialects become a predicate: comparisons of integer columns with integers, comparisons of text columns with texts, and
tests for null.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

import sqlglot
from pyspark.sql import Column
from pyspark.sql import functions as F
from sqlglot import exp

from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.predicate import Predicate, parse_where
from paimon_core.predicate.op import NULLS, ORDERS, Op
from paimon_core.predicate.tree import And, Comparison, Constant, Or
from paimon_core.schema import DataField
from paimon_core.types import STRING_ROOTS, TypeRoot

TARGET = "target"
_WHOLE = {TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT}
_SAME_OPS = {*ORDERS, *NULLS, Op.IN, Op.NOT_IN}


@dataclass(frozen=True)
class Condition:
    """A row satisfies the condition if both parts are true; a part that is None is true for all rows."""

    predicate: Predicate | None = None
    column: Column | None = None

    @staticmethod
    def of(where: object, fields: Sequence[DataField]) -> Condition:
        """Return the condition of an argument ``where`` on the columns ``fields``; a Condition is returned unchanged.

        Raises InvalidRequest for a value that is no condition and for a text that is not SQL.
        """
        if isinstance(where, Condition):
            return where
        if isinstance(where, Column):
            return Condition(column=where)
        if not isinstance(where, str):
            return Condition(parse_where(where, fields))
        parts = _conjuncts(where)
        known = [found for part in parts if (found := _predicate(part, fields)) is not None]
        column = None if len(known) == len(parts) else F.expr(where)  # as written, not as sqlglot writes it
        return Condition(reduce(and_, known) if known else None, column)


def _conjuncts(text: str) -> list[str]:
    """Return the parts of a condition that AND joins, without the qualifier of the target."""
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except sqlglot.errors.SqlglotError as error:
        first = str(error).strip().splitlines()[0]
        raise InvalidRequest(f"the condition {text!r:.200} is not Spark SQL: {first}") from None
    if is_rewritten(text):
        return [text]
    for column in tree.find_all(exp.Column):
        if column.table == TARGET and not column.args.get("db"):
            column.set("table", None)
    parts = list(tree.flatten()) if isinstance(tree, exp.And) else [tree]
    return [part.sql(dialect="spark") for part in parts]


def is_rewritten(text: str) -> bool:
    r"""Whether the text has signs that dialects read differently: ``\``, ``"``, two quotes in a row, a comment."""
    return any(sign in text for sign in ("\\", '"', "''", "--", "/*"))


def _predicate(text: str, fields: Sequence[DataField]) -> Predicate | None:
    """Return the text as a predicate; None when the text may have another meaning in Spark."""
    if is_rewritten(text):
        return None
    try:
        found = parse_where(text, fields)
    except (PaimonError, RecursionError):
        return None
    known = {field.name: field for field in fields}
    return found if found is not None and _is_same(found, known) else None


def _is_same(predicate: Predicate, known: dict[str, DataField]) -> bool:
    """Whether Spark gives the same result for the predicate as this library."""
    match predicate:
        case And(parts) | Or(parts):
            return all(_is_same(part, known) for part in parts)
        case Constant():
            return True
        case Comparison() if predicate.op in _SAME_OPS and not predicate.path:
            root = known[predicate.column].type.root
            kinds = int if root in _WHOLE else str if root in STRING_ROOTS else None
            return predicate.op in NULLS or all(type(value) is kinds for value in predicate.values)
    return False
