import itertools
import json
import re

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.types import from_arrow, parse_type

CANONICAL = [
    ("BOOLEAN", pa.bool_()),
    ("TINYINT", pa.int8()),
    ("SMALLINT", pa.int16()),
    ("INT", pa.int32()),
    ("BIGINT", pa.int64()),
    ("FLOAT", pa.float32()),
    ("DOUBLE", pa.float64()),
    ("DECIMAL(10, 2)", pa.decimal128(10, 2)),
    ("CHAR(3)", pa.string()),
    ("VARCHAR(7)", pa.string()),
    ("STRING", pa.string()),
    ("BINARY(4)", pa.binary()),
    ("VARBINARY(9)", pa.binary()),
    ("BYTES", pa.binary()),
    ("DATE", pa.date32()),
    ("TIME(0)", pa.time32("ms")),
    ("TIME(3)", pa.time32("ms")),
    ("TIMESTAMP(0)", pa.timestamp("ms")),
    ("TIMESTAMP(3)", pa.timestamp("ms")),
    ("TIMESTAMP(6)", pa.timestamp("us")),
    ("TIMESTAMP(9)", pa.timestamp("ns")),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", pa.timestamp("ms", tz="UTC")),
    ("TIMESTAMP(9) WITH LOCAL TIME ZONE", pa.timestamp("ns", tz="UTC")),
]


@pytest.mark.parametrize("suffix", ["", " NOT NULL"])
@pytest.mark.parametrize(("text", "arrow"), CANONICAL)
def test_canonical_text_is_read_and_written_back(text, arrow, suffix):
    parsed = parse_type(text + suffix)
    assert parsed.sql == text + suffix
    assert parsed.to_arrow() == arrow
    assert parsed.nullable is (suffix == "")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("integer", "INT"),
        (" double   precision ", "DOUBLE"),
        ("numeric(5,1) not null", "DECIMAL(5, 1) NOT NULL"),
        ("DEC", "DECIMAL(10, 0)"),
        ("varchar(2147483647)", "STRING"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP(3) WITHOUT TIME ZONE", "TIMESTAMP(3)"),
        ("TIMESTAMP_LTZ(9)", "TIMESTAMP(9) WITH LOCAL TIME ZONE"),
        ("CHAR", "CHAR(1)"),
        ("TIME", "TIME(0)"),
        ("INT NULL", "INT"),
    ],
)
def test_other_spellings(text, canonical):
    assert parse_type(text).sql == canonical


@pytest.mark.parametrize("text", ["BLOB", "VECTOR<FLOAT, 3>", "GEOMETRY(OGC:CRS84)", "ARRAY<GEOGRAPHY>"])
def test_types_that_are_not_built_are_refused_by_name(text):
    with pytest.raises(UnsupportedFeature, match=re.escape(text)):
        parse_type(text)
    with pytest.raises(UnsupportedFeature, match="VECTOR"):
        parse_type({"type": "VECTOR NOT NULL", "element": "INT", "length": 3})


COUNT = pa.field("value", pa.int32(), nullable=False)
VARIANT = pa.struct([pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)])
ROW = {
    "type": "ROW",
    "fields": [
        {"id": 4, "name": "x", "type": "INT NOT NULL"},
        {"id": 5, "name": "y", "type": {"type": "ARRAY", "element": "TIMESTAMP(9)"}, "description": "it's"},
        {"id": 6, "name": "a b", "type": "INT", "defaultValue": "7"},
    ],
}


