import json

import pyarrow as pa
import pytest

from paimon_core.types import Annotations, annotated_field, from_arrow, parse_type, read_annotations

TEXTS = [
    "INT NOT NULL",
    "VARCHAR(7)",
    "CHAR(3) NOT NULL",
    "BINARY(4)",
    "TIME(9)",
    "TIMESTAMP(5) WITH LOCAL TIME ZONE",
    "MULTISET<CHAR(2)> NOT NULL",
    "VARIANT",
    "MAP<STRING, DATE>",
    "ROW<value BYTES NOT NULL, metadata BYTES NOT NULL>",
    "ARRAY<ROW<a VARCHAR(3) COMMENT 'x' DEFAULT 'y', b TIMESTAMP(9)> NOT NULL>",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_field_keeps_all_of_a_column(text):
    column = Annotations(parse_type(text), 41, "a comment", "'a default'")
    field = annotated_field("c", column)
    assert read_annotations(field) == column
    assert (field.name, field.type, field.nullable) == ("c", column.type.to_arrow(), column.type.nullable)
    (again,) = pa.ipc.read_schema(pa.schema([field]).serialize())
    assert read_annotations(again) == column
    nested = from_arrow(pa.list_(field))
    assert nested.children[0].type == column.type


def test_a_plain_column_needs_no_metadata():
    assert annotated_field("c", Annotations(parse_type("BIGINT"))).metadata is None


@pytest.mark.parametrize("stated", ["INT", "NO TYPE", "[", "{}", "[" * 100_000])
def test_metadata_that_do_not_fit_are_ignored(stated):
    field = pa.field("c", pa.string(), metadata={"paimon:type": stated, "paimon:id": "x"})
    assert read_annotations(field) == Annotations(parse_type("STRING"))


def test_a_field_with_another_nullability_or_form_of_texts_keeps_its_type():
    field = annotated_field("c", Annotations(parse_type("VARCHAR(3)"))).with_nullable(False)
    assert read_annotations(field.with_type(pa.large_string())).type == parse_type("VARCHAR(3) NOT NULL")


def test_the_variant_of_spark_is_known_by_its_mark():
    members = [("value", pa.binary()), pa.field("metadata", pa.binary(), metadata={"variant": "true"})]
    assert from_arrow(pa.struct(members)).sql == "VARIANT"
    assert from_arrow(pa.struct([(m[0] if isinstance(m, tuple) else m.name, pa.binary()) for m in members])).sql == (
        "ROW<value BYTES, metadata BYTES>"
    )


def test_metadata_are_the_type_of_the_schema_file():
    field = annotated_field("c", Annotations(parse_type("CHAR(3)"), 5, "x"))
    assert field.metadata == {b"paimon:type": json.dumps("CHAR(3)").encode(), b"paimon:id": b"5", b"description": b"x"}
