import decimal
import math

import pyarrow as pa
import pytest

from paimon_core.lsm.aggregates.collections.value_codes import same_object, same_row

NAN = math.nan


def classes(numbers):
    """Return for each element the position of the first element that equals it."""
    return [numbers.tolist().index(number) for number in numbers]


FLOATS = pa.list_(pa.float64())
MAP = pa.map_(pa.string(), pa.float64())
ROW = pa.struct([("a", pa.float64()), ("b", pa.string())])


@pytest.mark.parametrize(
    ("kind", "values", "objects", "rows"),
    [
        (pa.int32(), [1, None, 1, None, 0], [0, 1, 0, 1, 4], [0, 1, 0, 1, 4]),
        (pa.float32(), [0.0, -0.0, NAN, NAN, None], [0, 1, 2, 2, 4], [0, 0, 2, 3, 4]),
        (pa.decimal128(20, 2), [decimal.Decimal(1), None, decimal.Decimal(1)], [0, 1, 0], [0, 1, 0]),
        (pa.binary(), [b"", b"\0", None, b"\0", b"z" * 99], [0, 1, 2, 1, 4], [0, 1, 2, 1, 4]),
        (FLOATS, [[1.0], [1.0, 2.0], [], None, [1.0], None, []], [0, 1, 2, 3, 0, 3, 2], [0, 1, 2, 3, 0, 3, 2]),
        (FLOATS, [[NAN], [NAN], [None], [None], [0.0], [-0.0]], [0, 0, 2, 2, 4, 5], [0, 1, 2, 3, 4, 4]),
        (
            ROW,
            [{"a": 1.0, "b": None}, {"a": 1.0, "b": None}, {"a": 1.0, "b": ""}, None, {"a": None, "b": None}, None],
            [0, 0, 2, 3, 4, 3],
            [0, 0, 2, 3, 4, 3],
        ),
        (ROW, [{"a": NAN, "b": ""}, {"a": NAN, "b": ""}], [0, 0], [0, 1]),
        (
            MAP,
            [[("a", 1.0), ("b", 2.0)], [("b", 2.0), ("a", 1.0)], [("a", 1.0)], [], None, [("a", None)], [("a", None)]],
            [0, 0, 2, 3, 4, 5, 5],
            [0, 0, 2, 3, 4, 5, 6],
        ),
        (pa.list_(ROW), [[{"a": None, "b": "x"}], [{"a": None, "b": "x"}], [None], [None]], [0, 0, 2, 2], [0, 0, 2, 3]),
        (pa.list_(FLOATS), [[[1.0]], [[1.0]], [[1.0], []]], [0, 0, 2], [0, 0, 2]),
    ],
)
def test_equality(kind, values, objects, rows):
    array = pa.array(values, kind)
    assert classes(same_object(array)) == objects
    assert classes(same_row(array)) == rows
    shifted = pa.concat_arrays([array, array]).slice(len(array))
    assert classes(same_object(shifted)) == objects
    assert classes(same_row(shifted)) == rows


@pytest.mark.parametrize("kind", [pa.int32(), FLOATS, ROW, MAP])
def test_no_elements(kind):
    assert same_object(pa.array([], kind)).tolist() == []
    assert same_row(pa.array([], kind)).tolist() == []


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string()),
        *(pa.decimal128(9, 2), pa.decimal128(38, 2), pa.binary(), pa.date32(), pa.time32("ms")),
        *(pa.timestamp("ms"), pa.timestamp("us", tz="UTC"), pa.timestamp("ns")),
    ],
    ids=str,
)
def test_every_type_alone_and_in_lists(kind):
    plain = pa.array([1, 0, None, 1], pa.int64())
    texts = pa.types.is_string(kind) or pa.types.is_binary(kind)
    narrow = pa.types.is_date(kind) or pa.types.is_time(kind)
    array = plain.cast(pa.string() if texts else pa.int32() if narrow else pa.int64())
    array = array.cast(pa.decimal128(38)).cast(kind) if pa.types.is_decimal(kind) else array.cast(kind)
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3, 4], pa.int32()), array)
    for numbers in (same_object(array), same_row(array), same_object(lists)):
        assert classes(numbers) == [0, 1, 2, 0]
