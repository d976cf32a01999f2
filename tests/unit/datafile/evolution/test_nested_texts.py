"""Texts of nested values, as Java's casts take them for defaults."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from paimon_core.datafile.evolution.nested_texts import is_parsed, parsed
from paimon_core.types import parse_type


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("ARRAY<INT>", "[]", []),
        ("ARRAY<INT>", " array( 1 ,null, 2 ) ", [1, None, 2]),
        ("ARRAY<STRING>", '["a, b", c,,d]', ['"a, b"', "c", "d"]),
        ("ARRAY<ARRAY<DECIMAL(3, 1)>>", "[[1.5], [], ARRAY(2)]", [[Decimal("1.5")], [], [Decimal("2.0")]]),
        ("MAP<STRING, INT>", "{}", []),
        ("MAP<STRING, INT>", '{a -> 1, "b" -> null, a -> 2}', [("a", 2), ("b", None)]),
        ("MAP<INT, DATE>", "MAP(1, 2024-02-29)", [(1, datetime.date(2024, 2, 29))]),
        ("ROW<a INT, b STRING>", "{1, x y}", {"a": 1, "b": "x y"}),
        ("ROW<a INT, b STRING>", "STRUCT()", {"a": None, "b": None}),
        ("ROW<a INT, r ROW<b BOOLEAN>>", "STRUCT(null, {true})", {"a": None, "r": {"b": True}}),
    ],
)
def test_values(kind, text, value):
    found = parsed(text, parse_type(kind))
    assert found.type == parse_type(kind).to_arrow()
    assert found.to_pylist() == [value]


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("ARRAY<INT>", "1, 2", "form of type ARRAY"),
        ("ARRAY<INT>", "[x]", "'x'"),
        ("ARRAY<INT NOT NULL>", "[null]", "element is NOT NULL"),
        ("MAP<STRING, INT>", "{a}", "not an entry"),
        ("MAP<STRING, INT>", "MAP(a)", "a key has no value"),
        ("MAP<STRING, INT>", "{null -> 1}", "key of a MAP is null"),
        ("MAP<INT, INT>", "{1 -> 1, 01 -> 2}", "the same key"),
        ("MAP<STRING, INT>", "{a\\\\ -> 1}", "backslash"),
        ("ROW<a INT, b INT>", "{1}", "1 values for 2 fields"),
    ],
)
def test_texts_that_are_no_value(kind, text, why):
    with pytest.raises(pa.ArrowInvalid, match=why):
        parsed(text, parse_type(kind))


def test_types_that_no_text_can_state():
    assert not is_parsed(parse_type("ARRAY<MULTISET<INT>>"))
    assert not is_parsed(parse_type("VARIANT"))
