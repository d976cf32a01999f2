import json

import pyarrow as pa
import pytest

from paimon_core.errors import CorruptTable, InvalidRequest, SchemaMismatch, UnsupportedFeature
from paimon_core.schema import TableSchema, new_schema

ARROW = pa.schema([("k", pa.int32()), ("dt", pa.string()), ("v", pa.float64())])


def test_new_schema_counts_ids_and_makes_keys_not_null():
    schema = new_schema(ARROW, primary_key=["dt", "k"], partition_by=["dt"], options={"bucket": "2"})
    assert [(f.id, f.name, f.type.sql) for f in schema.fields] == [
        (0, "k", "INT NOT NULL"),
        (1, "dt", "STRING NOT NULL"),
        (2, "v", "DOUBLE"),
    ]
    assert schema.trimmed_primary_keys == ("k",)
    assert [(f.id, f.name) for f in schema.file_fields] == [
        (1073741823, "_KEY_k"),
        (2147483646, "_SEQUENCE_NUMBER"),
        (2147483645, "_VALUE_KIND"),
        (0, "k"),
        (1, "dt"),
        (2, "v"),
    ]


def test_json_round_trip_leaves_out_what_is_absent():
    schema = new_schema(ARROW, types={"k": "CHAR(3)"} | {}, options={"a": "b"})
    value = json.loads(schema.to_json())
    assert "comment" not in value
    assert value["version"] == 3
    assert value["fields"][0] == {"id": 0, "name": "k", "type": "CHAR(3)"}
    assert TableSchema.from_json(schema.to_json()) == schema


def test_versions_one_and_two_have_their_own_defaults():
    base = json.loads(new_schema(ARROW).to_json())
    one, two = dict(base, version=1), dict(base, version=2)
    del one["timeMillis"]
    assert TableSchema.from_json(json.dumps(one)).options == {"bucket": "1", "file.format": "orc"}
    assert TableSchema.from_json(json.dumps(two)).options == {"file.format": "orc"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"id": 0}', "\x00", '{"id": "x", "fields": [], "options": []}'])
def test_text_that_is_no_schema(text):
    with pytest.raises(CorruptTable):
        TableSchema.from_json(text)


@pytest.mark.parametrize("value", ["x", "1", 1.5, None, True, [1], 1e400])
@pytest.mark.parametrize("member", ["id", "highestFieldId", "timeMillis", "version"])
def test_a_number_of_a_schema_file_that_is_not_whole_is_a_corrupt_table(member, value):
    members = dict(json.loads(new_schema(ARROW).to_json()), **{member: value})
    with pytest.raises(CorruptTable, match=f"{member} is "):
        TableSchema.from_members(members)


def test_a_field_id_that_is_not_whole_is_a_corrupt_table():
    members = json.loads(new_schema(ARROW).to_json())
    members["fields"][0]["id"] = "x"
    with pytest.raises(CorruptTable, match="the id of a field is 'x'"):
        TableSchema.from_members(members)


def test_a_column_without_a_type_is_refused_by_name():
    with pytest.raises(UnsupportedFeature, match="'xs'"):
        new_schema(pa.schema([("xs", pa.list_(pa.uint8()))]))


def test_fields_of_rows_take_ids_after_their_column_and_inner_fields_first():
    inner = pa.struct([("p", pa.int32()), ("q", pa.list_(pa.struct([("r", pa.int8())])))])
    schema = new_schema(pa.schema([("a", pa.int32()), ("s", inner), ("z", pa.int32())]))
    assert [f.id for f in schema.fields] == [0, 1, 5]
    assert [c.id for c in schema.by_name["s"].type.children] == [2, 4]
    assert schema.highest_field_id == 5
    assert TableSchema.from_json(schema.to_json()) == schema


def test_a_nested_column_is_no_key():
    with pytest.raises(InvalidRequest, match="'xs' is ARRAY<INT>"):
        new_schema(pa.schema([("xs", pa.list_(pa.int32()))]), primary_key=["xs"])


@pytest.mark.parametrize(
    ("columns", "arguments", "word"),
    [
        (["_KEY_a"], {}, "_KEY_a"),
        (["_SEQUENCE_NUMBER"], {}, "_SEQUENCE_NUMBER"),
        (["a", "a"], {}, "twice"),
        ([" "], {}, "blank"),
        (["a"], {"primary_key": ["b"]}, "'b'"),
        (["a"], {"partition_by": ["c"]}, "'c'"),
        (["a"], {"primary_key": ["a"], "partition_by": ["a"]}, "add a column to the primary key"),
        (["a"], {"primary_key": ["a", "a"]}, "twice"),
        (["a"], {"types": {"z": "INT"}}, "'z'"),
        ([], {}, "at least one"),
    ],
)
def test_names_and_keys(columns, arguments, word):
    with pytest.raises(InvalidRequest, match=word):
        new_schema(pa.schema([(c, pa.int32()) for c in columns]), **arguments)


def test_selecting_an_unknown_column_names_the_known_ones():
    with pytest.raises(SchemaMismatch, match=r"'x'.*k, dt, v"):
        new_schema(ARROW).select(["x"])
