import time
from decimal import Decimal

import pyarrow as pa
import pytest

from paimon_core.codec.binary_row.rows import storage_values, to_array
from paimon_core.datafile.evolution.casts import check_cast, rescale
from paimon_core.errors import UnsupportedFeature
from paimon_core.types import parse_type


def decimals(*texts):
    return [None if t is None else Decimal(t) for t in texts]


CASTS = [
    ("TINYINT", "BIGINT", [1, -128, None], [1, -128, None]),
    ("INT", "FLOAT", [16_777_217], [16_777_216.0]),
    ("BIGINT", "DOUBLE", [2**53 + 1], [2.0**53]),
    ("FLOAT", "DOUBLE", [0.5], [0.5]),
    ("INT", "DECIMAL(5, 2)", [123, 1000, -999, None], decimals("123.00", None, "-999.00", None)),
    ("BIGINT", "DECIMAL(38, 18)", [2**63 - 1], decimals("9223372036854775807.000000000000000000")),
    ("DECIMAL(10, 4)", "DECIMAL(6, 2)", decimals("1.0050", "-1.0050", "123456.7891"), decimals("1.01", "-1.01", None)),
    ("DECIMAL(38, 0)", "DECIMAL(38, 0)", decimals("9" * 38), decimals("9" * 38)),
    ("DECIMAL(37, 0)", "DECIMAL(38, 0)", decimals("-" + "9" * 37), decimals("-" + "9" * 37)),
    ("DOUBLE", "DECIMAL(10, 2)", [2.675, -1.005, 1e9, float("nan"), 1e300], decimals("2.68", "-1.01", *[None] * 3)),
    ("DOUBLE", "DECIMAL(38, 20)", [1e-7, 1e-25], decimals("0.00000010000000000000", "0." + "0" * 20)),
    ("FLOAT", "DECIMAL(10, 3)", [0.1], decimals("0.100")),
    ("DECIMAL(18, 5)", "DOUBLE", decimals("0.1", None), [0.1, None]),
    ("DECIMAL(30, 5)", "FLOAT", decimals("16777217.00001", "0.1"), [16_777_218.0, 0.10000000149011612]),
    ("VARCHAR(10)", "VARCHAR(3)", ["abcdef", "é\U0001f600xyz", None], ["abc", "é\U0001f600x", None]),
    ("CHAR(4)", "STRING", ["ab"], ["ab"]),
    ("VARBINARY(6)", "VARBINARY(2)", [b"abc", b"a"], [b"ab", b"a"]),
    ("BINARY(3)", "BYTES", [b"abc"], [b"abc"]),
    ("TIMESTAMP(6)", "TIMESTAMP(3)", [1_999, -1, None], [1, -1, None]),
    ("TIMESTAMP(3)", "TIMESTAMP(9)", [1, -1], [1_000_000, -1_000_000]),
    ("TIMESTAMP(3)", "TIMESTAMP(1)", [1_987, -1, -1_987], [1_900, 0, -1_900]),  # towards zero, as in Java
    ("TIMESTAMP(6)", "TIMESTAMP(5)", [19, -1], [10, -10]),
    ("TIMESTAMP(6)", "DATE", [86_400_000_000 + 5, -1], [1, -1]),
    ("TIMESTAMP(6)", "TIME(3)", [86_400_000_000 + 5_000, -1], [5, 86_399_999]),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE", [7], [7_000]),
    ("TIME(0)", "TIME(3)", [5_000], [5_000]),
    ("INT", "TINYINT", [383, -129, None], [127, 127, None]),
    ("BIGINT", "INT", [2**31], [-(2**31)]),
    ("DOUBLE", "INT", [1.9, -1.9, 1e20, -1e20, float("nan")], [1, -1, 2**31 - 1, -(2**31), 0]),
    ("DOUBLE", "TINYINT", [300.5, 1e20], [44, -1]),
    ("FLOAT", "BIGINT", [1e30, -1e30, None], [2**63 - 1, -(2**63), None]),
    ("DOUBLE", "FLOAT", [0.1, 1e300], [0.10000000149011612, float("inf")]),
    ("DECIMAL(20, 2)", "INT", decimals("-1.99", "4294967297.50", None), [-1, 1, None]),
    ("BOOLEAN", "DECIMAL(3, 1)", [True, False], decimals("1.0", "0.0")),
    ("BOOLEAN", "DOUBLE", [True, None], [1.0, None]),
    ("SMALLINT", "BOOLEAN", [0, 2, None], [False, True, None]),
    ("INT", "TIMESTAMP(3)", [5, -5], [5_000, -5_000]),
    ("TIMESTAMP(6)", "BIGINT", [-1, 1_999_999, -1_999_999], [0, 1, -2]),
    ("DATE", "TIMESTAMP(6)", [1, -1], [86_400_000_000, -86_400_000_000]),
    ("TIME(3)", "TIMESTAMP(3)", [5], [5]),
    ("STRING", "CHAR(3)", ["ab", "abcd", None], ["ab ", "abc", None]),
    ("VARBINARY(3)", "BINARY(3)", [b"a", b"abc", None], [b"a\0\0", b"abc", None]),
    (
        "DOUBLE",
        "STRING",
        [1.0, -0.0, 1e7, 9_999_999.5, 1e-3, 9.99e-4],
        ["1.0", "-0.0", "1.0E7", "9999999.5", "0.001", "9.99E-4"],
    ),
    ("DOUBLE", "STRING", [1e23, float("nan"), float("-inf"), None], ["1.0E23", "NaN", "-Infinity", None]),
    ("FLOAT", "VARCHAR(4)", [1.1, 1e10], ["1.1", "1.0E"]),
    ("INT", "CHAR(4)", [1, -20_000], ["1   ", "-200"]),
    ("BOOLEAN", "STRING", [True, None], ["true", None]),
    ("DECIMAL(10, 8)", "STRING", decimals("0.00000001", "-0.5", None), ["0.00000001", "-0.50000000", None]),
    ("DECIMAL(10, 0)", "STRING", decimals("-12"), ["-12"]),
    ("DATE", "STRING", [0, -1, None], ["1970-01-01", "1969-12-31", None]),
    ("TIME(3)", "STRING", [0, 500, 86_399_999], ["00:00:00.0", "00:00:00.5", "23:59:59.999"]),
    ("TIME(0)", "STRING", [5_000], ["00:00:05"]),
    ("TIMESTAMP(3)", "STRING", [0, -1], ["1970-01-01 00:00:00.000", "1969-12-31 23:59:59.999"]),
    ("TIMESTAMP(0)", "STRING", [0], ["1970-01-01 00:00:00"]),
    ("BINARY(2)", "STRING", [b"ab"], ["ab"]),
    ("STRING", "INT", ["12", "-0", ".5", "+7", "007", "1.9", None], [12, 0, 0, 7, 7, 1, None]),
    ("STRING", "DOUBLE", ["1e3", " 2.5 ", "-Infinity", "1d"], [1000.0, 2.5, float("-inf"), 1.0]),
    ("STRING", "DECIMAL(5, 2)", ["1.005", "99999", "-1e2"], decimals("1.01", None, "-100.00")),
    ("STRING", "BOOLEAN", ["T", "no", "1", None], [True, False, True, None]),
    ("STRING", "DATE", ["1970-1-2", "1970-2", "19000", "1970-01-01 10:00"], [1, 31, 19_000, 0]),
    ("STRING", "TIME(3)", ["10:11:12.3456", "5000", "1:2"], [36_672_346, 5_000, 3_720_000]),
    ("STRING", "TIMESTAMP(3)", ["1970-01-01 00:00:01.23", "123", "1970-1-1T1:02"], [1_230, 123, 3_720_000]),
    ("STRING", "BINARY(4)", ["ab", "abcdef"], [b"ab\0\0", b"abcd"]),
]
BAD_TEXTS = [
    ("INT", "x"),
    ("INT", ""),
    ("TINYINT", "200"),
    ("DOUBLE", "one"),
    ("DECIMAL(5, 2)", " 1"),
    ("BOOLEAN", "maybe"),
    ("DATE", "2023-02-29"),
    ("TIME(3)", "25:00"),
    ("TIMESTAMP(6)", "2024-01-05 25:11:12"),
    ("TIMESTAMP(2)", "12"),
]
ROW = {"type": "ROW", "fields": [{"id": 1, "name": "a", "type": "INT"}, {"id": 2, "name": "b", "type": "STRING"}]}
LATER_ROW = {
    "type": "ROW",
    "fields": [
        {"id": 2, "name": "bb", "type": "STRING"},
        {"id": 5, "name": "a", "type": "INT"},
        {"id": 1, "name": "n", "type": "BIGINT"},
    ],
}
NEW_ROW = {"type": "ROW", "fields": [{"id": 7, "name": "a", "type": "INT"}]}
NESTED = [
    (ROW, NEW_ROW, [{"a": 1, "b": "x"}, None], [None, None]),
    (
        {"type": "ARRAY", "element": ROW},
        {"type": "ARRAY", "element": NEW_ROW},
        [[{"a": 1, "b": "x"}], []],
        [None, None],
    ),
    (
        {"type": "ROW", "fields": [{"id": 3, "name": "r", "type": ROW}, {"id": 4, "name": "n", "type": "INT"}]},
        {"type": "ROW", "fields": [{"id": 3, "name": "r", "type": NEW_ROW}, {"id": 4, "name": "n", "type": "INT"}]},
        [{"r": {"a": 1, "b": "x"}, "n": 5}],
        [{"r": None, "n": 5}],
    ),
    ({"type": "ARRAY", "element": "INT"}, "STRING", [[1, None], [], None], ["[1, null]", "[]", None]),
    (
        {"type": "MAP", "key": "STRING", "value": "DOUBLE"},
        "VARCHAR(2)",
        [[("a", 1.0), ("b", None)], None],
        ["{a -> 1.0, b -> null}", None],
    ),
    (ROW, "STRING", [{"a": 1, "b": "x"}, {"a": None, "b": None}, None], ["{1, x}", "{null, null}", None]),
    (ROW, LATER_ROW, [{"a": 1, "b": "x"}, None], [{"bb": "x", "a": None, "n": 1}, None]),
    (
        {"type": "ARRAY", "element": ROW},
        {"type": "ARRAY", "element": LATER_ROW},
        [[{"a": 1, "b": "x"}, None], [], None],
        [[{"bb": "x", "a": None, "n": 1}, None], [], None],
    ),
    (
        {"type": "MAP", "key": "INT", "value": "INT"},
        {"type": "MAP", "key": "INT", "value": "STRING"},
        [[(1, 2)], None],
        [[(1, "2")], None],
    ),
]


