"""Arrow expressions as predicates: ``from_arrow(pc.field("a") > 5)`` is ``col("a") > 5``.

Arrow can serialize an expression in two forms: Substrait and the pickled form. Substrait cannot represent many
functions, such as match_like. The pickled form represents all functions: it is an Arrow record batch with the literals
and the options, and with metadata that lists the calls. This module reads the pickled form without the module pickle. A
key may occur several times in the metadata, so the metadata is read by the C data interface.

The predicate selects the same rows as the expression, except for NaN: in Arrow NaN equals nothing, in a predicate NaN
equals NaN and is the greatest number. An expression that a predicate cannot represent raises UnsupportedFeature, which
names the function.
"""

from __future__ import annotations

import datetime
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import InvalidRequest, SchemaMismatch, UnsupportedFeature
from paimon_core.limits import FILTER_COMPARISONS, FILTER_DEPTH, check_limit
from paimon_core.predicate.arrow_metadata import metadata_pairs
from paimon_core.predicate.column import Column
from paimon_core.predicate.literal import Literal, plain_literal
from paimon_core.predicate.op import Op
from paimon_core.predicate.tree import And, Constant, Or, Predicate, join

_COMPARISONS = {
    "equal": Op.EQ,
    "not_equal": Op.NE,
    "less": Op.LT,
    "less_equal": Op.LE,
    "greater": Op.GT,
    "greater_equal": Op.GE,
}
_JOINS = frozenset({"and_kleene", "or_kleene"})
_TEXTS = {"starts_with": Op.STARTS, "ends_with": Op.ENDS, "match_substring": Op.CONTAINS, "match_like": Op.LIKE}


@dataclass(frozen=True, slots=True)
class _Call:
    function: str
    arguments: list[Any]
    options: dict[str, pa.Scalar]


@dataclass(frozen=True, slots=True)
class _Literal:
    value: pa.Scalar


def from_arrow(expression: pc.Expression, schema: pa.Schema | None = None) -> Predicate:
    """Return the predicate that selects the rows that an Arrow expression selects, except for NaN.

    With ``schema``, a column that is not in the schema raises SchemaMismatch. Comparisons of a column with literals or
    with another column, ``&``, ``|``, ``~``, is_in, is_null, is_valid, is_nan, starts_with, ends_with, match_substring,
    match_like and fields of structs are converted; casts, arithmetic and other functions raise UnsupportedFeature
    naming the function.
    """
    if not isinstance(expression, pc.Expression):
        raise InvalidRequest(f"from_arrow takes an Arrow expression, not {type(expression).__name__}")
    found = _predicate(_tree(expression), False, 0)
    if schema is not None:
        for column in sorted(found.columns):
            if column not in schema.names:
                raise SchemaMismatch(
                    f"the filter names column {column!r}; the columns are {', '.join(schema.names)}", column=column
                )
    return found


# -- the parts of an expression ----------------------------------------------------------------------------------------


_STACK_BYTES = 512 << 20
"""Size of the stack of the thread that serializes an expression; each nested call takes 256 bytes of this stack."""
_STARTING = threading.Lock()


def _serialized(expression: pc.Expression) -> pa.Buffer:
    """Return the pickled form of the expression.

    Arrow serializes the expression recursively: 100,000 nested calls would overflow the stack of an ordinary thread and
    end the process. So a thread with a large stack does this.
    """
    found: list[pa.Buffer | pa.ArrowException] = []

    def serialize() -> None:
        try:
            found.append(expression.__reduce__()[1][0])
        except pa.ArrowException as error:
            found.append(error)

    thread = threading.Thread(target=serialize)
    with _STARTING:
        usual = threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(usual)
    thread.join()
    if isinstance(found[0], pa.ArrowException):  # Arrow does not serialize a column reference by position
        raise UnsupportedFeature(f"a filter cannot contain this Arrow expression: {found[0]}") from found[0]
    return found[0]


def _tree(expression: pc.Expression) -> Any:
    data = _serialized(expression)
    with pa.ipc.open_file(data) as file:
        batch = file.get_batch(0)
    marks = iter(metadata_pairs(batch.schema))
    stack: list[list[Any]] = [[]]
    calls = 0
    for key, value in marks:
        match key:
            case "literal":
                stack[-1].append(_Literal(batch.column(int(value))[0]))
            case "field_ref":
                stack[-1].append(Column(value))
            case "nested_field_ref":
                stack[-1].append(_nested(marks, int(value)))
            case "call":
                stack.append([])
                calls += 1
                check_limit("the filter", calls, 4 * FILTER_COMPARISONS, "calls")
            case "options":
                stack[-1].append(dict(batch.column(int(value))[0].items()))
            case "end":
                parts = stack.pop()
                options = parts.pop() if parts and isinstance(parts[-1], dict) else {}
                stack[-1].append(_Call(value, parts, options))
            case _:
                raise UnsupportedFeature(f"an Arrow expression with {key} {value} cannot be used as a filter")
    return stack[0][0]


