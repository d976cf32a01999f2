import decimal

import pyarrow as pa
import pytest

from paimon_core.datafile.avro.avro_schema import (
    arrow_type,
    avro_schema,
    from_plain,
    plain_schema,
    plain_type,
    to_plain,
)
from paimon_core.errors import UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.types import parse_type

DEC = decimal.Decimal
ROW = {"type": "ROW NOT NULL", "fields": [{"name": "x", "type": "INT NOT NULL"}]}


def column(text):
    return avro_schema([DataField(0, "c", parse_type(text))])["fields"][0]


def logical(kind, name, **more):
    return {"type": kind, "logicalType": name, **more}


@pytest.mark.parametrize(
    ("text", "avro"),
    [
        ("BOOLEAN NOT NULL", "boolean"),
        ("TINYINT NOT NULL", "int"),
        ("BIGINT NOT NULL", "long"),
        ("CHAR(3) NOT NULL", "string"),
        ("BINARY(3) NOT NULL", "bytes"),
        ("DECIMAL(9, 2) NOT NULL", logical("bytes", "decimal", precision=9, scale=2)),
        ("DATE NOT NULL", logical("int", "date")),
        ("TIME(3) NOT NULL", logical("int", "time-millis")),
        ("TIMESTAMP(0) NOT NULL", logical("long", "timestamp-millis")),
        ("TIMESTAMP(6) NOT NULL", logical("long", "timestamp-micros")),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL", logical("long", "local-timestamp-millis")),
        ({"type": "ARRAY NOT NULL", "element": "INT"}, {"type": "array", "items": ["null", "int"]}),
        (
            {"type": "MAP NOT NULL", "key": "STRING NOT NULL", "value": "INT"},
            {"type": "map", "values": ["null", "int"]},
        ),
        (ROW, {"type": "record", "name": "record_c", "fields": [{"name": "x", "type": "int"}]}),
    ],
)
def test_types_that_are_not_null(text, avro):
    assert column(text) == {"name": "c", "type": avro}


def test_a_nullable_column_is_a_union_and_null_by_default():
    assert column("INT") == {"name": "c", "type": ["null", "int"], "default": None}
    header = avro_schema([])
    assert (header["name"], header["namespace"]) == ("record", "org.apache.paimon.avro.generated")


def test_a_map_of_other_keys_is_an_array_of_pairs():
    kind = {"type": "MAP NOT NULL", "key": "INT NOT NULL", "value": ROW}
    pair = [
        {"name": "key", "type": "int"},
        {
            "name": "value",
            "type": {"type": "record", "name": "record_c_value", "fields": [{"name": "x", "type": "int"}]},
        },
    ]
    items = {"type": "record", "name": "record_c", "fields": pair}
    assert column(kind)["type"] == logical("array", "map", items=items)


@pytest.mark.parametrize("text", ["TIMESTAMP(7)", "TIMESTAMP(9) WITH LOCAL TIME ZONE", "TIME(4)"])
def test_types_that_avro_lacks(text):
    with pytest.raises(UnsupportedFeature, match="column 'c': Avro has no type TIME"):
        column(text)


def test_names_that_avro_does_not_take():
    for name in ("a b", "1a", "a.b", "a-b"):
        with pytest.raises(UnsupportedFeature, match="is not an Avro name"):
            avro_schema([DataField(0, name, parse_type("INT"))])
    assert avro_schema([DataField(0, "größe_1", parse_type("INT"))])["fields"][0]["name"] == "größe_1"
    both = [DataField(0, "a", parse_type({"type": "ROW", "fields": [{"name": "b", "type": ROW}]}))]
    with pytest.raises(UnsupportedFeature, match="'a_b': the Avro schema would have two types record_a_b"):
        avro_schema([*both, DataField(1, "a_b", parse_type(ROW))])


@pytest.mark.parametrize(
    "node",
    [
        ["int", "string"],
        ["null"],
        ["null", ["null", "int"]],
        "uuid",
        {"type": "enum", "name": "e", "symbols": ["a"]},
        {"type": "array", "items": {"type": "fixed", "name": "f", "size": 2}},
    ],
)
def test_schemas_that_no_paimon_writes(node):
    with pytest.raises(ValueError, match="its schema has a"):
        arrow_type(node)


VALUES = [
    (pa.decimal128(10, 2), [DEC("-1.50"), None]),
    (pa.timestamp("us", "UTC"), [1, None]),
    (pa.list_(pa.timestamp("ms")), [[1, None], None, []]),
    (
        pa.struct([("a", pa.decimal128(38, 0)), ("b", pa.list_(pa.date32()))]),
        [{"a": DEC(7), "b": [3]}, None],
    ),
    (pa.map_(pa.int32(), pa.decimal128(3, 1)), [[(1, DEC("0.5"))], None, []]),
    (pa.map_(pa.string(), pa.list_(pa.time32("ms"))), [[("k", [5, None])], [("l", None)], None]),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=lambda v: str(v) if isinstance(v, pa.DataType) else "")
@pytest.mark.parametrize("start", [0, 1])
def test_the_plain_form_and_back(kind, values, start):
    array = pa.array(values, kind).slice(start)
    plain = to_plain(array)
    assert plain.type == plain_type(kind)
    assert from_plain(pa.array(plain.to_pylist(), plain.type), kind).equals(array)


def test_the_schema_of_the_plain_form_has_no_maps_and_names_of_its_own():
    node = {
        "type": "record",
        "name": "ü",
        "fields": [{"name": "m", "type": ["null", {"type": "map", "values": "int"}]}],
    }
    pair = [{"name": "key", "type": "string"}, {"name": "value", "type": "int"}]
    items = {"type": "record", "name": "r0", "fields": pair}
    fields = [{"name": "m", "type": ["null", {"type": "array", "items": items}]}]
    assert plain_schema(node) == {"type": "record", "name": "r1", "fields": fields}