@pytest.mark.parametrize(("stored", "wanted", "values", "expected"), CASTS)
def test_casts(stored, wanted, values, expected):
    old, new = parse_type(stored), parse_type(wanted)
    cast = check_cast(old, new, "c")
    array = to_array(values, old)
    found = array if cast is None else cast(array, old, new)
    assert found.type == new.to_arrow()
    assert storage_values(found, new) == expected


@pytest.mark.parametrize(("stored", "wanted", "values", "expected"), NESTED)
def test_casts_of_nested_types(stored, wanted, values, expected):
    old, new = parse_type(stored), parse_type(wanted)
    cast = check_cast(old, new, "c")
    array = pa.array(values, old.to_arrow())
    assert cast(array, old, new).to_pylist() == expected
    sliced = pa.concat_arrays([array[:1], array])[1:]
    assert cast(sliced, old, new).equals(cast(array, old, new))
    assert cast(array, old, new).type == new.to_arrow()


@pytest.mark.parametrize(("wanted", "text"), BAD_TEXTS)
def test_a_text_that_is_no_value_of_the_type_is_refused_and_shown(wanted, text):
    old, new = parse_type("STRING"), parse_type(wanted)
    with pytest.raises(pa.ArrowInvalid, match=repr(text)):
        check_cast(old, new, "c")(pa.array([None, text]), old, new)


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ("DOUBLE", "DECIMAL(38, 21)"),
        ("DATE", "TIME(0)"),
        ("DATE", "VARCHAR(10)"),
        ("DATE", "INT"),
        ("SMALLINT", "TIMESTAMP(3)"),
        ("DECIMAL(3, 0)", "BOOLEAN"),
        ("TIMESTAMP(3)", "DOUBLE"),
        ("INT", "BYTES"),
    ],
)
def test_other_casts_are_refused_by_name(stored, wanted):
    with pytest.raises(UnsupportedFeature) as refused:
        check_cast(parse_type(stored), parse_type(wanted), "c")
    assert refused.value.facts == {"column": "c", "stored": stored, "wanted": wanted}


