"""Texts of PostgreSQL as the Arrow values that its driver reads; what does not fit is marked."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from paimon_lake.sources.database_texts import arrow_type, values_of


def read(type_name, *texts):
    values, bad = values_of(pa.array([None if t is None else t.encode() for t in texts], pa.binary()), type_name)
    assert values.type == arrow_type(type_name)
    assert values.null_count == texts.count(None) + (0 if bad is None else bad.sum())
    return values.to_pylist(), [] if bad is None else bad.nonzero()[0].tolist()


@pytest.mark.parametrize(
    ("type_name", "text", "value"),
    [
        ("int2", "-32768", -32768),
        ("int8", "9223372036854775807", 2**63 - 1),
        ("float8", "1e-307", 1e-307),
        ("float4", "-Infinity", float("-inf")),
        ("bool", "t", True),
        ("bool", "f", False),
        ("numeric", "1.10", "1.10"),
        ("bpchar", "a  ", "a  "),
        ("jsonb", '{"a": 1}', '{"a": 1}'),
        ("bytea", "\\x", b""),
        ("bytea", "\\x00fF", b"\x00\xff"),
        ("date", "2024-02-29", dt.date(2024, 2, 29)),
        ("time", "23:59:59.999999", dt.time(23, 59, 59, 999_999)),
        ("timestamp", "0001-01-01 00:00:00", dt.datetime(1, 1, 1)),
        ("timestamptz", "2024-01-01 00:00:00.5+00", dt.datetime(2024, 1, 1, 0, 0, 0, 500_000, dt.UTC)),
    ],
)
def test_values(type_name, text, value):
    assert read(type_name, text, None) == ([value, None], [])


@pytest.mark.parametrize(
    ("type_name", "text"),
    [
        ("date", "infinity"),
        ("date", "0044-03-15 BC"),
        ("date", "10000-01-01"),
        ("time", "24:00:00"),
        ("timestamp", "-infinity"),
        ("timestamptz", "10000-01-01 00:00:00+00"),
        ("bytea", "escaped\\000"),
        ("_int4", "{{1},{2}}"),
        ("_date", "{2024-01-01,infinity}"),
    ],
)
def test_values_that_do_not_fit_are_marked_and_others_are_read(type_name, text):
    good = {"_int4": "{7}", "_date": "{2024-01-01}", "bytea": "\\x07", "time": "07:00:00"}.get(type_name, "2024-01-07")
    values, bad = read(type_name, good, text, None, good)
    assert bad == [1]
    assert values[0] == values[3] is not None


def test_bytes_that_are_no_utf_8_do_not_become_null():
    values, bad = values_of(pa.array([b"a\xff", b"b", None]), "text")
    assert (values.to_pylist(), bad.tolist()) == ([None, "b", None], [True, False, False])


def test_arrays():
    assert read("_int4", "{1,NULL,-3}", "{}", None, "[0:1]={7,8}") == ([[1, None, -3], [], None, [7, 8]], [])
    assert read("_numeric", "{1.10}") == ([["1.10"]], [])
    assert read("_bool", "{t,f,NULL}") == ([[True, False, None]], [])
    assert read("_bytea", '{"\\\\x00ff"}') == ([[b"\x00\xff"]], [])


def test_elements_of_arrays_keep_their_quotes_commas_braces_and_backslashes():
    given = [
        ("{a}", ["a"]),
        ('{"a,b","{c}"}', ["a,b", "{c}"]),
        ('{"\\"","\\\\"}', ['"', "\\"]),
        ('{"\\\\\\"",x}', ['\\"', "x"]),
        ('{"","NULL",NULL}', ["", "NULL", None]),
        ('{"[0:0]={1}",","}', ["[0:0]={1}", ","]),
        ('{ü,"a b"}', ["ü", "a b"]),
    ]
    assert read("_text", *(text for text, _ in given)) == ([value for _, value in given], [])


def test_types_without_values():
    assert [arrow_type(name) for name in ("interval", "_interval", "__int4", "point")] == [None] * 4
    assert arrow_type("_int4") == pa.list_(pa.int32())
    assert Decimal(read("numeric", "0.30")[0][0]) == Decimal("0.3")
