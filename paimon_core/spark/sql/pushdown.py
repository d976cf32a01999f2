"""Pushdown: conditions of SQL as predicates of the library, where both select the same rows.

A condition is converted only if it compares one column with literals, and only if the types of the column and the
literal exclude a conversion: Spark would convert one of them by rules that the library does not have. Timestamps with
time zone are left out because their literals depend on the session.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from functools import reduce
from operator import and_, or_

import numpy as np
from sqlglot import exp

from paimon_core.errors import InvalidRequest
from paimon_core.predicate import Column, Predicate
from paimon_core.predicate.literal import Literal
from paimon_core.predicate.op import Op
from paimon_core.schema import DataField
from paimon_core.types import TypeRoot

_COMPARISONS: dict[type[exp.Expr], Op] = {
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
}
_INTEGERS = (TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?")
_NUMBER = re.compile(r"\d+(\.\d+)?")
_MOST_DIGITS = 38


def pushed(
    conditions: Iterable[exp.Expr], fields: Iterable[DataField], qualifier: str, *, alone: bool
) -> Predicate | None:
    """Return a predicate that is true for every row for which all ``conditions`` are true; None if there is none.

    ``qualifier`` is the table's name in the conditions; without it, a column is recognized only if ``alone``.
    """
    columns = Columns(fields, qualifier, alone=alone)
    found = [predicate for c in conditions if (predicate := converted(c, columns)) is not None]
    return reduce(and_, found) if found else None


class Columns:
    """The columns of one table, as conditions name them: with a qualifier, or without a qualifier if ``alone``."""

    def __init__(self, fields: Iterable[DataField], qualifier: str, *, alone: bool) -> None:
        self._fields = list(fields)
        self._qualifier = qualifier.casefold()
        self._alone = alone

    def field(self, node: exp.Expr) -> DataField | None:
        """Return the column that a node names, in any case of letters; None if it names no column of the table."""
        if not isinstance(node, exp.Column) or len(node.parts) > 2 or not isinstance(node.this, exp.Identifier):
            return None
        if node.table.casefold() != self._qualifier if node.table else not self._alone:
            return None
        same = [f for f in self._fields if f.name.casefold() == node.name.casefold()]
        return same[0] if len(same) == 1 else None


def converted(node: exp.Expr, columns: Columns) -> Predicate | None:
    """Return the predicate that selects the same rows as a condition; None if there is none."""
    node = node.unnest()
    if isinstance(node, exp.Boolean):
        return None
    if isinstance(node, exp.And | exp.Or):
        parts = [converted(part, columns) for part in node.flatten()]
        known = [part for part in parts if part is not None]
        return reduce(and_ if isinstance(node, exp.And) else or_, known) if len(known) == len(parts) else None
    if isinstance(node, exp.Not):
        inner = converted(node.this, columns)
        return None if inner is None else ~inner
    try:
        return _test(node, columns)
    except InvalidRequest:  # such as a literal outside of the column's range
        return None


def _test(node: exp.Expr, columns: Columns) -> Predicate | None:
    if isinstance(node, exp.Binary) and type(node) in _COMPARISONS:
        op = _COMPARISONS[type(node)]
        for left, right, ordered in ((node.left, node.right, op), (node.right, node.left, op.mirrored)):
            field = columns.field(left)
            if field is not None and (value := _value(right, field)) is not None:
                return _checked(Column(field.name).test(ordered, value), field)
        return None
    field = columns.field(node.this) if isinstance(node.this, exp.Expr) else None
    if field is None:
        return None
    column = Column(field.name)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return column.is_null()
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low, high = _value(node.args["low"], field), _value(node.args["high"], field)
        return None if low is None or high is None else _checked(column.between(low, high), field)
    if isinstance(node, exp.In) and not node.args.get("query") and node.expressions:
        values = [_value(value, field) for value in node.expressions]
        return None if None in values else _checked(column.is_in(values), field)
    return None


def _checked(predicate: Predicate, field: DataField) -> Predicate:
    predicate.bind([field])
    return predicate


def _value(node: exp.Expr, field: DataField) -> Literal | None:
    """Return the literal for comparisons with the column; None if Spark might compare differently."""
    node, root = node.unnest(), field.type.root
    if isinstance(node, exp.Neg):
        value = _value(node.this, field)
        return -value if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None
    if isinstance(node, exp.Boolean):
        return bool(node.this) if root is TypeRoot.BOOLEAN else None
    if isinstance(node, exp.Cast) and str(node.to.this).endswith(".DATE") and isinstance(node.this, exp.Literal):
        return _day(node.this.this) if root is TypeRoot.DATE and node.this.is_string else None
    if isinstance(node, exp.Placeholder):
        return _of_parameter(node.meta.get("value"), field)
    if not isinstance(node, exp.Literal):
        return None
    text = node.this
    if node.is_string:
        return _of_text(text, root)
    if not _NUMBER.fullmatch(text) or len(text) > _MOST_DIGITS:
        return None
    return _of_number(Decimal(text) if "." in text else int(text), root)


def _of_text(text: str, root: TypeRoot) -> Literal | None:
    match root:
        case TypeRoot.VARCHAR:
            return str(text)
        case TypeRoot.DATE:
            return _day(text)
        case TypeRoot.TIMESTAMP if _TIMESTAMP.fullmatch(text):
            return _parsed(datetime.datetime, text)
    return None


def _of_number(number: Decimal | int, root: TypeRoot) -> Literal | None:
    if root in _INTEGERS or root is TypeRoot.DECIMAL:
        return number
    if root is TypeRoot.DOUBLE or (root is TypeRoot.FLOAT and float(np.float32(float(number))) == float(number)):
        return float(number)
    return None


def _of_parameter(value: object, field: DataField) -> Literal | None:
    """Return the value of a parameter for comparisons with the column; None if Spark might compare differently."""
    root = field.type.root
    match value:
        case bool():
            return value if root is TypeRoot.BOOLEAN else None
        case str():
            return _of_text(value, root)
        case int():
            return _of_number(value, root)
        case Decimal() if value.is_finite():
            return _of_number(value, root)
        case float() if math.isfinite(value):
            fits = root is TypeRoot.DOUBLE or (root is TypeRoot.FLOAT and float(np.float32(value)) == value)
            return value if fits else None
        case datetime.date() if not isinstance(value, datetime.datetime):
            return value if root is TypeRoot.DATE else None
    return None


def _day(text: str) -> datetime.date | None:
    return _parsed(datetime.date, text) if _DATE.fullmatch(text) else None


def _parsed(kind: type[datetime.date], text: str) -> datetime.date | None:
    try:
        return kind.fromisoformat(text)
    except ValueError:
        return None
