import pytest

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.types import Annotations, parse_columns, parse_type, read_annotations
from paimon_core.types.spark_json import from_spark_json, to_spark_json

TEXTS = [
    "BOOLEAN NOT NULL",
    "DECIMAL(38, 10)",
    "CHAR(3)",
    "VARCHAR(9) NOT NULL",
    "STRING",
    "BINARY(4)",
    "TIME(9)",
    "TIME(3)",
    "TIMESTAMP(9)",
    "TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL",
    "VARIANT",
    "MULTISET<STRING>",
    "MAP<STRING, ARRAY<INT NOT NULL> NOT NULL>",
    "ROW<a MULTISET<CHAR(2)> COMMENT 'x' DEFAULT 'y', b ROW<c TIMESTAMP(0)> NOT NULL>",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_column_goes_to_spark_and_back(text):
    column = Annotations(parse_type(text), 3, "a comment", "'d'")
    found = from_spark_json(to_spark_json([("c", column)]))
    assert found.names == ["c"]
    assert read_annotations(found.field(0)) == column


def test_the_form_is_that_of_spark():
    columns = [
        (c.name, Annotations(c.type, None, c.description))
        for c in parse_columns("a INT COMMENT 'x', m MAP<INT NOT NULL, VARIANT>")
    ]
    assert to_spark_json(columns) == {
        "type": "struct",
        "fields": [
            {"name": "a", "type": "integer", "nullable": True, "metadata": {"comment": "x"}},
            {
                "name": "m",
                "type": {"type": "map", "keyType": "integer", "valueType": "variant", "valueContainsNull": True},
                "nullable": True,
                "metadata": {},
            },
        ],
    }


def test_pyspark_reads_the_form_and_gives_it_back():
    from pyspark.sql.types import StructType

    columns = [(f"c{n}", Annotations(parse_type(text))) for n, text in enumerate(TEXTS)]
    struct = StructType.fromJson(to_spark_json(columns))
    found = from_spark_json(struct.jsonValue())
    assert [read_annotations(f) for f in found] == [column for _, column in columns]


def test_a_stated_type_that_does_not_fit_is_ignored():
    fields = [
        {"name": "c", "type": "long", "nullable": False, "metadata": {"paimon.type": '"CHAR(3)"', "paimon.id": -5}}
    ]
    assert read_annotations(from_spark_json({"fields": fields}).field(0)) == Annotations(parse_type("BIGINT NOT NULL"))


@pytest.mark.parametrize("spark", ["void", "interval day to second", {"type": "udt"}])
def test_types_without_a_table_type_are_refused_by_column(spark):
    with pytest.raises(UnsupportedFeature, match="column 'c': Spark type"):
        from_spark_json({"fields": [{"name": "c", "type": spark, "nullable": True}]})


@pytest.mark.parametrize("value", [{}, {"fields": [{}]}, 5])
def test_what_is_no_struct_is_refused(value):
    with pytest.raises(InvalidRequest, match="not the JSON of a StructType"):
        from_spark_json(value)
