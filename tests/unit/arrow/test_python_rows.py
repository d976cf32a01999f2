import collections
import datetime
import decimal
import enum
import functools
import http
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from paimon_core.arrow import conform, open_stream
from paimon_core.errors import SchemaMismatch
from paimon_core.schema import DataField
from paimon_core.types import parse_type
from paimon_core.types.variant import Variant

D = decimal.Decimal
UTC = datetime.UTC


class Color(enum.StrEnum):
    RED = "red"


def convert(text: str, values: list) -> list:
    """Return the values as they are after conversion to the type."""
    field = DataField(0, "c", parse_type(text))
    table = open_stream([{"c": value} for value in values], [field]).read_all()
    column = conform(table, [field])["c"]
    assert column.type == field.type.to_arrow()
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = column.cast(pa.int64())
    return column.to_pylist()


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("BOOLEAN", [True, np.bool_(False), None], [True, False, None]),
        ("TINYINT", [127, np.int64(-128)], [127, -128]),
        ("FLOAT", [1, 1.5, np.float32(0.5), float("inf")], [1.0, 1.5, 0.5, float("inf")]),
        (
            "DECIMAL(5, 2)",
            ["1.5", D("-999.99"), 7, "1e2", "1.500"],
            [D("1.50"), D("-999.99"), D("7.00"), D("100.00"), D("1.50")],
        ),
        ("STRING", ["a", np.str_("b"), None, Color.RED], ["a", "b", None, "red"]),
        ("INT", [http.HTTPStatus.OK], [200]),
        ("BYTES", [b"a", bytearray(b"b"), memoryview(b"c")], [b"a", b"b", b"c"]),
        (
            "DATE",
            ["2024-02-29", datetime.date(1, 1, 1), None],
            [datetime.date(2024, 2, 29), datetime.date(1, 1, 1), None],
        ),
        ("DATE", [datetime.datetime(2024, 1, 1)], [datetime.date(2024, 1, 1)]),
        (
            "TIME(3)",
            ["12:30", "23:59:59.999", datetime.time(1)],
            [datetime.time(12, 30), datetime.time(23, 59, 59, 999000), datetime.time(1)],
        ),
        (
            "TIMESTAMP(6)",
            ["9999-12-31", "2024-01-01T10:00:00.5", datetime.datetime(1, 1, 1)],
            [
                datetime.datetime(9999, 12, 31),
                datetime.datetime(2024, 1, 1, 10, 0, 0, 500000),
                datetime.datetime(1, 1, 1),
            ],
        ),
        ("TIMESTAMP(9)", ["1970-01-01 00:00:00.000000001", pd.Timestamp(7), np.datetime64(5, "ns")], [1, 7, 5]),
        (
            "TIMESTAMP(3) WITH LOCAL TIME ZONE",
            ["2024-01-01T02:00:00+02:00", datetime.datetime(2024, 1, 1, tzinfo=UTC)],
            [datetime.datetime(2024, 1, 1, tzinfo=UTC)] * 2,
        ),
        (
            "ARRAY<DATE>",
            [["2024-01-01", None], [], None, (datetime.date(2024, 1, 2),)],
            [[datetime.date(2024, 1, 1), None], [], None, [datetime.date(2024, 1, 2)]],
        ),
        ("ARRAY<SMALLINT>", [np.array([1, 2])], [[1, 2]]),
        (
            "MAP<STRING, TIME(0)>",
            [{"a": "10:00"}, [("b", None)], {}, None],
            [[("a", datetime.time(10))], [("b", None)], [], None],
        ),
        ("MULTISET<STRING>", [collections.Counter("aab"), [["x", 3]]], [[("a", 2), ("b", 1)], [("x", 3)]]),
        (
            "ROW<a INT, b ARRAY<STRING>>",
            [{"a": 1}, (2, ["x"]), None],
            [{"a": 1, "b": None}, {"a": 2, "b": ["x"]}, None],
        ),
        (
            "VARIANT",
            [SimpleNamespace(value=b"\x0c\x01", metadata=b"m"), None],
            [{"value": b"\x0c\x01", "metadata": b"m"}, None],
        ),
    ],
)
def test_values_of_python_are_converted_by_the_type(text, given, expected):
    assert convert(text, given) == expected


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        ("BOOLEAN", 1, "row 2: 1 is a int"),
        ("INT", True, "row 2: True is a bool"),
        ("INT", 1.5, "row 2: 1.5 is a float"),
        ("INT", "1", "row 2: '1' is a str"),
        ("TINYINT", 128, "128"),
        ("BIGINT", 2**63, "row 2: 9223372036854775808 is not from"),
        ("FLOAT", 1e300, "infinite.*row is 2: 1e\\+300"),
        ("DOUBLE", "1", "row 2: '1' is a str"),
        ("DECIMAL(3, 2)", "1.005", "row 2: '1.005' has more than 2 digits after the point"),
        ("DECIMAL(5, 2)", 1000, "row 2: 1000 has more than 3 digits before the point"),
        ("DECIMAL(5, 2)", 1.5, "use a Decimal"),
        ("DECIMAL(5, 2)", "NaN", "not a finite number"),
        ("DECIMAL(5, 2)", "x", "not a decimal number"),
        ("STRING", 5, "row 2: 5 is a int"),
        ("STRING", "\ud800", "not valid Unicode"),
        ("VARCHAR(2)", "abc", "length 3; the first such row is 2: abc"),
        ("BYTES", "x", "row 2: 'x' is a str"),
        ("DATE", "2023-02-30", "row 2: '2023-02-30' day is out of range"),
        ("DATE", "2023-02-01T10:00", "has a time"),
        ("TIME(3)", "24:00", "row 2: '24:00' hour must be in"),
        ("TIME(3)", "12:00:00.0001", "more digits of a second"),
        ("TIMESTAMP(3)", "2024-01-01T00:00:00.0001", "more digits of a second"),
        ("TIMESTAMP(3)", "2024-01-01T00:00:00Z", "has a time zone"),
        ("TIMESTAMP(9)", "9999-12-31", "1677 to 2262"),
        ("TIMESTAMP_LTZ(3)", datetime.datetime(2024, 1, 1), "has no time zone"),
        ("ARRAY<INT>", 5, "row 2: 5 is a int, not a list"),
        ("ARRAY<INT>", [1, "x"], r"'c\.element' is INT: row 2: 'x' is a str"),
        ("ARRAY<INT NOT NULL>", [None], r"'c\.element' is NOT NULL.*row is 2"),
        ("MAP<STRING, INT>", {"a": "b"}, r"'c\.value' is INT: row 2: 'b'"),
        ("MAP<STRING, INT>", [("a", 1), "b"], "not a dict or a list of pairs"),
        ("MAP<STRING, INT>", {None: 1}, "has a null key"),
        ("MULTISET<STRING>", {"a": None}, r"'c\.value' is NOT NULL"),
        ("ROW<a INT>", {"a": 1, "b": 2}, "has a member 'b'; the members are a"),
        ("ROW<a INT>", (1, 2), "not a dict or a tuple of a"),
        ("VARIANT", {"a": {5}}, "row 2: .* is a set, which a VARIANT does not have"),
    ],
)
def test_an_error_names_column_row_and_value(text, value, reason):
    with pytest.raises(SchemaMismatch, match=reason) as caught:
        convert(text, [None, None, value])
    assert caught.value.facts["row"] == 2
    assert caught.value.facts["column"].startswith("c")


