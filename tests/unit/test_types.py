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


@pytest.mark.parametrize(
    "nested", ["ARRAY<INT>", "MAP<INT, INT>", "ROW<a INT>", "MULTISET<INT>", "VARIANT", "BLOB", "VECTOR<FLOAT, 3>"]
)
def test_nested_types_are_refused_by_name(nested):
    with pytest.raises(UnsupportedFeature, match=nested.split("<")[0]):
        parse_type(nested)
    with pytest.raises(UnsupportedFeature, match="ARRAY"):
        parse_type({"type": "ARRAY NOT NULL", "element": "INT"})


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


@pytest.mark.parametrize("arrow", [pa.uint32(), pa.float16(), pa.list_(pa.int32()), pa.duration("s"), pa.null()])
def test_arrow_types_without_a_table_type_are_refused(arrow):
    with pytest.raises(UnsupportedFeature, match=str(arrow).split("<")[0].split("[")[0]):
        from_arrow(arrow)
