"""Column lineage: find in Spark's plan from which columns of the input tables each column of a query is computed.

The analysed plan of a query is read as JSON, without a Spark job. The leaves of the plan are the views that stand for
input tables. Only the columns in the expression of a column count, not the conditions of joins and filters and not the
keys of a GROUP BY. A node that this module does not know has no lineage, and a column computed from such a node has no
lineage either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

InputColumn = tuple[str, str]
"""A table and one of its columns."""
Sources = frozenset[InputColumn] | None
"""The columns from which a value is computed; empty for a constant, None when they are not known."""
_Output = list[tuple[int, Sources]] | None
"""The columns of a node of the plan, in order, each as (id, sources); None when the node is not known."""
_Node = Mapping[str, Any]
_T = TypeVar("_T")

# fmt: off
_SAME_COLUMNS = frozenset((
    "Filter", "Sort", "GlobalLimit", "LocalLimit", "Offset", "Tail", "Distinct", "Deduplicate", "SubqueryAlias", "View",
    "Repartition", "RepartitionByExpression", "RebalancePartitions", "ResolvedHint", "Sample", "CTERelationDef",
    "Except", "Intersect",
))
# fmt: on
"""Nodes whose output columns are the columns of their first child."""
_JOINS = frozenset(("Inner$", "Cross$", "LeftOuter$", "RightOuter$", "FullOuter$"))
_LEFT_JOINS = frozenset(("LeftSemi$", "LeftAnti$"))


@dataclass(frozen=True)
class InputView:
    """The table that a view represents, and its columns; other columns of the view are not in the table."""

    table: str
    columns: frozenset[str]


class _NotUnderstood(Exception):
    """Raised when a part of the plan has a form that this module does not know."""


def column_lineage(frame: DataFrame, views: Mapping[str, InputView]) -> dict[str, tuple[InputColumn, ...]]:
    """Return for each column of a query the sorted input columns from which it is computed.

    ``views`` maps the name of a view in the plan to its table. A column that is constant, or whose lineage is not
    known, is left out.
    """
    if not isinstance(frame, ClassicFrame):
        return {}  # with Spark Connect, this process has no plan
    try:
        text = frame._jdf.queryExecution().analyzed().toJSON()
    except Py4JJavaError:  # a node of the plan that Spark cannot write as JSON
        return {}
    return plan_lineage(json.loads(text), frame.columns, views)


def plan_lineage(
    plan: Sequence[_Node], columns: Sequence[str], views: Mapping[str, InputView]
) -> dict[str, tuple[InputColumn, ...]]:
    """Return the lineage of ``columns``, which the plan computes in this order."""
    try:
        found = _Plan(views, {}, {}).columns(plan)
    except _NotUnderstood:
        return {}
    if found is None or len(found) != len(columns):
        return {}
    return {name: tuple(sorted(sources)) for name, (_, sources) in zip(columns, found, strict=True) if sources}


@dataclass(frozen=True)
class _Plan:
    """The plan of a query or of a subquery."""

    views: Mapping[str, InputView]
    ctes: dict[int, _Output]
    outer: Mapping[int, Sources]
    """The columns of the query around a subquery."""

    def columns(self, nodes: Sequence[_Node]) -> _Output:
        """Return the columns of a plan, given as its nodes in the order of a preorder traversal."""
        for start, end in _definitions(nodes):  # inner and earlier definitions come first
            self.ctes[_number(nodes[start], "id")] = self._columns(nodes[start:end])
        return self._columns(nodes)

    def _columns(self, nodes: Sequence[_Node]) -> _Output:
        done: list[_Output] = []
        for node in reversed(nodes):
            children = _popped(done, node)
            done.append(self._output(node, children))
        return _only(done)

    def _output(self, node: _Node, children: list[_Output]) -> _Output:
        kind = _kind(node)
        if kind == "View" and (view := _view(node, self.views)) is not None:
            return _of_table(view, _field_names(node), _child(children, 0))
        if kind in _SAME_COLUMNS:
            return _child(children, 0)
        if kind in ("Union", "Join", "WithCTE"):
            return {"Union": _union, "Join": _join, "WithCTE": _with_cte}[kind](node, children)
        if kind == "CTERelationRef":
            return self._reference(node)
        if kind in ("Project", "Aggregate", "Window", "Generate", "Expand"):
            return self._computed(node, kind, _child(children, 0))
        if kind == "OneRowRelation":
            return []
        if "output" not in node:
            return None
        constant = frozenset[InputColumn]() if kind in ("LocalRelation", "Range") else None
        return [(number, constant) for number in _ids(_list(node, "output"))]

    def _reference(self, node: _Node) -> _Output:
        defined = self.ctes.get(_number(node, "cteId"))
        ids = _ids(_list(node, "output"))
        if defined is None or len(defined) != len(ids):
            return None
        return [(number, sources) for number, (_, sources) in zip(ids, defined, strict=True)]

    def _computed(self, node: _Node, kind: str, child: _Output) -> _Output:
        known = _known(child or ())
        match kind:
            case "Project" | "Aggregate":
                named = _list(node, "projectList" if kind == "Project" else "aggregateExpressions")
                return self._named(named, known)
            case "Window":
                more = self._named(_list(node, "windowExpressions"), known)
                return None if child is None else [*child, *more]
            case "Generate":
                sources = self._sources(_list(node, "generator"), known)
                made = [(number, sources) for number in _ids(_list(node, "generatorOutput"))]
                return None if child is None or _list(node, "unrequiredChildIndex") else [*child, *made]
            case _:
                rows = [[self._sources(one, known) for one in row] for row in _list(node, "projections")]
                ids = _ids(_list(node, "output"))
                if any(len(row) != len(ids) for row in rows):
                    return None
                return [(number, _merged(row[n] for row in rows)) for n, number in enumerate(ids)]

    def _named(self, expressions: Sequence[Any], known: Mapping[int, Sources]) -> list[tuple[int, Sources]]:
        ids = _ids(expressions)
        return [(number, self._sources(one, known)) for number, one in zip(ids, expressions, strict=True)]

    def _sources(self, nodes: Sequence[_Node], known: Mapping[int, Sources]) -> Sources:
        """Return the sources of an expression, given as its nodes in the order of a preorder traversal."""
        done: list[Sources] = []
        for node in reversed(nodes):
            children, kind = _popped(done, node), _kind(node)
            if kind == "AttributeReference":
                done.append(known.get(_id(node)))
            elif kind == "OuterReference":
                done.append(self.outer.get(_id(_first(node.get("e")))))
            elif kind in ("ScalarSubquery", "ListQuery"):
                # The children are columns of the outer query in the conditions of the subquery, which do not count.
                found = _Plan(self.views, self.ctes, known).columns(_list(node, "plan"))
                done.append(None if found is None else _merged(sources for _, sources in found))
            else:
                done.append(None if "plan" in node else _merged(children))
        return _only(done)


def _of_table(view: InputView, names: Sequence[str], child: _Output) -> _Output:
    if child is None or len(child) != len(names):
        return None
    return [
        (number, frozenset([(view.table, name)] if name in view.columns else []))
        for name, (number, _) in zip(names, child, strict=True)
    ]


def _union(node: _Node, children: list[_Output]) -> _Output:
    known = [child for child in children if child is not None]
    if len(known) < len(children) or len({len(child) for child in known}) != 1 or node.get("byName"):
        return None
    return [(column[0][0], _merged(sources for _, sources in column)) for column in zip(*known, strict=True)]


def _join(node: _Node, children: list[_Output]) -> _Output:
    left, right = _child(children, 0), _child(children, 1)
    kind = str(node.get("joinType", {}).get("object", "")).rpartition(".")[2]
    if kind in _LEFT_JOINS:
        return left
    return None if kind not in _JOINS or left is None or right is None else [*left, *right]


def _with_cte(node: _Node, children: list[_Output]) -> _Output:
    return _child(children, _number(node, "plan"))


def _child(children: list[_Output], at: int) -> _Output:
    if not 0 <= at < len(children):
        raise _NotUnderstood
    return children[at]


def _definitions(nodes: Sequence[_Node]) -> list[tuple[int, int]]:
    """Return the positions [start, end) of the definitions of WITH clauses among the nodes, inner definitions first."""
    ends: list[int] = []
    found = []
    for start in reversed(range(len(nodes))):
        inner = _popped(ends, nodes[start])
        ends.append(inner[-1] if inner else start + 1)
        if _kind(nodes[start]) == "CTERelationDef":
            found.append((start, ends[-1]))
    return sorted(found, key=lambda part: (part[1], -part[0]))


def _known(columns: Iterable[tuple[int, Sources]]) -> dict[int, Sources]:
    known: dict[int, Sources] = {}
    for number, sources in columns:
        known[number] = sources if known.get(number, sources) == sources else None
    return known


def _merged(all_sources: Iterable[Sources]) -> Sources:
    merged: frozenset[InputColumn] = frozenset()
    for sources in all_sources:
        if sources is None:
            return None
        merged |= sources
    return merged


def _view(node: _Node, views: Mapping[str, InputView]) -> InputView | None:
    return views.get(str(_typed(_typed(_typed(node, "desc", dict), "identifier", dict), "table", str)))


def _field_names(node: _Node) -> list[str]:
    fields = _list(_typed(_typed(node, "desc", dict), "schema", dict), "fields")
    return [str(_typed(field, "name", str)) for field in fields]


def _kind(node: _Node) -> str:
    return str(_typed(node, "class", str)).rpartition(".")[2]


def _ids(expressions: Sequence[Any]) -> list[int]:
    """Return the id of each expression; each must be a column or have a name."""
    return [_id(_first(nodes)) for nodes in expressions]


def _id(node: _Node) -> int:
    return _number(_typed(node, "exprId", dict), "id")


def _number(node: _Node, name: str) -> int:
    return int(_typed(node, name, int))


def _list(node: _Node, name: str) -> list[Any]:
    return list(_typed(node, name, list))


def _first(nodes: Any) -> _Node:
    if not isinstance(nodes, list) or not nodes:
        raise _NotUnderstood
    found: _Node = nodes[0]
    return found


def _typed(node: _Node, name: str, kind: type) -> Any:
    if not isinstance(node, Mapping) or not isinstance(node.get(name), kind):
        raise _NotUnderstood
    return node[name]


def _popped(done: list[_T], node: _Node) -> list[_T]:
    count = _number(node, "num-children")
    if count > len(done):
        raise _NotUnderstood
    return [done.pop() for _ in range(count)]


def _only(done: list[_T]) -> _T:
    if len(done) != 1:
        raise _NotUnderstood
    return done[0]
