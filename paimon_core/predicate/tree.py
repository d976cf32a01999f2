"""Predicate: an immutable tree of comparisons that users write, such as ``(col("a") == 1) & ~(col("b") > 2)``.

Names and literals are checked only when the tree is bound to a schema, so that one predicate can be used for several
tables and sent as JSON. ``~`` immediately negates the comparisons, so no tree contains a negation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from paimon_core.errors import InvalidRequest
from paimon_core.limits import FILTER_COMPARISONS, FILTER_DEPTH, check_limit
from paimon_core.predicate.binding import bind_comparison, bind_pair, joined
from paimon_core.predicate.bound import BoundAnd, BoundConstant, BoundOr, BoundPredicate
from paimon_core.predicate.literal import Literal, literal_to_json
from paimon_core.predicate.op import LISTS, NULLS, PARTS, Op
from paimon_core.predicate.reference import Step, path_text
from paimon_core.predicate.sql_literal import literal_text
from paimon_core.schema import DataField

NO_TRUTH = (
    "a predicate has no truth value: join predicates with & | ~ instead of and, or, not, put each "
    'comparison in parentheses, write (col("x") >= 1) & (col("x") < 9) for 1 <= x < 9 and .is_in([...]) for in'
)

_FILTER = "the filter (is_in takes any number of values of one column)"

Fields = Mapping[str, DataField]


class Predicate(ABC):
    """A filter; join filters with ``&``, ``|`` and ``~``. Equal trees compare equal and have the same hash.

    Joining raises InvalidRequest for more than FILTER_COMPARISONS comparisons or FILTER_DEPTH levels: this module and
    Arrow process a tree recursively, which must not exhaust the stack. ``str`` returns text from which ``parse_where``
    creates an equal predicate.
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
    @abstractmethod
    def columns(self) -> frozenset[str]:
        """The names of the top-level columns that the predicate reads.

        Before ``resolve``, a name such as ``address.city`` may be the path to a field and not the name of a column.
        """

    def bind(self, fields: Iterable[DataField]) -> BoundPredicate:
        """Check the predicate against the columns ``fields``; return the predicate with its literals as storage values.

        Raises SchemaMismatch naming the column, for an unknown column and for a literal that does not fit.
        """
        known = {f.name: f for f in fields}
        bound = self.resolve(known)._bind(known)
        bound.to_arrow()
        return bound

    @abstractmethod
    def _bind(self, fields: Fields) -> BoundPredicate:
        """Return the bound predicate; ``resolve`` has been called before."""

    def resolve(self, fields: Fields) -> Predicate:
        """Replace each dotted name that is not a column, such as ``address.city``, by the path to a field."""
        return self

    def conjuncts(self) -> tuple[Predicate, ...]:
        """Return the predicates that must all be true: the parts of a conjunction, otherwise the predicate itself."""
        return (self,)

    def only(self, columns: Collection[str]) -> Predicate | None:
        """Return the conjunction of the conjuncts that read only these columns; None if there is no such conjunct."""
        parts = [p for p in self.conjuncts() if p.columns <= set(columns)]
        return join(And, parts) if parts else None

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the tree as JSON values; ``from_json`` is the inverse."""

    @property
    def summary(self) -> str:
        """The text of the predicate for messages and plans, with only the first parts of long lists."""
        return self._text(_SHOWN)

    def __str__(self) -> str:
        return self._text(None)

    @abstractmethod
    def _text(self, most: int | None) -> str:
        """Return the predicate as text, with at most ``most`` parts of each list; ``most`` None: all parts."""

    def __and__(self, other: Predicate) -> Predicate:
        return join(And, (self, _predicate(other)))

    def __or__(self, other: Predicate) -> Predicate:
        return join(Or, (self, _predicate(other)))

    @abstractmethod
    def __invert__(self) -> Predicate: ...

    def __bool__(self) -> NoReturn:
        raise InvalidRequest(NO_TRUTH)


_SHOWN = 8
"""Maximum number of parts of a list that the summary of a predicate shows."""


def _resolved(name: str, path: tuple[Step, ...], fields: Fields) -> tuple[str, tuple[Step, ...]]:
    if path or name in fields or "." not in name:
        return name, path
    root, *steps = name.split(".")
    return (root, tuple(steps)) if root in fields else (name, path)


@dataclass(frozen=True, slots=True)
class Comparison(Predicate):
    """A comparison of one column, or of the field at ``path`` inside of the column, with literals."""

    op: Op
    column: str
    values: tuple[Literal, ...] = ()
    path: tuple[Step, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """The column of the comparison."""
        return frozenset((self.column,))

    def resolve(self, fields: Fields) -> Predicate:
        """Return the comparison of the column or path that the name stands for."""
        column, path = _resolved(self.column, self.path, fields)
        return self if column == self.column else replace(self, column=column, path=path)

    def _bind(self, fields: Fields) -> BoundPredicate:
        return bind_comparison(self.op, self.column, self.path, self.values, fields)

    def to_json(self) -> dict[str, Any]:
        """Return ``{"op": "==", "column": "x", "values": [1]}``, with ``"path"`` if there is one."""
        path = {"path": list(self.path)} if self.path else {}
        return {"op": self.op.value, "column": self.column, "values": list(map(literal_to_json, self.values)), **path}

    def __invert__(self) -> Predicate:
        return replace(self, op=self.op.negated)

    def _text(self, most: int | None) -> str:
        name = path_text(self.column, self.path)
        if self.op in NULLS:
            return f"{name} {self.op.value}"
        texts = list(map(literal_text, self.values[:most]))
        if self.op in LISTS:
            more = f", ... {len(self.values)} values" if len(texts) < len(self.values) else ""
            return f"{name} {self.op.value} ({', '.join(texts)}{more})"
        if self.op in PARTS:
            word = _FUNCTIONS.get(self.op)
            return f"{word}({name}, {texts[0]})" if word else f"not {_FUNCTIONS[self.op.negated]}({name}, {texts[0]})"
        return f"{name} {_SYMBOLS.get(self.op, self.op.value)} {texts[0]}"


_FUNCTIONS = {Op.STARTS: "startswith", Op.ENDS: "endswith", Op.CONTAINS: "contains"}
_SYMBOLS = {Op.EQ: "="}


@dataclass(frozen=True, slots=True)
class ColumnComparison(Predicate):
    """A comparison of two columns, or of fields inside of these columns."""

    op: Op
    column: str
    other: str
    path: tuple[Step, ...] = ()
    other_path: tuple[Step, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """The two columns."""
        return frozenset((self.column, self.other))

    def resolve(self, fields: Fields) -> Predicate:
        """Return the comparison of the columns or paths that the names stand for."""
        column, path = _resolved(self.column, self.path, fields)
        other, other_path = _resolved(self.other, self.other_path, fields)
        if (column, other) == (self.column, self.other):
            return self
        return ColumnComparison(self.op, column, other, path, other_path)

    def _bind(self, fields: Fields) -> BoundPredicate:
        return bind_pair(self.op, (self.column, self.path), (self.other, self.other_path), fields)

    def to_json(self) -> dict[str, Any]:
        """Return ``{"op": "<", "column": "x", "path": [], "other": {"column": "y", "path": []}}``."""
        other = {"column": self.other, "path": list(self.other_path)}
        return {"op": self.op.value, "column": self.column, "path": list(self.path), "other": other}

    def __invert__(self) -> Predicate:
        return replace(self, op=self.op.negated)

    def _text(self, most: int | None) -> str:
        left, right = path_text(self.column, self.path), path_text(self.other, self.other_path)
        return f"{left} {_SYMBOLS.get(self.op, self.op.value)} {right}"


@dataclass(frozen=True, slots=True)
class Constant(Predicate):
    """A predicate that is true for every row, or false for every row."""

    value: bool

    @property
    def columns(self) -> frozenset[str]:
        """An empty set: a constant reads no column."""
        return frozenset()

    def _bind(self, fields: Fields) -> BoundPredicate:
        return BoundConstant(self.value)

    def to_json(self) -> dict[str, Any]:
        """Return ``{"op": "true"}`` or ``{"op": "false"}``."""
        return {"op": self._text(None)}

    def __invert__(self) -> Predicate:
        return Constant(not self.value)

    def _text(self, most: int | None) -> str:
        return "true" if self.value else "false"


class _Joined(Predicate):
    """A conjunction or disjunction of several parts.

    The constructor only stores its parts; ``parts`` flattens nested trees of the same kind when it is first read. So
    joining many predicates one after the other takes linear time.
    """

    __slots__ = ("_comparisons", "_depth", "_flat", "_joined")
    __match_args__ = ("parts",)
    word: str
    kind: type[BoundAnd] | type[BoundOr]
    one: Op
    many: Op
    """When a tree is bound, all tests of a column with the operators ``one`` and ``many`` are combined into one test
    with ``many``.

    For example, tests with == become one test with IN.
    """

    def __init__(self, parts: Sequence[Predicate]) -> None:
        """Store the parts (at least one); the function ``join`` checks the limits."""
        self._joined: Sequence[Predicate] = parts
        self._flat: tuple[Predicate, ...] | None = None
        self._comparisons = sum(p.comparisons for p in parts)
        self._depth = max(p.depth + (type(p) is not type(self)) for p in parts)

    @property
    def comparisons(self) -> int:
        """The number of comparisons of all parts."""
        return self._comparisons

    @property
    def depth(self) -> int:
        """The number of levels of nested conjunctions and disjunctions."""
        return self._depth

    @property
    def parts(self) -> tuple[Predicate, ...]:
        """The parts; a part of the same kind as this predicate is replaced by its own parts."""
        if self._flat is None:
            out: list[Predicate] = []
            waiting: list[Predicate] = [self]
            while waiting:
                part = waiting.pop()
                if isinstance(part, _Joined) and type(part) is type(self):
                    if part._flat is None:
                        waiting.extend(reversed(part._joined))
                    else:
                        out.extend(part._flat)
                else:
                    out.append(part)
            self._flat = tuple(out)
            self._joined = self._flat
        return self._flat

    @property
    def columns(self) -> frozenset[str]:
        """The columns of all parts."""
        return frozenset().union(*(p.columns for p in self.parts))

    def resolve(self, fields: Fields) -> Predicate:
        """Return the predicate with each part resolved."""
        parts = [p.resolve(fields) for p in self.parts]
        return self if all(map(_is, parts, self.parts)) else type(self)(parts)

    def _bind(self, fields: Fields) -> BoundPredicate:
        return joined(self.kind, [p._bind(fields) for p in _gathered(self.parts, self.one, self.many)])

    def to_json(self) -> dict[str, Any]:
        """Return ``{"op": "and", "parts": [...]}`` or the same with ``"or"``."""
        return {"op": self.word, "parts": [p.to_json() for p in self.parts]}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, _Joined) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((self.word, self.parts))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.parts,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(parts={self.parts!r})"

    def _text(self, most: int | None) -> str:
        texts = (p._text(most) for p in self.parts[:most])
        shown = [f"({t})" if isinstance(p, _Joined) else t for p, t in zip(self.parts, texts, strict=False)]
        more = [f"... {len(self.parts)} conditions"] if len(shown) < len(self.parts) else []
        return f" {self.word} ".join(shown + more)


def _is(a: object, b: object) -> bool:
    return a is b


class And(_Joined):
    """A conjunction: true when all parts are true."""

    __slots__ = ()
    word = "and"
    kind, one, many = BoundAnd, Op.NE, Op.NOT_IN

    def conjuncts(self) -> tuple[Predicate, ...]:
        """Return the parts."""
        return self.parts

    def __invert__(self) -> Predicate:
        return join(Or, [~p for p in self.parts])


class Or(_Joined):
    """A disjunction: true when at least one part is true."""

    __slots__ = ()
    word = "or"
    kind, one, many = BoundOr, Op.EQ, Op.IN

    def __invert__(self) -> Predicate:
        return join(And, [~p for p in self.parts])


def _predicate(value: Any) -> Predicate:
    if not isinstance(value, Predicate):
        raise InvalidRequest(f"& and | join predicates, not {type(value).__name__}; {NO_TRUTH}")
    return value


def join(kind: type[And] | type[Or], parts: Sequence[Predicate]) -> Predicate:
    """Return the conjunction or disjunction of the parts; raises InvalidRequest for a tree that exceeds the limits."""
    if len(parts) == 1:
        return parts[0]
    out = kind(parts)
    check_limit(_FILTER, out.comparisons, FILTER_COMPARISONS, "comparisons")
    check_limit("the filter", out.depth, FILTER_DEPTH, "levels of nested & and |")
    return out


def _gathered(parts: Sequence[Predicate], one: Op, many: Op) -> list[Predicate]:
    """Return the parts; all tests of one column with ``one`` and ``many`` become a single test with ``many``."""
    values: dict[tuple[str, tuple[Step, ...]], list[Literal]] = {}
    for part in parts:
        if isinstance(part, Comparison) and part.op in (one, many):
            values.setdefault((part.column, part.path), []).extend(part.values)
    out: list[Predicate] = []
    for part in parts:
        if not (isinstance(part, Comparison) and part.op in (one, many)):
            out.append(part)
        elif (found := values.pop((part.column, part.path), None)) is not None:
            out.append(part if tuple(found) == part.values else replace(part, op=many, values=tuple(found)))
    return out
