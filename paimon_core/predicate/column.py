"""Column: a reference to a column in Python, whose comparisons are predicates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from paimon_core.errors import InvalidRequest
from paimon_core.predicate.expression import Reference
from paimon_core.predicate.like import normalized
from paimon_core.predicate.literal import plain_literal
from paimon_core.predicate.op import ORDERS, Op
from paimon_core.predicate.reference import Step, path_text
from paimon_core.predicate.tree import NO_TRUTH, ColumnComparison, Comparison, Predicate


class Column(Reference):
    """A column name: compared with literals, ``col("price") > 10``, or computed with, ``col("price") * 2``."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str, path: tuple[Step, ...] = ()) -> None:
        if not isinstance(name, str):
            raise InvalidRequest(f"a column name must be a str, not {type(name).__name__}")
        for step in path:
            if not isinstance(step, str | int) or isinstance(step, bool):
                raise InvalidRequest(
                    f"column {name!r}: a field has a name and a key is a str or an int, not {step!r:.80}", column=name
                )
        self.name = name
        self.path = path

    def __getitem__(self, step: str | int) -> Column:
        """Return the field of a ROW or the value of a key of a MAP; a missing key is null."""
        return Column(self.name, (*self.path, step))

    __iter__ = None  # a column is not a sequence, although it has items

    @property
    def reference(self) -> str:
        """The column as it is written in the text of a filter, such as ``address.city``."""
        return path_text(self.name, self.path)

    def test(self, op: Op, *values: Any) -> Predicate:
        """Return the comparison of this column with ``values`` by ``op``.

        A value may be a column only if ``op`` is one of ``==``, ``!=``, ``<``, ``<=``, ``>`` and ``>=``.
        """
        for value in values:
            if isinstance(value, Column):
                if op in ORDERS:
                    return ColumnComparison(op, self.name, value.name, self.path, value.path)
                raise InvalidRequest(f"{op.value} takes values, not the column {value!r}", column=self.name)
            if isinstance(value, Predicate):
                raise InvalidRequest(NO_TRUTH)
        return Comparison(op, self.name, tuple(map(plain_literal, values)), self.path)

    def __eq__(self, value: Any) -> Predicate:  # type: ignore[override]
        return self.test(Op.EQ, value)

    def __ne__(self, value: Any) -> Predicate:  # type: ignore[override]
        return self.test(Op.NE, value)

    def __lt__(self, value: Any) -> Predicate:
        return self.test(Op.LT, value)

    def __le__(self, value: Any) -> Predicate:
        return self.test(Op.LE, value)

    def __gt__(self, value: Any) -> Predicate:
        return self.test(Op.GT, value)

    def __ge__(self, value: Any) -> Predicate:
        return self.test(Op.GE, value)

    def is_in(self, values: Iterable[Any]) -> Predicate:
        """Select rows whose value is one of ``values``; None is not allowed. Without values, no row is selected."""
        if isinstance(values, str | bytes):
            raise InvalidRequest(f"is_in takes a list of values, not the text {values!r}")
        return self.test(Op.IN, *values)

    def is_null(self) -> Predicate:
        """Select rows whose value is null; NaN is not null."""
        return self.test(Op.IS_NULL)

    def is_not_null(self) -> Predicate:
        """Select rows whose value is not null."""
        return self.test(Op.NOT_NULL)

    def between(self, low: Any, high: Any) -> Predicate:
        """Select rows whose value is from ``low`` to ``high``, both included."""
        return self.test(Op.GE, low) & self.test(Op.LE, high)

    def startswith(self, prefix: str | bytes) -> Predicate:
        """Select rows whose text or binary value starts with ``prefix``."""
        return self.test(Op.STARTS, prefix)

    def endswith(self, suffix: str | bytes) -> Predicate:
        """Select rows whose text or binary value ends with ``suffix``."""
        return self.test(Op.ENDS, suffix)

    def contains(self, part: str | bytes) -> Predicate:
        """Select rows whose text or binary value contains ``part``."""
        return self.test(Op.CONTAINS, part)

    def like(self, pattern: str, escape: str | None = "\\") -> Predicate:
        r"""Select rows whose text matches ``pattern``.

        ``%`` matches any number of characters, ``_`` exactly one character; both are literal after the character
        ``escape``. Raises InvalidRequest when ``escape`` is not one character, or the pattern has ``escape`` before any
        other character than ``%``, ``_`` and itself.
        """
        if not isinstance(pattern, str):
            raise InvalidRequest(f"like takes a text as its pattern, not {pattern!r:.80}", column=self.name)
        return self.test(Op.LIKE, normalized(pattern, escape))

    def _refuse(self, *_: Any) -> NoReturn:
        raise InvalidRequest(NO_TRUTH)

    __and__ = __rand__ = __or__ = __ror__ = __invert__ = __bool__ = _refuse

    def __repr__(self) -> str:
        return f"col({', '.join(map(repr, (self.name, *self.path)))})"


def col(name: str, *path: str | int) -> Column:
    """Return the column of that name, for filters, ``col("dt") >= "2026-05-01"``, and values, ``col("price") * 2``.

    ``path`` leads to a field inside of the column: names of fields of a ROW, keys of a MAP. ``col("address.city")`` is
    the column of that name if there is one, otherwise the same as ``col("address", "city")``.
    """
    return Column(name, path)
