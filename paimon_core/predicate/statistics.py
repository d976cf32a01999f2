"""Statistics: tests whether a value between two bounds can pass a test.

The result is False only if no value can pass.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paimon_core.predicate import like
from paimon_core.predicate.op import Op

Stats = Mapping[str, tuple[Any, Any, int | None]]
"""For each column: minimum and maximum (storage values that bound all non-null values), and null count.

None means unknown.
"""


def value_may_pass(op: Op, values: Sequence[Any], low: Any, high: Any, *, is_float: bool) -> bool:
    """Whether a value from ``low`` to ``high`` may pass the test; the bounds may be wider than the values are.

    Bounds of floats do not cover NaN and do not determine the sign of a zero.
    """
    if not is_float:
        return _RANGE_TESTS[op](low, high, values)
    if math.isnan(low) or math.isnan(high) or any(map(math.isnan, values)):
        return True
    if op in (Op.EQ, Op.LT, Op.LE, Op.IN):
        return _RANGE_TESTS[op](low, high, values)
    return True  # NaN, which no bounds cover, passes all other tests


def pair_may_pass(op: Op, left: tuple[Any, Any], right: tuple[Any, Any]) -> bool:
    """Whether a value within the bounds ``left`` may pass the comparison with a value within the bounds ``right``.

    Must not be used for floats, because bounds of floats do not cover NaN.
    """
    (low, high), (other_low, other_high) = left, right
    match op:
        case Op.LT:
            return bool(low < other_high)
        case Op.LE:
            return bool(low <= other_high)
        case Op.GT:
            return bool(high > other_low)
        case Op.GE:
            return bool(high >= other_low)
        case Op.EQ:
            return bool(low <= other_high and other_low <= high)
    return not low == high == other_low == other_high


def _some_inside(low: Any, high: Any, values: Sequence[Any]) -> bool:
    at = bisect_left(values, low)
    return at < len(values) and values[at] <= high


_RANGE_TESTS: dict[Op, Callable[[Any, Any, Sequence[Any]], bool]] = {
    Op.EQ: lambda low, high, v: low <= v[0] <= high,
    Op.NE: lambda low, high, v: not low == v[0] == high,
    Op.LT: lambda low, high, v: low < v[0],
    Op.LE: lambda low, high, v: low <= v[0],
    Op.GT: lambda low, high, v: high > v[0],
    Op.GE: lambda low, high, v: high >= v[0],
    Op.IN: _some_inside,
    Op.NOT_IN: lambda low, high, v: not (low == high and _some_inside(low, high, v)),
    # Code points have the same order as their UTF-8 bytes, so text is compared directly.
    Op.STARTS: lambda low, high, v: low[: len(v[0])] <= v[0] <= high,
    Op.NOT_STARTS: lambda low, high, v: not (low.startswith(v[0]) and high.startswith(v[0])),
    # All other tests on a part of a value can be decided only when the two bounds are equal: then all values are equal.
    Op.ENDS: lambda low, high, v: low != high or low.endswith(v[0]),
    Op.NOT_ENDS: lambda low, high, v: low != high or not low.endswith(v[0]),
    Op.CONTAINS: lambda low, high, v: low != high or v[0] in low,
    Op.NOT_CONTAINS: lambda low, high, v: low != high or v[0] not in low,
    Op.LIKE: lambda low, high, v: _may_match_pattern(low, high, v[0]),
    Op.NOT_LIKE: lambda low, high, v: low != high or not like.matches(v[0], low),
}


def _may_match_pattern(low: str, high: str, pattern: str) -> bool:
    if low == high:
        return like.matches(pattern, low)
    start = like.prefix(pattern)
    return low[: len(start)] <= start <= high
