import math

import pyarrow as pa
import pytest

from paimon_core.lsm.equality import same_rows

INTS = pa.list_(pa.int32())
MAP = pa.map_(pa.string(), pa.int32())
PAIR = pa.struct([("a", pa.int32()), ("b", INTS)])


@pytest.mark.parametrize(
    ("kind", "left", "right", "expected"),
    [
        (pa.int32(), [1, None, None, 2], [1, None, 3, 3], [True, True, False, False]),
        (pa.string(), ["a", "", None], ["a", None, None], [True, False, True]),
        (pa.float64(), [math.nan, 0.0, None], [math.nan, -0.0, math.nan], [False, True, False]),
        (INTS, [[1, 2], [], None, [None], [1], []], [[1, 2], [], None, [None], [2], None], [True] * 3 + [False] * 3),
        (pa.list_(INTS), [[[1], [2]], [[1]], [None]], [[[1], [2]], [[2]], [None]], [True, False, False]),
        (MAP, [[("a", 1)], [("a", 1)], [], None], [[("a", 1)], [("a", 2)], [], []], [True, False, True, False]),
        (
            MAP,
            [[("a", 1), ("b", 2)], [("a", 1), ("b", 2)]],
            [[("b", 2), ("a", 1)], [("b", 1), ("a", 2)]],
            [True, False],
        ),
        (MAP, [[("a", None)], [("a", 1)]], [[("a", None)], [("a", None)]], [False, False]),
        (PAIR, [{"a": 1, "b": [1]}, None, {"b": [1]}], [{"a": 1, "b": [1]}, None, {"b": [2]}], [True, True, False]),
        (PAIR, [{"a": 1}, {"a": None}], [{"a": 1}, {"a": None}], [True, True]),
        (pa.list_(PAIR), [[{"a": 1}], [None]], [[{"a": 1}], [None]], [True, False]),
    ],
)
def test_equal_values(kind, left, right, expected):
    tables = [pa.table({"x": pa.array(values, kind), "y": [0] * len(values)}) for values in (left, right)]
    assert same_rows(*tables, ["y", "x"]).tolist() == expected
    assert same_rows(*(t.slice(1) for t in tables), ["x"]).tolist() == expected[1:]


def test_no_columns_are_equal():
    table = pa.table({"x": [1, 2]})
    assert same_rows(table, pa.table({"x": [3, 4]}), []).tolist() == [True, True]
