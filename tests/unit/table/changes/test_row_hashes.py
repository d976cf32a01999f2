"""Hashes of rows: equal for equal rows of any type, different for others, whatever the layout of their arrays."""

import datetime
import decimal
import random

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.schema import DataField
from paimon_core.table.changes.row_hashes import row_hashes, wide_row_hashes
from paimon_core.types import parse_type

NAN = float("nan")
TEXTS = [
    None,
    "",
    "a",
    "b",
    "\0",
    "a\0",
    "abcdefgh",
    "abcdefgh\0",
    "abcdefghi",
    "hgfedcba",
    "x" * 4097,
    "x" * 4096 + "y",
]
DAY = datetime.date(2024, 2, 29)
COLUMNS = {
    pa.bool_(): [None, True, False],
    pa.int8(): [None, 0, 1, -1],
    pa.int64(): [None, 0, 1, -1, 2**62],
    pa.float32(): [None, 0.5, NAN, -0.5],
    pa.float64(): [None, 0.5, NAN, float("inf")],
    pa.decimal128(30, 2): [None, decimal.Decimal("0.00"), decimal.Decimal("1.00"), decimal.Decimal(2**64)],
    pa.date32(): [None, DAY, datetime.date(1969, 1, 1)],
    pa.timestamp("us"): [None, datetime.datetime(2024, 2, 29), datetime.datetime(1969, 2, 28)],
    pa.string(): TEXTS,
    pa.large_string(): TEXTS,
    pa.binary(): [None, b"", b"\xff", b"\xff\xff"],
    pa.list_(pa.int32()): [None, [], [None], [0], [0, 0], [0, 1], [1, 0]],
    pa.list_(pa.list_(pa.string())): [None, [], [[]], [None], [["a"], ["b"]], [["a", "b"]], [["a"], [], ["b"]]],
    pa.map_(pa.string(), pa.int32()): [None, [], [("a", 1)], [("a", None)], [("b", 1)], [("a", 1), ("b", 2)]],
    pa.struct({"p": pa.int32(), "q": pa.string()}): [
        None,
        {"p": None, "q": None},
        {"p": 1, "q": None},
        {"p": 1, "q": ""},
    ],
}


def hashes(array, function=wide_row_hashes):
    table = pa.table({"c": array})
    return list(zip(*np.atleast_2d(function(table, [DataField(0, "c", parse_type("INT"))])).tolist(), strict=True))


@pytest.mark.parametrize("function", [row_hashes, wide_row_hashes])
@pytest.mark.parametrize("kind", COLUMNS, ids=str)
def test_hashes_are_equal_for_equal_values_alone(kind, function):
    values = COLUMNS[kind]
    whole = pa.array(values, kind)
    found = hashes(whole, function)
    assert len(set(found)) == len(values)
    shuffled = [number % len(values) for number in range(3 * len(values))]
    random.Random(1).shuffle(shuffled)
    assert hashes(pa.array([values[n] for n in shuffled], kind), function) == [found[n] for n in shuffled]
    assert hashes(pa.concat_arrays([whole, whole]).slice(1, len(values)), function) == [*found[1:], found[0]]
    assert hashes(pa.chunked_array([whole.slice(0, 1), whole.slice(1)]), function) == found
    if kind == pa.string():
        assert hashes(pa.concat_arrays([whole, whole]).dictionary_encode(), function) == found * 2


def test_places_of_equal_values_count():
    fields = [DataField(n, name, parse_type("INT")) for n, name in enumerate("ab")]
    rows = pa.table({"a": [1, 2, None, 5], "b": [2, 1, 5, None]})
    assert len(set(wide_row_hashes(rows, fields)[0].tolist())) == 4


def test_zeros_nans_and_the_order_of_a_map():
    zeros = pa.array([0.0, -0.0])
    assert len(set(hashes(zeros))) == 2
    assert len(set(hashes(zeros, row_hashes))) == 1
    other = np.array([0x7FF8000000000000, 0xFFF8000000000001], np.uint64).view(np.float64)
    assert len(set(hashes(pa.array(other)))) == 1
    maps = pa.array([[("a", 1), ("b", 2)], [("b", 2), ("a", 1)]], pa.map_(pa.string(), pa.int32()))
    assert len(set(hashes(maps))) == 1


def test_hashes_of_many_rows_differ():
    rows = pa.table({"k": np.arange(200_000), "s": pa.array(np.arange(200_000)).cast(pa.string())})
    fields = [DataField(0, "k", parse_type("BIGINT")), DataField(1, "s", parse_type("STRING"))]
    for part in (wide_row_hashes(rows, fields), wide_row_hashes(rows, fields[:1]), wide_row_hashes(rows, fields[1:])):
        assert [len(np.unique(half)) for half in part] == [200_000, 200_000]
        assert [len(np.unique(half >> np.uint64(40))) > 190_000 for half in part] == [True, True]
