import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from paimon_core.errors import SchemaMismatch
from paimon_core.predicate import col
from paimon_core.schema import DataField
from paimon_core.types import parse_type

NAN = math.nan
TYPES = {
    "i": "INT", "l": "BIGINT", "f": "DOUBLE", "s": "STRING", "b": "BYTES", "d": "DECIMAL(5, 2)", "dt": "DATE",
    "t": "TIME(3)", "ts": "TIMESTAMP(3)", "z": "TIMESTAMP(9) WITH LOCAL TIME ZONE", "o": "BOOLEAN", "a.b": "INT",
}  # fmt: skip
FIELDS = [DataField(at, name, parse_type(text)) for at, (name, text) in enumerate(TYPES.items())]
ROWS = pa.table(
    {
        "i": pa.array([1, 2, None, 4], pa.int32()),
        "f": [1.0, NAN, None, -0.0],
        "s": ["", "ab", None, "ü"],
        "b": [b"", b"\xff\x00", None, b"\x7f"],
        "d": pa.array([Decimal("1.00"), Decimal("1.01"), None, Decimal("-1.00")], pa.decimal128(5, 2)),
        "dt": [dt.date(2026, 5, 1), dt.date(2026, 5, 2), None, dt.date(1969, 1, 1)],
        "t": pa.array([0, 1, None, 2], pa.time32("ms")),
        "ts": pa.array([0, 1, None, 2], pa.timestamp("ms")),
        "z": pa.array([0, 1, None, 2], pa.timestamp("ns", "UTC")),
        "o": [True, False, None, True],
        "a.b": pa.array([1, 2, None, 4], pa.int32()),
    }
)


def selected(where):
    """Return the numbers of the rows that the filter selects."""
    rows = ROWS.append_column("row", pa.array(range(4)))
    return rows.filter(where.bind(FIELDS).to_arrow())["row"].to_pylist()


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        (col("i") == 2, [1]),
        (~(col("i") == 2), [0, 3]),
        (col("i").is_null(), [2]),
        (~col("i").is_null(), [0, 1, 3]),
        (col("i").is_in([1, 4, 9]), [0, 3]),
        (~col("i").is_in([1, 4, 9]), [1]),
        (col("i").is_in([]), []),
        (~col("i").is_in([]), [0, 1, 3]),
        ((col("i") == 1) | (col("s") == "ab"), [0, 1]),
        (~((col("i") == 1) & (col("f") == 1)), [1, 3]),
        (col("s") > "z", [3]),
        (col("s").startswith(""), [0, 1, 3]),
        (~col("s").startswith("a"), [0, 3]),
        (col("b") > b"\x80", [1]),
        (col("b").startswith(b"\xff"), [1]),
        (col("d") <= Decimal("1.005"), [0, 3]),
        (col("d") > Decimal("1.005"), [1]),
        (col("d") == Decimal("1.005"), []),
        (col("d") != Decimal("1.005"), [0, 1, 3]),
        (col("d").is_in([Decimal("1.005"), 1]), [0]),
        (col("dt") >= "2026-05-02", [1]),
        (col("dt") < dt.datetime(2026, 5, 1, 12), [0, 3]),
        (col("t") == "00:00:00.001", [1]),
        (col("ts") > "1970-01-01T00:00:00.0005", [1, 3]),
        (col("z") >= "1970-01-01T00:00:00.000000001Z", [1, 3]),
        (col("z").is_in(["1970-01-01T00:00:00.000000001+00:00"]), [1]),
        (col("o") == False, [1]),  # noqa: E712
        (col("o") > False, [0, 3]),
        (col("a.b") == 4, [3]),
    ],
)
def test_rows_selected(where, rows):
    assert selected(where) == rows


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        (col("f") == NAN, [1]),
        (col("f") != NAN, [0, 3]),
        (col("f") >= NAN, [1]),
        (col("f") > NAN, []),
        (col("f") <= NAN, [0, 1, 3]),
        (col("f") < NAN, [0, 3]),
        (col("f") > 0, [0, 1]),
        (col("f") >= 0.0, [0, 1, 3]),
        (col("f") < 0.0, []),
        (col("f") == 0, [3]),
        (col("f") != 1, [1, 3]),
        (col("f").is_in([0.0]), [3]),
        (col("f").is_in([NAN, 1]), [0, 1]),
        (~col("f").is_in([NAN, 1]), [3]),
        (~col("f").is_in([1]), [1, 3]),
    ],
)
def test_nan_is_the_greatest_number_and_zeros_are_equal(where, rows):
    assert selected(where) == rows