def _nested(marks: Iterator[tuple[str, str]], count: int) -> Column:
    steps = []
    for _ in range(count):
        key, value = next(marks)
        if key != "field_ref":
            raise UnsupportedFeature(f"an Arrow expression with {key} {value} cannot be used as a filter")
        steps.append(value)
    return Column(steps[0], tuple(steps[1:]))


# -- as a predicate ----------------------------------------------------------------------------------------------------


def _predicate(node: Any, negated: bool, depth: int) -> Predicate:
    """Return the predicate that is true where the node is true, or with ``negated`` where it is false."""
    check_limit("the filter", depth, FILTER_DEPTH + 1, "levels of nested calls")
    while isinstance(node, _Call) and node.function == "invert":
        node, negated = node.arguments[0], not negated
    match node:
        case _Literal(value) if pa.types.is_boolean(value.type) and value.is_valid:
            found: Predicate = Constant(value.as_py())
        case Column():
            found = node == True  # noqa: E712
        case _Call(function, arguments, _) if function in _JOINS:
            return _joined(function, arguments, negated, depth)
        case _Call(function, [left, right], _) if function in _COMPARISONS:
            found = _compared(_COMPARISONS[function], left, right, function)
        case _Call("is_in", [argument], options):
            return _listed(_column(argument, "is_in"), options, negated)
        case _Call(function, [argument], options):
            found = _tested(function, argument, options)
        case _:
            raise _unsupported(node)
    return ~found if negated else found


def _unsupported(node: Any) -> UnsupportedFeature:
    name = node.function if isinstance(node, _Call) else f"the literal {node.value}"
    return UnsupportedFeature(f"a filter cannot contain Arrow's {name}", function=name)


def _joined(function: str, arguments: list[Any], negated: bool, depth: int) -> Predicate:
    """Join a chain of one function without recursion: Arrow nests a chain of 10,000 parts 10,000 levels deep."""
    parts: list[Predicate] = []
    waiting = list(reversed(arguments))
    while waiting:
        part = waiting.pop()
        if isinstance(part, _Call) and part.function == function:
            waiting.extend(reversed(part.arguments))
        else:
            parts.append(_predicate(part, negated, depth + 1))
    return join(And if (function == "and_kleene") != negated else Or, parts)


def _compared(op: Op, left: Any, right: Any, function: str) -> Predicate:
    if isinstance(left, _Literal):
        left, right, op = right, left, op.mirrored
    column = _column(left, function)
    return column.test(op, _value(right.value) if isinstance(right, _Literal) else _column(right, function))


def _listed(column: Column, options: dict[str, pa.Scalar], negated: bool) -> Predicate:
    """Return the predicate of Arrow's is_in; with ``negated``, its negation.

    For a null value, Arrow's is_in is true when the list has a null that may match, and otherwise false. The IN of a
    predicate is unknown for a null value. So tests of null are added.
    """
    values, behavior = options["value_set"].values, options["null_matching_behavior"].as_py()
    has_null = values.null_count > 0
    if behavior > _SKIP and has_null:
        raise UnsupportedFeature("a filter cannot contain Arrow's is_in with this null_matching_behavior and a null")
    found = column.is_in([_value(v) for v in values if v.is_valid])
    if has_null and behavior == _MATCH:
        found = found | column.is_null()
    elif negated and behavior <= _SKIP:
        found = found & column.is_not_null()
    return ~found if negated else found


_MATCH, _SKIP = 0, 1
"""Values of null_matching_behavior: a null in the list matches null values (0), or is ignored (1).

With any other value of this option, is_in is unknown for null values.
"""


def _tested(function: str, argument: Any, options: dict[str, pa.Scalar]) -> Predicate:
    if function in _TEXTS and not options["ignore_case"].as_py():
        pattern = options["pattern"].as_py()
        column = _column(argument, function)
        return column.like(pattern) if function == "match_like" else column.test(_TEXTS[function], pattern)
    if function in ("is_null", "is_valid", "is_nan"):
        column = _column(argument, function)
        if function == "is_valid":
            return column.is_not_null()
        nan = column == math.nan
        if function == "is_nan":
            return nan
        return column.is_null() | nan if options.get("nan_is_null", pa.scalar(False)).as_py() else column.is_null()
    raise UnsupportedFeature(f"a filter cannot contain Arrow's {function}", function=function)


def _column(node: Any, function: str) -> Column:
    if isinstance(node, Column):
        return node
    inner = node.function if isinstance(node, _Call) else "literal"
    raise UnsupportedFeature(f"a filter cannot contain Arrow's {function} of a {inner}", function=inner)


def _value(scalar: pa.Scalar) -> Literal:
    if not scalar.is_valid:
        raise InvalidRequest("a comparison with null is never true: use is_null or is_valid")
    kind = scalar.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return str(scalar.cast(pa.timestamp("ns")).cast(pa.string()).as_py()) + ("Z" if kind.tz else "")
    if kind == pa.time64("ns"):  # a time in Python has no nanoseconds, so the text is used
        return str(scalar.cast(pa.string()).as_py())
    value = scalar.as_py()
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    return plain_literal(value)
