from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest

from paimon_core.errors import SchemaMismatch, UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.types import parse_type
from paimon_core.write.default_values import conform_with_defaults

FIELDS = [
    DataField(0, "id", parse_type("BIGINT NOT NULL")),
    DataField(1, "n", parse_type("DECIMAL(5, 2)"), default="1.5"),
    DataField(2, "t", parse_type("VARCHAR(3) NOT NULL"), default="'abc'"),
]


def conformed(fields=FIELDS, **columns):
    return conform_with_defaults(pa.table(columns), fields)


def test_nulls_and_missing_columns_get_the_default():
    found = conformed(id=[1, 2], n=pa.array([None, Decimal("2.00")]))
    assert found.schema == pa.schema([f.arrow for f in FIELDS])
    assert found.to_pylist() == [
        {"id": 1, "n": Decimal("1.50"), "t": "abc"},
        {"id": 2, "n": Decimal("2.00"), "t": "abc"},
    ]


def test_no_rows_and_several_chunks():
    assert len(conformed(id=pa.array([], pa.int64()))) == 0
    chunks = pa.chunked_array([pa.array(["x", None]), pa.array([], pa.string()), pa.array([None], pa.string())])
    assert conformed(id=[1, 2, 3], t=chunks)["t"].to_pylist() == ["x", "abc", "abc"]


def test_columns_without_a_default_stay_as_they_are():
    assert conformed(FIELDS[:1], id=[1]).to_pylist() == [{"id": 1}]
    with pytest.raises(SchemaMismatch, match="'id' is NOT NULL"):
        conformed(n=pa.array([None], pa.float64()))


def test_a_default_that_no_text_can_state_is_only_refused_where_it_is_needed():
    nested = [FIELDS[0], DataField(3, "l", parse_type("MULTISET<INT>"), default="{1 -> 1}")]
    assert conformed(nested, id=[1], l=pa.array([[(5, 1)]], pa.map_(pa.int32(), pa.int32())))["l"].null_count == 0
    with pytest.raises(UnsupportedFeature, match="column 'l' is MULTISET<INT>: a default"):
        conformed(nested, id=[1])


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("ARRAY<INT NOT NULL>", "[1, 2]", [1, 2]),
        ("MAP<STRING, ROW<a INT>>", "{k -> {5}}", [("k", {"a": 5})]),
        ("ROW<a INT, b ARRAY<STRING>>", "{1, [x, null]}", {"a": 1, "b": ["x", None]}),
    ],
)
def test_defaults_of_nested_types(kind, text, value):
    column = DataField(3, "c", parse_type(kind), default=text)
    given = pa.array([None, value, None], column.type.to_arrow())
    found = conform_with_defaults(pa.table({"id": [1, 2, 3], "c": given}).slice(1), [FIELDS[0], column])["c"]
    assert found.type == column.type.to_arrow()
    assert found.to_pylist() == [value, value]


def test_values_are_still_checked():
    with pytest.raises(SchemaMismatch, match="column 't'"):
        conformed(id=[1], t=["long text"])
    with pytest.raises(SchemaMismatch, match="no column 'x'"):
        conformed(id=[1], x=[1])
    wide = [FIELDS[0], replace(FIELDS[1], default="1e9")]
    with pytest.raises(Exception, match="'1e9' is too large"):
        conformed(wide, id=[1])
