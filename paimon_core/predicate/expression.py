"""Expression: a computed value of an update or a merge, such as ``col("amount") + 1``.

Arrow evaluates an expression on whole columns. Null in one operand gives null. A result that overflows and a division
by zero are refused.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import InvalidRequest

_LITERALS = (int, float, decimal.Decimal, datetime.timedelta)


class Arithmetic:
    """A value with the operators ``+``, ``-``, ``*``, ``/`` and unary ``-``, each of which returns an Expression."""

    __slots__ = ()

    def __add__(self, other: Any) -> Expression:
        return Expression("+", self, other)

    def __radd__(self, other: Any) -> Expression:
        return Expression("+", other, self)

    def __sub__(self, other: Any) -> Expression:
        return Expression("-", self, other)

    def __rsub__(self, other: Any) -> Expression:
        return Expression("-", other, self)

    def __mul__(self, other: Any) -> Expression:
        return Expression("*", self, other)

    def __rmul__(self, other: Any) -> Expression:
        return Expression("*", other, self)

    def __truediv__(self, other: Any) -> Expression:
        return Expression("/", self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return Expression("/", other, self)

    def __neg__(self) -> Expression:
        return Expression("-", 0, self)

    def values(self, tables: tuple[pa.Table, ...]) -> Any:
        """Return the value for each row as an Arrow column.

        ``tables``: the rows of the table and, in a merge, the rows of the source in the same order.
        """
        raise NotImplementedError

    def references(self) -> Iterator[Reference]:
        """Yield the columns that the value is computed from."""
        raise NotImplementedError

    def __call__(self, *tables: pa.Table) -> Any:
        """Return ``values``: so a column and an expression can be used where a function of rows can."""
        return self.values(tables)


class Reference(Arithmetic):
    """A column of the table or of the source of a merge, as a value; ``Column`` and ``Target`` are its kinds."""

    __slots__ = ("name", "path")
    name: str
    path: tuple[str | int, ...]
    is_target = False
    """Whether this is a column of the table where a merge has a source as well."""

    def values(self, tables: tuple[pa.Table, ...]) -> Any:
        """Return the column; see ``Arithmetic.values``."""
        return tables[0 if self.is_target else -1][self.name]

    def references(self) -> Iterator[Reference]:
        """Yield this column."""
        yield self


class Target(Reference):
    """A column of the table in the values of a merge, from ``target``."""

    __slots__ = ()
    is_target = True

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise InvalidRequest(f"a column name must be a str, not {type(name).__name__}")
        self.name, self.path = name, ()

    def __repr__(self) -> str:
        return f"target({self.name!r})"


class OfTables(Arithmetic):
    """A value whose tables are fixed."""

    __slots__ = ("_tables", "_value")

    def __init__(self, value: Arithmetic, tables: tuple[pa.Table, ...]) -> None:
        self._value, self._tables = value, tables

    def values(self, tables: tuple[pa.Table, ...]) -> Any:
        """Return the values for the fixed tables."""
        return self._value.values(self._tables)

    def references(self) -> Iterator[Reference]:
        """Yield the columns of the value."""
        return self._value.references()


class Expression(Arithmetic):
    """Two operands and an operator."""

    __slots__ = ("left", "op", "right")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, op: str, left: Any, right: Any) -> None:
        for value in (left, right):
            if isinstance(value, decimal.Decimal) and not value.is_finite():
                raise InvalidRequest(f"{value!r} cannot be an operand of {op!r}: decimals have no such value")
            if isinstance(value, bool) or not isinstance(value, (Arithmetic, *_LITERALS)):
                raise InvalidRequest(
                    f"{value!r:.60} cannot be an operand of {op!r}: use columns, numbers or a timedelta; a function of "
                    "the old rows computes other values"
                )
        self.op, self.left, self.right = op, left, right

    def values(self, tables: tuple[pa.Table, ...]) -> Any:
        """Return the computed column; raises ArrowInvalid for an overflow and for a division by zero."""
        operands = [one.values(tables) if isinstance(one, Arithmetic) else one for one in (self.left, self.right)]
        is_decimal = any(map(_is_decimal, operands))
        return _FUNCTIONS[self.op](*(_operand(one, self.op, is_decimal=is_decimal) for one in operands))

    def references(self) -> Iterator[Reference]:
        """Yield the columns of both operands."""
        for one in (self.left, self.right):
            if isinstance(one, Arithmetic):
                yield from one.references()

    def _refuse(self, *_: Any) -> NoReturn:
        raise InvalidRequest(f"a filter compares columns with values, and cannot compare {self!r:.60}")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _refuse

    def __repr__(self) -> str:
        return f"({self.left!r} {self.op} {self.right!r})"


def target(name: str) -> Target:
    """Return a column of the table, for values of a merge, in which ``col`` is a column of the source.

    >>> Update({"amount": target("amount") + col("amount")})  # doctest: +SKIP
    """
    return Target(name)


def fitted(values: Any, kind: pa.DataType) -> Any:
    """Return numbers as the type of the numbers of a column; decimals are rounded half up to its scale.

    Times become dates for a column of dates, because Arrow computes a time from a date and a timedelta. Other values
    are returned as they are. Raises ArrowInvalid for a value that does not fit: an overflow, a fraction for a column of
    whole numbers, or a time of day for a date.
    """
    if pa.types.is_date(kind) and pa.types.is_timestamp(values.type) and values.type.tz is None:
        return _dates(values, kind)
    if not (_is_number(values.type) and _is_number(kind)):
        return values
    if pa.types.is_decimal(kind) and not pa.types.is_integer(values.type):
        values = pc.round(values, kind.scale, round_mode="half_towards_infinity")
    return pc.cast(values, kind)


def _dates(times: Any, kind: pa.DataType) -> Any:
    dates = pc.cast(times, kind)
    if pc.any(pc.not_equal(pc.cast(dates, times.type), times)).as_py():
        raise pa.ArrowInvalid("a date has no time of day: move it by whole days")
    return dates


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_decimal(one: Any) -> bool:
    return isinstance(one, decimal.Decimal) or (hasattr(one, "type") and pa.types.is_decimal(one.type))


def _operand(one: Any, op: str, *, is_decimal: bool) -> Any:
    """Return a column or a literal in the form that Arrow computes with.

    ``is_decimal``: one of the operands is a decimal. Arrow gives a result the digits that the largest values need, soon
    more than 38: so decimals have 256 bits, and a whole number has only its own digits. In a division it keeps the
    digits of its type, because the digits of the result depend on them.
    """
    if is_decimal and isinstance(one, int) and (op != "/" or one.bit_length() > 63):
        one = decimal.Decimal(one)
    value = one if hasattr(one, "type") else pa.scalar(one)
    if not pa.types.is_decimal(value.type):
        return value
    return pc.cast(value, pa.decimal256(value.type.precision, value.type.scale))


def _divided(left: Any, right: Any) -> Any:
    whole = [pa.types.is_integer(value.type) for value in (left, right)]
    return pc.divide_checked(pc.cast(left, pa.float64()) if all(whole) else left, right)


_FUNCTIONS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked, "/": _divided}
)