def test_only_text_and_binary_support_startswith():
    with pytest.raises(SchemaMismatch, match="'i' is INT"):
        col("i").startswith("1").bind(FIELDS)


def may(where, **stats):
    return where.bind(FIELDS).may_match(stats, 10)


@pytest.mark.parametrize(
    ("where", "bounds", "expected"),
    [
        (col("i") == 5, (1, 5, 0), True),
        (col("i") == 6, (1, 5, 0), False),
        (col("i") == 0, (1, 5, 0), False),
        (col("i") != 5, (5, 5, 0), False),
        (col("i") != 5, (4, 5, 0), True),
        (col("i") < 1, (1, 5, 0), False),
        (col("i") <= 1, (1, 5, 0), True),
        (col("i") > 5, (1, 5, 0), False),
        (col("i") >= 5, (1, 5, 0), True),
        (col("i").is_in([0, 9]), (1, 5, 0), False),
        (col("i").is_in([9, 3, 0]), (1, 5, 0), True),
        (col("i").is_in([]), (1, 5, 0), False),
        (~col("i").is_in([5]), (5, 5, 0), False),
        (~col("i").is_in([5]), (5, 6, 0), True),
        (col("s").startswith("ab"), ("a", "abz", 0), True),
        (col("s").startswith("ab"), ("abc", "abd", 0), True),
        (col("s").startswith("ab"), ("ac", "z", 0), False),
        (col("s").startswith("ab"), ("a", "aa", 0), False),
        (~col("s").startswith("ab"), ("abc", "abd", 0), False),
        (~col("s").startswith("ab"), ("abc", "b", 0), True),
        (col("s") == "é", ("a", "z", 0), False),
        (col("b") == b"\xff", (b"\x00", b"\x7f", 0), False),
    ],
)
def test_bounds(where, bounds, expected):
    (name,) = where.columns
    assert may(where, **{name: bounds}) is expected


def test_nulls():
    assert not may(col("i").is_null(), i=(1, 5, 0))
    assert may(col("i").is_null(), i=(1, 5, 1))
    assert not may(col("i").is_not_null(), i=(None, None, 10))
    assert not may(col("i") != 5, i=(None, None, 10))
    assert may(col("i") != 5, i=(None, None, 9))


def test_unknown_statistics_may_match():
    for where in (col("i") == 5, col("i").is_null(), col("i").is_not_null(), ~col("i").is_in([5])):
        assert may(where)
        assert may(where, i=(None, None, None))
    assert may(col("i").is_null(), i=(1, 5, None))
    assert not may(col("i") == 6, i=(1, 5, None))


def test_and_or():
    assert not may((col("i") == 6) & (col("l") == 1), i=(1, 5, 0))
    assert may((col("i") == 6) | (col("l") == 1), i=(1, 5, 0))
    assert not may((col("i") == 6) | (col("l") == 1), i=(1, 5, 0), l=(2, 2, 0))


def test_float_bounds_do_not_cover_nan_and_zeros():
    for where in (col("f") > 9, col("f") >= 9, col("f") == NAN, col("f") != 1, ~col("f").is_in([1])):
        assert may(where, f=(1.0, 1.0, 0))
    assert may(col("f") < 0.5, f=(NAN, NAN, 0))
    assert may(col("f") == -0.0, f=(0.0, 1.0, 0))
    assert not may(col("f") < 0.0, f=(-0.0, 1.0, 0))
    assert not may(col("f") == 9, f=(1.0, 2.0, 0))


@pytest.mark.parametrize(
    ("where", "values"),
    [
        (col("i") == 1, (1,)),
        (col("i").is_in([3, 1, 3]), (1, 3)),
        ((col("i") == 1) & (col("l") == 2), (1,)),
        ((col("i") == 1) | (col("i") == 2), (1, 2)),
        ((col("i") == 1) | (col("l") == 2), None),
        (((col("i") == 1) & (col("l") == 2)) | (col("i") == 3), (1, 3)),
        (col("i").is_in([1, 2]) & col("i").is_in([2, 3]), (2,)),
        (col("i") > 1, None),
        (col("i") != 1, None),
        (col("i").is_null(), None),
    ],
)
def test_equality_values(where, values):
    assert where.bind(FIELDS).equality_values("i") == values


def test_floats_have_no_equality_values():
    assert (col("f") == 1).bind(FIELDS).equality_values("f") is None


def test_the_part_on_some_columns():
    where = ((col("i") == 1) & (col("s") == "x") & ((col("i") == 2) | (col("s") == "y"))).bind(FIELDS)
    assert len(where.conjuncts()) == 3
    part = where.only(["i"])
    assert part is not None
    assert part.columns == {"i"}
    assert where.only(["l"]) is None
