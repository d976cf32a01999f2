"""Scalar aggregate functions: sum, product, max, min, first, last, bool_and and bool_or (format 9.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paimon_core.lsm.aggregates.aggregate import Aggregate, Factory
from paimon_core.lsm.aggregates.booleans import Connective
from paimon_core.lsm.aggregates.column_rules import check_options, check_type
from paimon_core.lsm.aggregates.decimals import DecimalProduct, DecimalSum
from paimon_core.lsm.aggregates.extremes import Extreme
from paimon_core.lsm.aggregates.floats import FloatProduct, FloatSum
from paimon_core.lsm.aggregates.integers import IntegerProduct, IntegerSum
from paimon_core.lsm.aggregates.picks import First, Last
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField
from paimon_core.types import NESTED_ROOTS, TypeRoot

_INTEGERS = frozenset({TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT})
_ALL = frozenset(TypeRoot)
_TAKES = {
    "numbers": _INTEGERS | {TypeRoot.FLOAT, TypeRoot.DOUBLE, TypeRoot.DECIMAL},
    "types with an order": _ALL - NESTED_ROOTS,
    "any type": _ALL,
    "BOOLEAN": frozenset({TypeRoot.BOOLEAN}),
}


def _checked(function: str, takes: str, make: Callable[[DataField], Aggregate]) -> Factory:
    """Return a factory that accepts only the types that ``takes`` names, and refuses options of other functions."""

    def made(field: DataField, options: FieldOptions) -> Aggregate:
        check_type(function, field, field.type.root in _TAKES[takes], takes)
        check_options(function, field, options)
        return make(field)

    return made


def _sum(field: DataField) -> Aggregate:
    if field.type.root in _INTEGERS:
        return IntegerSum(field.name)
    return DecimalSum(field.name) if field.type.root is TypeRoot.DECIMAL else FloatSum()


def _product(field: DataField) -> Aggregate:
    if field.type.root in _INTEGERS:
        return IntegerProduct(field.name)
    return DecimalProduct(field.name) if field.type.root is TypeRoot.DECIMAL else FloatProduct()


FUNCTIONS: Mapping[str, Factory] = {
    name: _checked(name, takes, make)
    for name, takes, make in (
        ("sum", "numbers", _sum),
        ("product", "numbers", _product),
        ("max", "types with an order", lambda field: Extreme(largest=True)),
        ("min", "types with an order", lambda field: Extreme(largest=False)),
        ("last_value", "any type", lambda field: Last(non_null=False)),
        ("last_non_null_value", "any type", lambda field: Last(non_null=True)),
        ("first_value", "any type", lambda field: First(non_null=False)),
        ("first_non_null_value", "any type", lambda field: First(non_null=True)),
        ("first_not_null_value", "any type", lambda field: First(non_null=True)),
        ("bool_and", "BOOLEAN", lambda field: Connective(every=True)),
        ("bool_or", "BOOLEAN", lambda field: Connective(every=False)),
    )
}
