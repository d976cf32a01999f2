"""Tables made from each form of a schema."""

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.catalog.definition import Definition
from paimon_core.errors import InvalidRequest, UnsupportedFeature

TEXT = (
    "id BIGINT NOT NULL COMMENT 'the key', name VARCHAR(7) DEFAULT 'x', v VARIANT, bag MULTISET<CHAR(2)>, "
    "r ROW<a TIME(2), b ARRAY<ROW<c BINARY(4) NOT NULL COMMENT 'inner'>>> NOT NULL, t TIMESTAMP(9)"
)


def test_a_table_made_from_the_arrow_schema_of_another_is_the_same(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("d")
    first = catalog.create_table("d.first", TEXT, primary_key=["id"], options={"bucket": "1"})
    second = catalog.create_table("d.second", first.arrow_schema, primary_key=["id"], options={"bucket": "1"})
    assert second.schema.fields == first.schema.fields
    assert second.schema.highest_field_id == first.schema.highest_field_id == 8
    again = catalog.table("d.second")
    assert again.schema.fields == first.schema.fields
    names = {f.name: (f.type.sql, f.description, f.default) for f in again.schema.fields}
    assert names["id"] == ("BIGINT NOT NULL", "the key", None)
    assert names["name"] == ("VARCHAR(7)", None, "x")


FRAMES = {
    "pandas": lambda rows: rows.to_pandas(),
    "polars": lambda rows: pl.from_arrow(rows),
    "polars, lazy": lambda rows: pl.from_arrow(rows).lazy(),
    "pyarrow": lambda rows: rows,
    "duckdb": lambda rows: duckdb.sql("SELECT * FROM rows"),
}


@pytest.mark.parametrize("frame_of", FRAMES.values(), ids=FRAMES)
def test_a_table_made_from_a_frame_takes_its_rows(warehouse, frame_of):
    rows = pa.table({"id": [1, 2], "price": [1.5, None], "name": ["a", "b"]})
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("d")
    table = catalog.create_table("d.t", frame_of(rows), primary_key="id")
    assert [str(f.type) for f in table.schema.fields] == ["BIGINT NOT NULL", "DOUBLE", "STRING"]
    table.write(frame_of(rows))
    assert table.scan().to_arrow().to_pylist() == rows.to_pylist()


def test_ids_are_taken_over_only_when_they_are_complete():
    arrow = Definition(TEXT).to_schema("t").arrow
    first = Definition(TEXT).to_schema("t")
    kept = pa.schema([f.annotated for f in first.fields[2:]])
    assert [f.id for f in Definition(kept).to_schema("t").fields] == [2, 3, 4, 8]
    assert Definition(kept).to_schema("t").highest_field_id == 8
    mixed = pa.schema([*kept, ("more", pa.int32())])
    assert [f.id for f in Definition(mixed).to_schema("t").fields] == [0, 1, 2, 6, 7]
    assert [f.id for f in Definition(arrow).to_schema("t").fields] == [0, 1, 2, 5, 6, 10]


def test_a_dict_maps_names_to_type_texts():
    schema = Definition({"id": "BIGINT NOT NULL", "m": "MAP<STRING NOT NULL, ROW<a: STRING>>"}).to_schema("t")
    assert [(f.name, f.type.sql) for f in schema.fields] == [
        ("id", "BIGINT NOT NULL"),
        ("m", "MAP<STRING NOT NULL, ROW<a STRING>>"),
    ]


def test_a_struct_of_spark_is_a_schema():
    from pyspark.sql.types import IntegerType, StructField, StructType, VariantType

    struct = StructType(
        [StructField("k", IntegerType(), False), StructField("v", VariantType(), metadata={"comment": "c"})]
    )
    schema = Definition(struct).to_schema("t")
    assert [(f.name, f.type.sql, f.description) for f in schema.fields] == [
        ("k", "INT NOT NULL", None),
        ("v", "VARIANT", "c"),
    ]


@pytest.mark.parametrize(
    ("schema", "error", "word"),
    [
        (
            {"id": "BIGINTT"},
            InvalidRequest,
            "column 'id': 'BIGINTT' is not a data type: expected a data type at position 0",
        ),
        ({"id": "VECTOR<FLOAT, 3>"}, UnsupportedFeature, "column 'id'"),
        ({"id": 5}, InvalidRequest, "'id' to 5"),
        ("id BIGINT,", InvalidRequest, "expected the name of a field"),
        ({}, InvalidRequest, "at least one column"),
        (5, InvalidRequest, "not int"),
    ],
)
def test_other_schemas_are_refused(schema, error, word):
    with pytest.raises(error, match=word):
        Definition(schema).to_schema("t")


@pytest.mark.parametrize("text", ["ARRAY<INT>", "MAP<INT, INT>", "MULTISET<INT>", "ROW<a INT>", "VARIANT"])
@pytest.mark.parametrize("role", ["primary_key", "partition_by", "bucket-key"])
def test_nested_columns_are_no_keys(warehouse, text, role):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("d")
    arguments = {"options": {"bucket": "1", "bucket-key": "c"}} if role == "bucket-key" else {role: ["c"]}
    with pytest.raises(InvalidRequest, match=f"{role.replace('_by', '.key').replace('_', '.')} .*'c'.* is {text}"):
        catalog.create_table("d.t", {"k": "INT", "c": text}, **arguments)
    assert catalog.list_tables("d") == []