@pytest.mark.parametrize("wanted", ["TIMESTAMP(3)", "DATE", "STRING"])
def test_casts_of_local_time_need_the_time_zone_utc(monkeypatch, wanted):
    old, new = parse_type("TIMESTAMP(3) WITH LOCAL TIME ZONE"), parse_type(wanted)
    cast, array = check_cast(old, new, "c"), to_array([0], old)
    monkeypatch.setattr(time, "timezone", 0)
    monkeypatch.setattr(time, "daylight", 0)
    assert cast(array, old, new).type == new.to_arrow()
    monkeypatch.setattr(time, "timezone", -3600)
    with pytest.raises(UnsupportedFeature, match="time zone UTC only"):
        cast(array, old, new)


def test_nullability_alone_is_no_cast():
    assert check_cast(parse_type("INT NOT NULL"), parse_type("INT"), "c") is None


def test_a_zone_is_set_without_moving_the_instant():
    moved = rescale(pa.array([5], pa.timestamp("us")), pa.timestamp("us", "UTC"))
    assert moved.type == pa.timestamp("us", "UTC")
    assert moved.cast(pa.int64()).to_pylist() == [5]


def test_slices_and_nulls_survive_rescaling():
    array = pa.array([9, -1, None, 2_001], pa.timestamp("us")).slice(1)
    assert rescale(array, pa.timestamp("ms")).cast(pa.int64()).to_pylist() == [-1, None, 2]