@pytest.mark.parametrize(
    ("value", "arrow", "text"),
    [
        (
            {"type": "ARRAY", "element": "INT NOT NULL"},
            pa.list_(pa.field("element", pa.int32(), False)),
            "ARRAY<INT NOT NULL>",
        ),
        (
            {"type": "MAP NOT NULL", "key": "STRING", "value": "DATE"},
            pa.map_(pa.string(), pa.date32()),
            "MAP<STRING, DATE> NOT NULL",
        ),
        (
            ROW,
            pa.struct([pa.field("x", pa.int32(), False), ("y", pa.list_(pa.timestamp("ns"))), ("a b", pa.int32())]),
            "ROW<x INT NOT NULL, y ARRAY<TIMESTAMP(9)> COMMENT 'it''s', `a b` INT DEFAULT '7'>",
        ),
        (
            {"type": "MULTISET", "element": {"type": "MULTISET NOT NULL", "element": "STRING NOT NULL"}},
            pa.map_(pa.map_(pa.string(), COUNT), COUNT),
            "MULTISET<MULTISET<STRING NOT NULL> NOT NULL>",
        ),
        (
            {"type": "MAP", "key": "STRING NOT NULL", "value": "VARIANT NOT NULL"},
            pa.map_(pa.string(), pa.field("value", VARIANT, False)),
            "MAP<STRING NOT NULL, VARIANT NOT NULL>",
        ),
    ],
)
def test_nested_types_go_there_and_back(value, arrow, text):
    kind = parse_type(value)
    assert kind.to_json() == value
    assert str(kind) == text
    assert kind.to_arrow() == arrow
    assert parse_type(json.loads(json.dumps(value))) == kind
    assert parse_type(text).sql == text


def test_ids_count_inner_fields_first_as_java_does():
    kind = parse_type("ROW<x INT, z ROW<a INT, m MULTISET<ROW<b VARIANT>>>, y MAP<ROW<k INT>, INT>>")
    numbered = kind.with_ids(itertools.count(1))
    assert numbered.field_ids == [1, 5, 7, 2, 4, 3, 6]
    assert kind.field_ids == [-1] * 7


@pytest.mark.parametrize(
    ("value", "error", "word"),
    [
        ({"type": "ARRAY"}, InvalidRequest, "element"),
        ({"type": "ROW", "fields": []}, InvalidRequest, "distinct names"),
        ({"type": "ROW", "fields": [{"name": "a", "type": "INT"}] * 2}, InvalidRequest, "distinct names"),
        ({"type": "MAP", "key": "INT", "value": "FOO"}, InvalidRequest, "FOO"),
        ({"type": "ROW", "fields": [{"name": 5, "type": "INT"}]}, InvalidRequest, "5, not a text"),
        ({"type": "ROW", "fields": [{"name": "a", "type": "INT", "description": 5}]}, InvalidRequest, "description"),
        ({"type": "<INT>"}, InvalidRequest, "no text of a type"),
        (7, InvalidRequest, "7"),
    ],
)
def test_nested_types_that_are_none(value, error, word):
    with pytest.raises(error, match=word):
        parse_type(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "FOO",
        "INT(3)",
        "DECIMAL(39, 0)",
        "DECIMAL(5, 6)",
        "TIMESTAMP(10)",
        "CHAR(0)",
        "STRING(3)",
        "DATE WITH LOCAL TIME ZONE",
    ],
)
def test_what_is_no_type_is_refused(text):
    with pytest.raises(InvalidRequest):
        parse_type(text)


@pytest.mark.parametrize(
    ("arrow", "text"),
    [
        (pa.large_string(), "STRING"),
        (pa.string_view(), "STRING"),
        (pa.dictionary(pa.int32(), pa.string()), "STRING"),
        (pa.binary(4), "BINARY(4)"),
        (pa.large_binary(), "BYTES"),
        (pa.timestamp("s"), "TIMESTAMP(0)"),
        (pa.timestamp("us", tz="Europe/Paris"), "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        (pa.decimal128(38, 38), "DECIMAL(38, 38)"),
        (pa.date64(), "DATE"),
    ],
)
def test_from_arrow(arrow, text):
    assert from_arrow(arrow).sql == text


@pytest.mark.parametrize("arrow", [pa.uint32(), pa.float16(), pa.duration("s"), pa.null()])
def test_arrow_types_without_a_table_type_are_refused(arrow):
    with pytest.raises(UnsupportedFeature, match=str(arrow).split("<")[0].split("[")[0]):
        from_arrow(arrow)
