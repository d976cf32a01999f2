"""Which columns of numbers a Parquet file stores uncompressed, and that readers get the same rows."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.datafile.parquet import shrinking
from paimon_core.datafile.parquet.shrinking import codecs, leaf_names
from tests.support.data_files import Bucket, schema_of

ROWS = shrinking.LEAST_ROWS
NUMBERS = np.random.default_rng(7).integers(0, 2**62, ROWS)
TYPES = {"random": "DOUBLE", "bits": "BIGINT", "steps": "DOUBLE", "order": "BIGINT", "text": "STRING"}


def rows_of(count):
    random = NUMBERS[:count]
    columns = [
        random.view(np.float64),
        random,
        np.arange(count) * 0.5,
        np.arange(count),
        pa.array(random // 10**9).cast(pa.string()),
    ]
    return pa.table([pa.array(c) for c in columns], names=list(TYPES))


def stored(rows, **options):
    """The codec of each column of the file with these rows, and the rows that are read."""
    bucket = Bucket(schema_of(TYPES, options=options))
    (file,) = bucket.write(rows)
    group = bucket.parquet(file).metadata.row_group(0)
    chunks = [group.column(at) for at in range(group.num_columns)]
    return {c.path_in_schema: c.compression for c in chunks}, bucket.read(file)


def test_numbers_that_do_not_shrink_are_not_compressed():
    rows = rows_of(ROWS)
    found, read = stored(rows)
    assert found == dict(zip(TYPES, ["UNCOMPRESSED", "UNCOMPRESSED", "ZSTD", "ZSTD", "ZSTD"], strict=True))
    assert read.to_pydict() == rows.to_pydict()


@pytest.mark.parametrize(
    ("option", "stated", "name"),
    [
        ("file.compression", "zstd", "ZSTD"),
        ("file.compression", "none", "UNCOMPRESSED"),
        ("file.compression.per.level", "0:snappy", "SNAPPY"),
    ],
)
def test_a_stated_codec_is_that_of_all_columns(option, stated, name):
    found, _ = stored(rows_of(ROWS), **{option: stated})
    assert set(found.values()) == {name}


def test_all_columns_of_a_smaller_file_are_compressed():
    found, _ = stored(rows_of(ROWS - 1))
    assert set(found.values()) == {"ZSTD"}


@pytest.mark.parametrize("repeats", [slice(0, ROWS // 2), slice(ROWS // 2, ROWS)])
def test_a_column_of_which_a_half_repeats_is_compressed(repeats):
    numbers = NUMBERS.copy()
    numbers[repeats] = 7
    bucket = Bucket(schema_of({"f": "DOUBLE"}))
    (file,) = bucket.write(pa.table([numbers.view(np.float64)], names=["f"]))
    assert bucket.parquet(file).metadata.row_group(0).column(0).compression == "ZSTD"


def test_paths_of_leaves_are_those_that_arrow_writes():
    inner = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])
    kinds = {"n": pa.int64(), "s": inner, "l": pa.list_(inner), "m": pa.map_(pa.string(), pa.list_(inner))}
    schema = pa.schema(kinds.items())
    collected: list[pq.FileMetaData] = []
    settings = codecs(schema, ["n"], "zstd", 3)
    with pq.ParquetWriter(pa.BufferOutputStream(), schema, metadata_collector=collected, **settings) as writer:
        writer.write_table(schema.empty_table())
        writer.write_table(pa.table([pa.nulls(3, t) for t in schema.types], schema=schema))
    group = collected[0].row_group(collected[0].num_row_groups - 1)
    found = {group.column(at).path_in_schema: group.column(at).compression for at in range(group.num_columns)}
    assert list(found) == [path for f in schema for path in leaf_names(f.name, f.type)]
    assert found.pop("n") == "UNCOMPRESSED"
    assert set(found.values()) == {"ZSTD"}


def test_a_column_with_the_path_of_a_member_is_compressed():
    schema = schema_of({"a.b": "DOUBLE", "a": "ROW<b DOUBLE>", "c": "DOUBLE"})
    bucket = Bucket(schema)
    numbers = NUMBERS.view(np.float64)
    nested = pa.StructArray.from_arrays([pa.array(numbers)], ["b"]).cast(schema.by_name["a"].type.to_arrow())
    rows = pa.table([pa.array(numbers), nested, pa.array(numbers)], names=["a.b", "a", "c"])
    (file,) = bucket.write(rows)
    group = bucket.parquet(file).metadata.row_group(0)
    assert [group.column(at).compression for at in range(3)] == ["ZSTD", "ZSTD", "UNCOMPRESSED"]
    assert bucket.read(file).equals(rows)
