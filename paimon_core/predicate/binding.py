"""Binding: checks the comparisons of a predicate against one schema, and converts literals to storage values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from paimon_core.errors import SchemaMismatch
from paimon_core.predicate import like
from paimon_core.predicate.bound import (
    BoundAnd,
    BoundConstant,
    BoundNested,
    BoundOr,
    BoundPair,
    BoundPredicate,
    BoundTest,
)
from paimon_core.predicate.bound_column import BoundColumn, bound_column
from paimon_core.predicate.literal import Literal, storage_value
from paimon_core.predicate.op import LISTS, NULLS, PARTS, PATTERNS, Op
from paimon_core.predicate.reference import Step
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, NESTED_ROOTS, STRING_ROOTS, DataType, TypeRoot

_INTEGERS = {TypeRoot.TINYINT: 3, TypeRoot.SMALLINT: 5, TypeRoot.INT: 10, TypeRoot.BIGINT: 19}
"""For each integer type, the number of decimal digits of its largest value."""
_TIMES = frozenset({TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ})


def bind_comparison(
    op: Op, name: str, path: tuple[Step, ...], literals: Sequence[Literal], fields: Mapping[str, DataField]
) -> BoundPredicate:
    """Return the comparison of a column, or of a field inside of the column, with literals.

    Raises SchemaMismatch naming the column, for unknown columns and for literals that do not fit.
    """
    column = bound_column(name, path, fields)
    test = bind_test(op, column.field, literals)
    return BoundNested(test.op, column, test.values) if column.steps else test


def bind_test(op: Op, field: DataField, literals: Sequence[Literal]) -> BoundTest:
    """Return the test with literals converted to ``field``; raises SchemaMismatch if the test does not fit the column.

    A literal between two storage values is replaced by the lower of these values, and the operator by an operator that
    selects the same rows. A pattern of LIKE is replaced by a simpler test, such as "starts with", if the simpler test
    selects the same rows.
    """
    kinds = STRING_ROOTS if op in PATTERNS else STRING_ROOTS | BINARY_ROOTS
    if op in PARTS | PATTERNS and field.type.root not in kinds:
        word = "like" if op in PATTERNS else "startswith, endswith and contains"
        raise SchemaMismatch(
            f"column {field.name!r} is {field.type}: only text {'' if op in PATTERNS else 'and binary '}columns "
            f"support {word}",
            column=field.name,
        )
    bound = [storage_value(v, field) for v in literals]
    if op in PATTERNS:
        return _pattern_test(op, field, bound[0][0])
    if op in LISTS:
        exact = {value for value, equal in bound if equal}
        nans = sorted(v for v in exact if v != v)[:1]
        return BoundTest(op, field, (*sorted(v for v in exact if v == v), *nans))
    if op in NULLS or bound[0][1]:
        return BoundTest(op, field, tuple(value for value, _ in bound))
    floor = bound[0][0]
    match op:
        case Op.EQ:
            return BoundTest(Op.IN, field)
        case Op.NE:
            return BoundTest(Op.NOT_NULL, field)
        case Op.LT | Op.LE:
            return BoundTest(Op.LE, field, (floor,))
    return BoundTest(Op.GT, field, (floor,))


def _pattern_test(op: Op, field: DataField, pattern: str) -> BoundTest:
    simple = like.simple_test(pattern)
    if simple is None:
        like.arrow_pattern(pattern)  # raises InvalidRequest for a pattern that cannot be compiled
        return BoundTest(op, field, (pattern,))
    test, values = simple
    if op is Op.LIKE:
        return BoundTest(test, field, values)
    # "%" matches every text. So NOT LIKE "%" is false for texts and unknown for nulls, like IN without values.
    return BoundTest(Op.IN, field) if test is Op.NOT_NULL else BoundTest(test.negated, field, values)


def bind_pair(
    op: Op, left: tuple[str, tuple[Step, ...]], right: tuple[str, tuple[Step, ...]], fields: Mapping[str, DataField]
) -> BoundPredicate:
    """Return the comparison of two columns.

    Raises SchemaMismatch, which names both columns, if their types cannot be compared.
    """
    one, other = bound_column(*left, fields), bound_column(*right, fields)
    common = _common_type(one.field.type, other.field.type)
    if common is None:
        raise _not_comparable(one, other)
    return BoundPair(op, one, other, common)


def _not_comparable(one: BoundColumn, other: BoundColumn) -> SchemaMismatch:
    return SchemaMismatch(
        f"column {one.field.name!r} is {one.field.type} and column {other.field.name!r} is {other.field.type}: columns "
        "are compared when their types are the same, or one type has all values of both",
        column=one.field.name,
    )


def _common_type(a: DataType, b: DataType) -> pa.DataType | None:
    """Return an Arrow type to which both types can be cast without changing a value; None if there is no such type."""
    roots = {a.root, b.root}
    if roots <= STRING_ROOTS or roots <= BINARY_ROOTS:
        return pa.string() if roots <= STRING_ROOTS else pa.binary()
    if roots <= _INTEGERS.keys():
        return pa.int64()
    if roots <= {*_INTEGERS, TypeRoot.DECIMAL}:
        scale = max(a.scale, b.scale)
        digits = max(_INTEGERS.get(t.root, t.precision) - t.scale for t in (a, b))
        return pa.decimal128(digits + scale, scale) if digits + scale <= 38 else pa.decimal256(digits + scale, scale)
    if roots == {TypeRoot.FLOAT}:
        return pa.float32()
    if roots <= {TypeRoot.FLOAT, TypeRoot.DOUBLE, TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT}:
        return pa.float64()
    if len(roots) > 1 or a.root in NESTED_ROOTS:
        return None
    if a.root in _TIMES and a.timestamp_unit != b.timestamp_unit:
        return None
    return a.to_arrow()


def joined(kind: type[BoundAnd] | type[BoundOr], parts: Sequence[BoundPredicate]) -> BoundPredicate:
    """Return the conjunction or disjunction of ``parts`` (at least one); constant parts are evaluated and removed."""
    absorbing = kind is BoundOr
    rest = []
    for part in parts:
        if not isinstance(part, BoundConstant):
            rest.append(part)
        elif part.value is absorbing:
            return part
    if not rest:
        return parts[0]
    return rest[0] if len(rest) == 1 else kind(tuple(rest))