def test_a_member_in_a_later_list_has_the_number_of_its_row():
    with pytest.raises(SchemaMismatch, match="row 1: 'x'"):
        convert("ARRAY<ROW<a ARRAY<INT>>>", [[{"a": [1, 2, 3]}] * 5, [{"a": [1]}, {"a": [2, "x"]}]])


def test_a_column_without_a_field_is_inferred():
    assert open_stream([{"k": 1, "x": "+I"}], []).read_all().to_pylist() == [{"k": 1, "x": "+I"}]


@pytest.mark.parametrize("wrap", [lambda held: [held], lambda held: {"a": held}])
def test_values_that_are_nested_deeply_are_refused(wrap):
    deep = functools.reduce(lambda held, _: wrap(held), range(5_000), 1)
    with pytest.raises(SchemaMismatch, match="'x': row 1: the value has more than 32 levels of nested lists and dicts"):
        open_stream([{"x": None}, {"x": deep}], [])
    for text in ("INT", "VARIANT", "ARRAY<ROW<a INT>>"):
        with pytest.raises(SchemaMismatch, match=r"row 2: a (list|dict) that is nested too deep to be shown"):
            convert(text, [None, None, deep])


def test_a_variant_is_made_of_any_value():
    given = [{"a": [1, D("1.5")]}, "text", Variant.from_json('{"b": 1}'), Variant.of(2), {"value": 1}, [None], None]
    found = convert("VARIANT", given)
    expected = [{"a": [1, D("1.5")]}, "text", {"b": 1}, 2, {"value": 1}, [None]]
    assert [Variant.read(v).to_python() for v in found[:-1]] == expected
    assert found[-1] is None
    nested = convert("ARRAY<VARIANT>", [[{"a": 1}, None]])
    assert Variant.read(nested[0][0]).to_python() == {"a": 1}


@pytest.mark.parametrize("name", [1, None])
def test_names_of_columns_are_texts(name):
    with pytest.raises(SchemaMismatch, match=f"row 1: the name {name} of a column is no text"):
        open_stream([{"k": 1}, {name: 2}], [])
