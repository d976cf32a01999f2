"""JSON of predicates: ``from_json`` is the inverse of ``Predicate.to_json``."""

from __future__ import annotations

from typing import Any

from paimon_core.errors import InvalidRequest
from paimon_core.predicate.like import normalized
from paimon_core.predicate.literal import literal_from_json
from paimon_core.predicate.op import LISTS, NULLS, ORDERS, PATTERNS, Op
from paimon_core.predicate.reference import Step
from paimon_core.predicate.tree import And, ColumnComparison, Comparison, Constant, Or, Predicate, join

_OPS = {op.value: op for op in Op}


def from_json(value: Any) -> Predicate:
    """Return the predicate that ``to_json`` encoded; raises InvalidRequest for any other value."""
    try:
        return _from_json(value)
    except RecursionError:
        raise InvalidRequest("not a predicate: it is nested too deeply") from None


def _from_json(value: Any) -> Predicate:
    match value:
        case {"op": "true" | "false" as op, **rest} if not rest:
            return Constant(op == "true")
        case {"op": "and" | "or" as op, "parts": [_, *_] as parts, **rest} if not rest:
            return join(And if op == "and" else Or, [_from_json(p) for p in parts])
        case {
            "op": str(text),
            "column": str(column),
            "path": list(path),
            "other": {"column": str(other), "path": list(other_path), **more},
            **rest,
        } if _OPS.get(text) in ORDERS and not rest and not more:
            return ColumnComparison(_OPS[text], column, other, _path(path), _path(other_path))
        case {"op": str(text), "column": str(column), "values": list(literals), **rest} if rest.keys() <= {"path"}:
            op = _OPS.get(text)
            if op in LISTS or (op is not None and len(literals) == (op not in NULLS)):
                values = tuple(map(literal_from_json, literals))
                if op in PATTERNS and normalized(str(values[0]), "\\") != values[0]:
                    raise InvalidRequest(f"not a pattern of like: {values[0]!r:.80}")
                return Comparison(op, column, values, _path(rest.get("path", [])))
    raise InvalidRequest(f"not a predicate: {value!r:.80}")


def _path(value: Any) -> tuple[Step, ...]:
    if isinstance(value, list) and all(isinstance(s, str | int) and not isinstance(s, bool) for s in value):
        return tuple(value)
    raise InvalidRequest(f"not a path to a field: {value!r:.80}")
