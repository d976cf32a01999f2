from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.lsm.order_codes import order_codes, parts
from paimon_core.lsm.text_words import WIDEST_TEXT


def ordered(*columns):
    """Return the row numbers in code order; rows of equal code form one list."""
    codes = order_codes(columns)
    return [np.flatnonzero(codes == code).tolist() for code in np.unique(codes)]


NAN = float("nan")
CASES = {
    "int": (pa.array([3, -1, None, 2**63 - 1, -(2**63), -1]), [[2], [4], [1, 5], [0], [3]]),
    "tinyint": (pa.array([1, -128, 127], pa.int8()), [[1], [0], [2]]),
    "boolean": (pa.array([True, False, None, True]), [[2], [1], [0, 3]]),
    "double": (pa.array([NAN, 0.0, -0.0, float("inf"), -1.5, None, -NAN]), [[5], [4], [2], [1], [3], [0, 6]]),
    "float": (pa.array([1.5, NAN, -2.0], pa.float32()), [[2], [0], [1]]),
    "string": (pa.array(["b", "a", "", None, "a\0", "ab", "b"]), [[3], [2], [1], [4], [5], [0, 6]]),
    "unsigned bytes": (pa.array([b"\xff", b"\x7f", b"\x7f\x00", b"\x80"]), [[1], [2], [3], [0]]),
    "utf-8": (pa.array(["\U0001f600", "\uffff", "z"]), [[2], [1], [0]]),
    "same prefix, two words": (pa.array(["prefix-0123456-b", "prefix-0123456-a", "prefix-0123456"]), [[2], [1], [0]]),
    "empty text": (pa.array(["", ""]), [[0, 1]]),
    "short decimal": (pa.array([Decimal("1.50"), None, Decimal("-7.25")], pa.decimal128(18, 2)), [[1], [2], [0]]),
    "long decimal": (
        pa.array([Decimal(2**64), Decimal(-1), None, Decimal(2**64 - 1), Decimal(-(2**64))], pa.decimal128(38, 0)),
        [[2], [4], [1], [3], [0]],
    ),
    "date": (pa.array([5, -5, None], pa.date32()), [[2], [1], [0]]),
    "time": (pa.array([5, 4], pa.time32("ms")), [[1], [0]]),
    "nanoseconds": (pa.array([1, 0, None], pa.timestamp("ns", tz="UTC")), [[2], [1], [0]]),
    "all null": (pa.array([None, None], pa.string()), [[0, 1]]),
    "other types by rank": (pa.array(["b", None, "a", "b"], pa.large_string()), [[1], [2], [0, 3]]),
}


@pytest.mark.parametrize("name", CASES)
def test_one_column_in_order(name):
    column, expected = CASES[name]
    assert ordered(column) == expected


@pytest.mark.parametrize("name", CASES)
def test_a_slice_and_chunks_give_the_same_order(name):
    column, expected = CASES[name]
    padded = pa.concat_arrays([column.slice(0, 1), column])
    assert ordered(padded.slice(1)) == expected
    assert ordered(pa.chunked_array([column.slice(0, 1), column.slice(1)])) == expected


@pytest.mark.parametrize("name", CASES)
def test_descending_reverses_all_but_the_nulls(name):
    column, expected = CASES[name]
    nulls, values = (expected[:1], expected[1:]) if column.null_count else ([], expected)
    words = parts(column, descending=True)
    rank = np.lexsort(words[::-1]) if words else np.arange(len(column))
    flat = [row for rows in nulls + values[::-1] for row in rows]
    assert rank.tolist() == flat


def test_long_text_is_ranked():
    long = "x" * (WIDEST_TEXT + 1)
    assert ordered(pa.array([long + "b", "y", None, long + "a", long + "b"])) == [[2], [3], [0, 4], [1]]


def test_columns_in_one_word_in_bytes_and_alone():
    few = [pa.array([1, 1, 0]), pa.array(["b", "a", "c"])]
    assert order_codes(few).dtype == np.uint64
    assert ordered(*few) == [[2], [1], [0]]
    wide = [pa.array([-(2**63), 2**63 - 1, -(2**63)]), pa.array(["a", "", "a\0\0"]), pa.array([0.5, 1.5, -1.5])]
    assert order_codes(wide).dtype.kind == "S"
    assert ordered(*wide) == [[0], [2], [1]]
    alone = [pa.array([7, 7, 7]), pa.array([3, 1, 2], pa.int32())]
    assert order_codes(alone).tolist() == [3, 1, 2]


def test_short_text_leaves_room_in_its_word():
    text = pa.array(["\x7f234", "", "a"])
    number = pa.array([2**28, 0, 1])
    assert order_codes([text, number]).dtype == np.uint64
    assert ordered(text, number) == [[1], [2], [0]]


def test_bytes_keep_their_trailing_zeros():
    wide = pa.array([0, 2**63 - 1, -(2**63), 0])
    codes = order_codes([wide, pa.array([256, 1, 1, 0])])
    assert codes.dtype.kind == "S"
    assert ordered(wide, pa.array([256, 1, 1, 0])) == [[2], [3], [0], [1]]


def test_no_rows():
    for kind in (pa.int64(), pa.string(), pa.decimal128(38, 2), pa.float64(), pa.bool_()):
        assert len(order_codes([pa.array([], kind), pa.array([], kind)])) == 0


@pytest.mark.parametrize("rows", [6, 9000])
@pytest.mark.parametrize("decides", [True, False])
def test_leading_columns_that_decide_the_order_are_enough(rows, decides):
    numbers = np.random.default_rng(5).integers(0, 2**62, rows // 3).repeat(3)
    texts = [f"a long text {n}" for n in numbers]
    if not decides:
        texts[-1] = "another"
    codes = order_codes([pa.array(numbers), pa.array(texts)])
    assert (codes.dtype == np.uint64) == decides
    expected = sorted(range(rows), key=lambda row: (numbers[row], texts[row]))
    assert np.argsort(codes, kind="stable").tolist() == expected
    keys = list(zip(numbers.tolist(), texts, strict=True))
    assert len(np.unique(codes)) == len(set(keys))
