"""How many rows of a Parquet file are decoded at a time: by its page headers, before memory is taken for its pages."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.codec.parquet.thrift import parse_struct, serialize_struct
from paimon_core.datafile.parquet.footer import file_end, footer_of
from paimon_core.datafile.parquet.parquet_input import ParquetInput
from paimon_core.errors import CorruptTable, InvalidRequest
from tests.support.data_files import STORAGE, Bucket, schema_of

TEXT = Bucket(schema_of({"s": "STRING"}))
LIST = Bucket(schema_of({"s": {"type": "ARRAY", "element": "BIGINT"}}))


def repeated(text: str, rows: int) -> pa.Table:
    return pa.table({"s": pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), [text])})


def batch_sizes(bucket, file, most=3):
    batches = bucket.batches(file)
    return [len(batch) for batch, _ in zip(batches, range(most), strict=False)]


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "brotli", "lz4", "none"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_texts_that_a_dictionary_repeats_are_decoded_in_small_batches(codec, version):
    file = TEXT.put(repeated("x" * 400_000, 70_000), compression=codec, data_page_version=version)
    assert file.file_size < 500_000
    assert batch_sizes(TEXT, file) == [41, 41, 41]


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_texts_without_a_dictionary_are_decoded_in_batches_of_bytes(encoding):
    table = pa.table({"s": ["x" * 20_000] * 500})
    file = TEXT.put(table, use_dictionary=False, column_encoding=encoding)
    (size, *_) = batch_sizes(TEXT, file)
    assert 20_000 * size <= 16 << 20
    assert sum(batch_sizes(TEXT, file, 10_000)) == 500


@pytest.mark.parametrize("dictionary", [True, False])
def test_one_long_text_among_short_ones_does_not_make_all_batches_small(dictionary):
    texts = [f"city-{n % 999}" for n in range(100_000)]
    texts[40_000] = "x" * 1_000_000
    file = TEXT.put(pa.table({"s": texts}), use_dictionary=dictionary)
    assert sum(batch_sizes(TEXT, file, 20)) == 100_000
    assert len(batch_sizes(TEXT, file, 20)) < 6


def test_a_long_column_chunk_is_checked_too():
    noise = np.random.default_rng(7).bytes(6_000_000).hex()
    numbers = [*range(60), *[0] * 70_000]
    table = pa.table(
        {
            "s": pa.DictionaryArray.from_arrays(
                pa.array(numbers, pa.int32()), [noise[n * 200_000 : (n + 1) * 200_000] for n in range(60)]
            )
        }
    )
    file = TEXT.put(table, compression="zstd", dictionary_pagesize_limit=64 << 20)
    assert file.file_size > 5_000_000
    assert batch_sizes(TEXT, file) == [83, 83, 83]


def test_prefixed_texts_are_not_decoded_as_dictionaries():
    """Arrow cannot decode DELTA_BYTE_ARRAY as a dictionary."""
    table = pa.table({"s": ["x" * 5_000] * 2000})
    file = TEXT.put(table, use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY")
    assert TEXT.read(file)["s"].to_pylist() == table["s"].to_pylist()


def test_rows_of_ordinary_files_are_decoded_as_many_as_asked_for():
    table = pa.table({"s": [f"city-{n % 999}" for n in range(140_000)]})
    assert batch_sizes(TEXT, TEXT.put(table)) == [65_536, 65_536, 8_928]
    assert batch_sizes(TEXT, TEXT.put(table, use_dictionary=False)) == [65_536, 65_536, 8_928]


def test_a_page_that_unpacks_to_too_much_is_refused():
    file = TEXT.put(pa.table({"s": ["x" * (80 << 20)]}), compression="zstd", write_statistics=False)
    assert file.file_size < 5_000
    with pytest.raises(CorruptTable, match=r"its pages unpack from .* to 838860"):
        TEXT.read(file)


def test_a_row_of_very_many_values_in_a_few_bytes_is_refused():
    file = LIST.put(pa.table({"s": [[7] * 9_000_000]}), compression="zstd")
    assert file.file_size < 1_000
    with pytest.raises(CorruptTable, match=r"has 9000000 values of 1 rows in .* bytes"):
        LIST.read(file)


def test_page_headers_must_match_the_footer():
    data = STORAGE.read(TEXT.path(TEXT.put(pa.table({"s": ["a", "b", "c"]}), use_dictionary=False)))
    before, footer = footer_of(data)
    tree = parse_struct(footer)
    chunk = tree[4][1][1][0][1][1][1][0][3][1]
    right = dict(chunk)
    for moved, shorter in ((0, 1), (3, 3)):
        chunk[9] = (right[9][0], right[9][1] + moved)
        chunk[7] = (right[7][0], right[7][1] - shorter)
        changed = before + file_end(serialize_struct(tree))
        with pytest.raises(CorruptTable, match="page"):
            TEXT.read(TEXT.put_bytes(changed, 3))


def test_what_the_writer_writes_is_readable():
    texts = pa.table({"s": ["x" * 150_000] * 1200})
    (file,) = TEXT.write(texts)
    assert TEXT.parquet(file).num_row_groups > 1
    assert sum(batch_sizes(TEXT, file, 10_000)) == 1200
    lists = pa.table({"s": pa.array([[7] * 3_000_000] * 4, pa.list_(pa.int64()))})
    (file,) = LIST.write(lists)
    assert LIST.read(file)["s"].combine_chunks().value_lengths().to_pylist() == [3_000_000] * 4


@pytest.mark.parametrize(("bucket", "value"), [(TEXT, "x" * (70 << 20)), (LIST, [7] * 9_000_000)])
def test_a_value_that_could_not_be_read_is_not_written(bucket, value):
    with pytest.raises(InvalidRequest, match="a value of column 's' has"):
        bucket.write(pa.table({"s": pa.array([value], bucket.schema.fields[0].type.to_arrow())}))


def test_a_dictionary_that_ends_early_is_refused():
    file = TEXT.put(pa.table({"s": ["abc" * 200, "d" * 500] * 20}), compression="none")
    data = bytearray(STORAGE.read(TEXT.path(file)))
    at = data.index(b"abcabc")
    data[at - 4 : at] = (10_000).to_bytes(4, "little")
    with pytest.raises(CorruptTable, match="Unexpected end of stream"):
        TEXT.read(TEXT.put_bytes(bytes(data), 40))


@pytest.mark.parametrize("codec", ["zstd", "gzip", "snappy"])
def test_a_damaged_dictionary_is_refused(codec):
    texts = Bucket(schema_of({"s": {"type": "ARRAY", "element": "STRING"}}))
    rows = pa.table({"s": [["x" * 20_000 if n == 7 else f"city-{n % 999}"] for n in range(9_000)]})
    file = texts.put(rows, compression=codec)
    data = bytearray(STORAGE.read(texts.path(file)))
    data[40:60] = b"\xff" * 20  # in the page of the dictionary
    with pytest.raises(CorruptTable, match="does not decode"):
        batch_sizes(texts, texts.put_bytes(bytes(data), 9_000))


def test_columns_of_a_small_file_that_are_read_in_turns_keep_their_batches():
    table = pa.table({"s": ["x" * 100_000] * 3_000, "i": range(3_000)})
    bucket = Bucket(schema_of({"s": "STRING", "i": "BIGINT"}))
    file = bucket.put(table, use_dictionary=False, column_encoding={"s": "DELTA_BYTE_ARRAY", "i": "PLAIN"})
    opened = ParquetInput(STORAGE.open_input(bucket.path(file)))
    texts, numbers = (
        opened.batches({f.name: f.type}, None, batch_rows=1 << 16, batch_bytes=16 << 20, use_threads=False)
        for f in bucket.schema.fields
    )
    sizes = [next(texts)[0], *(count for count, _ in numbers), *(count for count, _ in texts)]
    assert sizes == [666, 3_000, 666, 666, 666, 336]


def test_the_checks_are_made_when_batches_are_read_not_when_a_file_is_opened():
    file = TEXT.put(pa.table({"s": ["x" * (80 << 20)]}), compression="zstd", write_statistics=False)
    assert ParquetInput(STORAGE.open_input(TEXT.path(file))).row_count == 1
