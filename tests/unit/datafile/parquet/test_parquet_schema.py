import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paimon_core.datafile.parquet.parquet_schema import parquet_schema, writer_settings
from paimon_core.options import TableOptions
from tests.support.data_files import Bucket, schema_of

PHYSICAL = {
    "BOOLEAN": "optional boolean field_id=0 c;",
    "TINYINT": "optional int32 field_id=0 c (Int(bitWidth=8, isSigned=true));",
    "SMALLINT": "optional int32 field_id=0 c (Int(bitWidth=16, isSigned=true));",
    "INT": "optional int32 field_id=0 c;",
    "BIGINT NOT NULL": "required int64 field_id=0 c;",
    "FLOAT": "optional float field_id=0 c;",
    "DOUBLE": "optional double field_id=0 c;",
    "DECIMAL(9, 2)": "optional int32 field_id=0 c (Decimal(precision=9, scale=2));",
    "DECIMAL(18, 2)": "optional int64 field_id=0 c (Decimal(precision=18, scale=2));",
    "DECIMAL(19, 2)": "optional fixed_len_byte_array(9) field_id=0 c (Decimal(precision=19, scale=2));",
    "CHAR(3)": "optional binary field_id=0 c (String);",
    "STRING": "optional binary field_id=0 c (String);",
    "BINARY(3)": "optional binary field_id=0 c;",
    "BYTES": "optional binary field_id=0 c;",
    "DATE": "optional int32 field_id=0 c (Date);",
    "TIME(0)": "optional int32 field_id=0 c (Time(isAdjustedToUTC=true, timeUnit=milliseconds));",
    "TIMESTAMP(0)": "optional int64 field_id=0 c (Timestamp(isAdjustedToUTC=false, timeUnit=milliseconds",
    "TIMESTAMP(6)": "optional int64 field_id=0 c (Timestamp(isAdjustedToUTC=false, timeUnit=microseconds",
    "TIMESTAMP(7)": "optional int96 field_id=0 c;",
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": "optional int64 field_id=0 c (Timestamp(isAdjustedToUTC=true, timeUnit=mill",
    "TIMESTAMP(9) WITH LOCAL TIME ZONE": "optional int96 field_id=0 c;",
}


@pytest.mark.parametrize("text", PHYSICAL)
def test_every_type_has_the_physical_form_of_the_format(text):
    bucket = Bucket(schema_of({"c": text}))
    (file,) = bucket.write(bucket.table({"c": [None if "NOT NULL" not in text else 1]}))
    line = str(bucket.parquet(file).schema).splitlines()[2].strip()
    assert line.startswith(PHYSICAL[text])


def test_the_file_says_nothing_of_arrow_and_checks_its_pages():
    bucket = Bucket(schema_of({"c": "INT"}))
    (file,) = bucket.write(bucket.table({"c": [1]}))
    metadata = bucket.parquet(file).metadata
    assert metadata.metadata is None
    assert metadata.row_group(0).column(0).compression == "ZSTD"
    settings = writer_settings(bucket.schema.fields, TableOptions.parse({}), "zstd", bucket.table({"c": [1]}))
    assert settings["write_page_checksum"] is True


def test_system_columns_have_the_ids_of_the_format():
    schema = schema_of({"k": "INT NOT NULL", "v": "STRING"}, keys=["k"])
    ids = [f.metadata[b"PARQUET:field_id"] for f in parquet_schema(schema.file_fields)]
    assert ids == [b"1073741823", b"2147483646", b"2147483645", b"0", b"1"]


def test_integers_are_written_as_differences_and_repeating_texts_as_dictionaries():
    types = {"i": "INT", "same": "STRING", "other": "STRING", "f": "DOUBLE", "d": "DECIMAL(10, 2)", "n": "TIMESTAMP(9)"}
    bucket = Bucket(schema_of(types))
    four = {
        "i": range(4),
        "same": ["x", "y"] * 2,
        "other": list("abcd"),
        "f": [0.5] * 4,
        "d": [None] * 4,
        "n": range(4),
    }
    (file,) = bucket.write(bucket.table(four))
    group = bucket.parquet(file).metadata.row_group(0)
    encodings = {group.column(n).path_in_schema: group.column(n).encodings for n in range(len(types))}
    assert {name for name, found in encodings.items() if "DELTA_BINARY_PACKED" in found} == {"i", "d"}
    assert {name for name, found in encodings.items() if "RLE_DICTIONARY" in found} == {"same"}


@pytest.mark.parametrize(
    ("codec", "expected"), [("snappy", "SNAPPY"), ("gzip", "GZIP"), ("lz4", "LZ4"), ("none", "UNCOMPRESSED")]
)
def test_the_codec_is_the_table_option(codec, expected):
    bucket = Bucket(schema_of({"c": "INT"}, options={"file.compression": codec}))
    (file,) = bucket.write(bucket.table({"c": [1, 2]}))
    assert bucket.parquet(file).metadata.row_group(0).column(0).compression == expected


def test_the_zstd_level_is_the_table_option():
    sizes = {}
    for level in ("1", "19"):
        bucket = Bucket(schema_of({"c": "STRING"}, options={"file.compression.zstd-level": level}))
        (file,) = bucket.write(bucket.table({"c": [f"{n * n % 9973:04d} {n}" for n in range(5000)]}))
        sizes[level] = file.file_size
    assert sizes["19"] < sizes["1"]


@pytest.mark.parametrize(
    "values",
    [["a", "a"], ["a", "b"], ["a", None, None], ["a", "a", "b"], ["a", "b", None, None], [None], ["a", "a"] * 40],
)
def test_few_rows_take_a_dictionary_where_arrow_counts_few_values(values):
    fields = schema_of({"c": "STRING"}).fields
    rows = pa.table({"c": pa.array(values, pa.string())})
    repeats = 2 * pc.count_distinct(rows["c"], mode="all").as_py() <= len(values)
    settings = writer_settings(fields, TableOptions.parse({}), "zstd", rows)
    assert settings["use_dictionary"] == (["c"] if repeats else [])
