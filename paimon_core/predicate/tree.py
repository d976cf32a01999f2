"""Predicate: an immutable tree of comparisons that users write, such as ``(col("a") == 1) & ~(col("b") > 2)``.

Names and literals are checked only when the tree is bound to a schema, so that one predicate can be used for several
tables and sent as JSON. ``~`` is applied to the comparisons immediately: no tree contains a negation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from paimon_core.errors import InvalidRequest, SchemaMismatch, listed
from paimon_core.limits import FILTER_COMPARISONS, FILTER_DEPTH, check_limit
from paimon_core.predicate.bound import BoundAnd, BoundOr, BoundPredicate, Op, bind_test
from paimon_core.predicate.literal import Literal, literal_from_json, literal_to_json, plain_literal
from paimon_core.schema import DataField

_NO_TRUTH = (
    "a predicate has no truth value: join predicates with & | ~ instead of and, or, not, put each "
    'comparison in parentheses, write (col("x") >= 1) & (col("x") < 9) for 1 <= x < 9 and .is_in([...]) for in'
)

_FILTER = "the filter (is_in takes any number of values of one column)"


class Predicate:
    """A filter; join filters with ``&``, ``|`` and ``~``. Equal trees compare equal and have the same hash.

    Joining raises InvalidRequest beyond FILTER_COMPARISONS comparisons or FILTER_DEPTH levels, because this module and
    Arrow process a tree recursively, which must not exhaust the stack.
    """

    __slots__ = ()

    @property
    def comparisons(self) -> int:
        """The number of comparisons."""
        return 1

    @property
    def depth(self) -> int:
        """The number of levels of nested conjunctions and disjunctions."""
        return 0

    @property
    def columns(self) -> frozenset[str]:
        """The names of the columns that the predicate reads."""
        raise NotImplementedError

    def bind(self, fields: Iterable[DataField]) -> BoundPredicate:
        """Return the predicate on these columns.

        Raises SchemaMismatch naming the column, for an unknown column and for a literal that does not fit.
        """
        bound = self._bind({f.name: f for f in fields})
        bound.to_arrow()
        return bound

    def _bind(self, fields: Mapping[str, DataField]) -> BoundPredicate:
        raise NotImplementedError

    def conjuncts(self) -> tuple[Predicate, ...]:
        """Return the parts that must all be true: those of a conjunction, otherwise the predicate itself."""
        return (self,)

    def only(self, columns: Collection[str]) -> Predicate | None:
        """Return the conjunction of the conjuncts that read only these columns; None if there is none."""
        parts = [p for p in self.conjuncts() if p.columns <= set(columns)]
        return _join(And, parts) if parts else None

    def to_json(self) -> dict[str, Any]:
        """Return the tree as JSON values; ``from_json`` is the inverse."""
        raise NotImplementedError

    def __and__(self, other: Predicate) -> Predicate:
        return _join(And, (self, _predicate(other)))

    def __or__(self, other: Predicate) -> Predicate:
        return _join(Or, (self, _predicate(other)))

    def __invert__(self) -> Predicate:
        raise NotImplementedError

    def __bool__(self) -> NoReturn:
        raise InvalidRequest(_NO_TRUTH)


@dataclass(frozen=True, slots=True)
class Comparison(Predicate):
    """A comparison of one column with literals."""

    op: Op
    column: str
    values: tuple[Literal, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """The column of the comparison."""
        return frozenset((self.column,))

    def _bind(self, fields: Mapping[str, DataField]) -> BoundPredicate:
        field = fields.get(self.column)
        if field is None:
            raise SchemaMismatch(
                f"the filter names column {self.column!r}; the columns are {listed(fields)}", column=self.column
            )
        return bind_test(self.op, field, self.values)

    def to_json(self) -> dict[str, Any]:
        """Return ``{"op": "==", "column": "x", "values": [1]}``."""
        return {"op": self.op.value, "column": self.column, "values": [literal_to_json(v) for v in self.values]}

    def __invert__(self) -> Predicate:
        return Comparison(self.op.negated, self.column, self.values)

    def __str__(self) -> str:
        if not self.values and self.op not in (Op.IN, Op.NOT_IN):
            return f"{self.column} {self.op.value}"
        texts = [repr(v) if isinstance(v, str | bytes) else str(v) for v in self.values[:_SHOWN]]
        if self.op not in (Op.IN, Op.NOT_IN):
            return f"{self.column} {self.op.value} {texts[0]}"
        more = f", ... {len(self.values)} values" if len(self.values) > _SHOWN else ""
        return f"{self.column} {self.op.value} ({', '.join(texts)}{more})"


_SHOWN = 8
"""Maximum number of literals of a list that the text of a predicate shows."""


@dataclass(frozen=True, slots=True)
class And(Predicate):
    """All parts are true."""

    parts: tuple[Predicate, ...]
    comparisons: int = field(repr=False, compare=False)
    depth: int = field(repr=False, compare=False)

    @property
    def columns(self) -> frozenset[str]:
        """The columns of all parts."""
        return frozenset().union(*(p.columns for p in self.parts))

    def _bind(self, fields: Mapping[str, DataField]) -> BoundPredicate:
        parts = _gathered(self.parts, Op.NE, Op.NOT_IN)
        return _single(BoundAnd, tuple(p._bind(fields) for p in parts))

    def conjuncts(self) -> tuple[Predicate, ...]:
        """The parts."""
        return self.parts

    def to_json(self) -> dict[str, Any]:
        """Return ``{"op": "and", "parts": [...]}``."""
        return {"op": "and", "parts": [p.to_json() for p in self.parts]}

    def __invert__(self) -> Predicate:
        return _join(Or, [~p for p in self.parts])

    def __str__(self) -> str:
        return " and ".join(f"({p})" if isinstance(p, Or) else str(p) for p in self.parts)


@dataclass(frozen=True, slots=True)
class Or(Predicate):
    """At least one part is true."""

    parts: tuple[Predicate, ...]
    comparisons: int = field(repr=False, compare=False)
    depth: int = field(repr=False, compare=False)

    @property
    def columns(self) -> frozenset[str]:
        """The columns of all parts."""
        return frozenset().union(*(p.columns for p in self.parts))

    def _bind(self, fields: Mapping[str, DataField]) -> BoundPredicate:
        parts = _gathered(self.parts, Op.EQ, Op.IN)
        return _single(BoundOr, tuple(p._bind(fields) for p in parts))

    def to_json(self) -> dict[str, Any]:
        """Return ``{"op": "or", "parts": [...]}``."""
        return {"op": "or", "parts": [p.to_json() for p in self.parts]}

    def __invert__(self) -> Predicate:
        return _join(And, [~p for p in self.parts])

    def __str__(self) -> str:
        return " or ".join(f"({p})" if isinstance(p, And) else str(p) for p in self.parts)


def _predicate(value: Any) -> Predicate:
    if not isinstance(value, Predicate):
        raise InvalidRequest(f"& and | join predicates, not {type(value).__name__}; {_NO_TRUTH}")
    return value


def _join(kind: type[And] | type[Or], parts: Sequence[Predicate]) -> Predicate:
    """Join the parts, flattening parts of the same kind; raises InvalidRequest beyond the limits."""
    comparisons = sum(p.comparisons for p in parts)
    depth = max(p.depth + (not isinstance(p, kind)) for p in parts)
    check_limit(_FILTER, comparisons, FILTER_COMPARISONS, "comparisons")
    check_limit("the filter", depth, FILTER_DEPTH, "levels of nested & and |")
    flat: list[Predicate] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, kind) else (part,))
    return flat[0] if len(flat) == 1 else kind(tuple(flat), comparisons, depth)


def _gathered(parts: Sequence[Predicate], one: Op, many: Op) -> list[Predicate]:
    """Return the parts, with all tests by ``one`` and ``many`` of one column joined to a single test by ``many``."""
    values: dict[str, list[Literal]] = {}
    for part in parts:
        if isinstance(part, Comparison) and part.op in (one, many):
            values.setdefault(part.column, []).extend(part.values)
    out: list[Predicate] = []
    for part in parts:
        if not (isinstance(part, Comparison) and part.op in (one, many)):
            out.append(part)
        elif (found := values.pop(part.column, None)) is not None:
            out.append(part if tuple(found) == part.values else Comparison(many, part.column, tuple(found)))
    return out


def _single(kind: type[BoundAnd] | type[BoundOr], parts: tuple[BoundPredicate, ...]) -> BoundPredicate:
    return parts[0] if len(parts) == 1 else kind(parts)


class Column:
    """A column name that can be compared with literals: ``col("price") > 10``."""

    __slots__ = ("name",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise InvalidRequest(f"a column name must be a str, not {type(name).__name__}")
        self.name = name

    def _test(self, op: Op, *values: Any) -> Predicate:
        for value in values:
            if isinstance(value, Column):
                raise InvalidRequest(
                    f"column {self.name!r} is compared with column {value.name!r}: compare it with a literal"
                )
            if isinstance(value, Predicate):
                raise InvalidRequest(_NO_TRUTH)
        return Comparison(op, self.name, tuple(map(plain_literal, values)))

    def __eq__(self, value: Any) -> Predicate:  # type: ignore[override]
        return self._test(Op.EQ, value)

    def __ne__(self, value: Any) -> Predicate:  # type: ignore[override]
        return self._test(Op.NE, value)

    def __lt__(self, value: Any) -> Predicate:
        return self._test(Op.LT, value)

    def __le__(self, value: Any) -> Predicate:
        return self._test(Op.LE, value)

    def __gt__(self, value: Any) -> Predicate:
        return self._test(Op.GT, value)

    def __ge__(self, value: Any) -> Predicate:
        return self._test(Op.GE, value)

    def is_in(self, values: Iterable[Any]) -> Predicate:
        """Select rows whose value is one of ``values``; None is not allowed. Without values, no row is selected."""
        if isinstance(values, str | bytes):
            raise InvalidRequest(f"is_in takes a list of values, not the text {values!r}")
        return self._test(Op.IN, *values)

    def is_null(self) -> Predicate:
        """Select rows whose value is null; NaN is not null."""
        return self._test(Op.IS_NULL)

    def is_not_null(self) -> Predicate:
        """Select rows whose value is not null."""
        return self._test(Op.NOT_NULL)

    def between(self, low: Any, high: Any) -> Predicate:
        """Select rows whose value is from ``low`` to ``high``, both included."""
        return self._test(Op.GE, low) & self._test(Op.LE, high)

    def startswith(self, prefix: str | bytes) -> Predicate:
        """Select rows whose text or binary value starts with ``prefix``."""
        return self._test(Op.STARTS, prefix)

    def _refuse(self, *_: Any) -> NoReturn:
        raise InvalidRequest(_NO_TRUTH)

    __and__ = __rand__ = __or__ = __ror__ = __invert__ = __bool__ = _refuse

    def __repr__(self) -> str:
        return f"col({self.name!r})"


def col(name: str) -> Column:
    """Return the column of that name, for comparisons: ``col("dt") >= "2026-05-01"``."""
    return Column(name)


def parse_where(value: Any) -> Predicate | None:
    """Return a ``where`` argument, None or a Predicate; raises InvalidRequest for any other value."""
    if value is None or isinstance(value, Predicate):
        return value
    raise InvalidRequest(f'where takes a predicate such as col("x") > 1, not {type(value).__name__} {value!r:.80}')


def from_json(value: Any) -> Predicate:
    """Return the predicate that ``to_json`` encoded; raises InvalidRequest for any other value."""
    try:
        return _from_json(value)
    except RecursionError:
        raise InvalidRequest("not a predicate: it is nested too deeply") from None


_ARITY = {Op.IS_NULL: 0, Op.NOT_NULL: 0}


def _from_json(value: Any) -> Predicate:
    match value:
        case {"op": "and" | "or" as op, "parts": [_, *_] as parts, **rest} if not rest:
            return _join(And if op == "and" else Or, [_from_json(p) for p in parts])
        case {"op": str(text), "column": str(column), "values": list(literals), **rest} if not rest:
            op = _OPS.get(text)
            if op in (Op.IN, Op.NOT_IN) or (op is not None and len(literals) == _ARITY.get(op, 1)):
                return Comparison(op, column, tuple(map(literal_from_json, literals)))
    raise InvalidRequest(f"not a predicate: {value!r:.80}")


_OPS = {op.value: op for op in Op}
