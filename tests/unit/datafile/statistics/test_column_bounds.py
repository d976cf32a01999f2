import datetime
import decimal
import math

import pyarrow as pa
import pytest

from paimon_core.datafile.statistics.column_bounds import ColumnBounds
from paimon_core.datafile.statistics.column_statistics import Bounds
from paimon_core.schema import DataField
from paimon_core.types import parse_type

D = decimal.Decimal


def bounds_of(text, *pieces, nulls=0, nan=False):
    dtype = parse_type(text)
    found = ColumnBounds([DataField(0, "c", dtype)], [True])
    for values in pieces:
        found.add(pa.table({"c": pa.array(values, dtype.to_arrow())}))
    return found.bounds([nulls], [nan])[0]


@pytest.mark.parametrize(
    ("text", "values", "low", "high"),
    [
        ("INT", [3, None, -1], -1, 3),
        ("STRING", ["é", "a", "z"], "a", "é"),
        ("BOOLEAN", [True, False], False, True),
        ("DECIMAL(9, 2)", [D("1.50"), D("-2.00")], D("-2.00"), D("1.50")),
        ("DATE", [datetime.date(1970, 1, 3), datetime.date(1969, 12, 31)], -1, 2),
        ("TIMESTAMP(3)", [5, -5], -5, 5),
        ("TIMESTAMP(6)", [5, -5], -5, 5),
        ("TIME(3)", [7, 6], 6, 7),
    ],
)
def test_storage_values(text, values, low, high):
    assert bounds_of(text, values, nulls=1) == Bounds(low, high, 1)
    assert bounds_of(text, *[[v] for v in values]) == Bounds(low, high, 0)


@pytest.mark.parametrize("text", ["BYTES", "BINARY(3)"])
def test_binary_columns_have_none(text):
    assert bounds_of(text, [b"a", b"b"]) == Bounds(None, None, 0)


def test_nulls_and_nan_have_none():
    assert bounds_of("INT", [None], [None], nulls=2) == Bounds(None, None, 2)
    assert bounds_of("DOUBLE", [1.0, math.nan], nan=True) == Bounds(None, None, 0)
    assert bounds_of({"type": "ARRAY", "element": "INT"}, [[1]]) == Bounds(None, None, 0)


def test_a_zero_bounds_both_zeros():
    for values in ([0.0], [-0.0], [-0.0, 0.0]):
        found = bounds_of("DOUBLE", values)
        assert (math.copysign(1, found.low), math.copysign(1, found.high)) == (-1, 1)
