"""Batches are bounded by the bytes of decoded rows, however small the file is."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.arrow.byte_budget import decoded_bytes
from paimon_core.codec.parquet.thrift import parse_struct, serialize_struct
from paimon_core.datafile.parquet.footer import file_end, footer_of
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.datafile.reading.reader import read_batches
from paimon_core.errors import CorruptTable
from paimon_core.predicate import col
from tests.support.data_files import STORAGE, Bucket, schema_of

ROWS = 2000
TEXT = "x" * 45_000
BUDGET = 1 << 20
TYPES = {"n": "INT", "s": "STRING"}


def rows(bucket, texts):
    return bucket.table({"n": range(len(texts)), "s": texts})


def batches(bucket, file, fields=None, **settings):
    """Read with a small budget; also return the most bytes of Arrow's memory at the time of a batch."""
    before = pa.total_allocated_bytes()
    most = 0
    found = []
    for batch in read_batches(
        STORAGE,
        bucket.path(file),
        file=file,
        file_schema=bucket.schema,
        read_fields=bucket.schema.fields if fields is None else fields,
        request=FileRequest(batch_bytes=BUDGET, **settings),
    ):
        most = max(most, pa.total_allocated_bytes() - before)
        found.append((len(batch), decoded_bytes(batch), batch["n"].to_pylist() if "n" in batch.schema.names else None))
    return found, most


def without_sizes(bucket, table, **settings):
    """Write a file whose footer does not state the bytes of texts, as other writers do."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **settings)
    start, footer = footer_of(sink.getvalue().to_pybytes())
    tree = parse_struct(footer)
    for group in tree[4][1][1]:
        for chunk in group[1][1][1]:
            assert chunk[3][1].pop(16, None) is not None or chunk[3][1][1][1] != 6
    return bucket.put_bytes(start + file_end(serialize_struct(tree)), len(table))


@pytest.mark.parametrize("form", ["parquet", "orc", "avro", "foreign", "one row group"])
def test_a_shared_text_is_decoded_in_small_batches(form):
    bucket = Bucket(schema_of(TYPES, options={"file.format": form} if form in ("orc", "avro") else {}))
    table = rows(bucket, [TEXT] * (ROWS // 5 if form == "avro" else ROWS))
    if form == "foreign":
        file = without_sizes(bucket, table)
    elif form == "one row group":
        file = bucket.put(table, row_group_size=ROWS)
    else:
        (file,) = bucket.write(table)
    found, most = batches(bucket, file)
    assert [n for _, _, numbers in found for n in numbers] == list(range(len(table)))
    bound = 2 * BUDGET if form == "avro" else BUDGET
    assert max(size for _, size, _ in found) <= bound + len(TEXT)
    assert most < 16 * BUDGET  # all rows are 90 MB


@pytest.mark.parametrize("sizes", [True, False])
def test_a_long_text_in_a_few_rows_of_a_row_group_does_not_pass_the_bound(sizes):
    """The mean of the row group says nothing about its largest batch."""
    bucket = Bucket(schema_of(TYPES))
    table = rows(bucket, ["a"] * 20_000 + [TEXT] * 300 + ["b"] * 20_000)
    file = bucket.put(table) if sizes else without_sizes(bucket, table)
    found, most = batches(bucket, file)
    assert sum(count for count, _, _ in found) == 40_300
    assert max(size for _, size, _ in found) <= BUDGET + len(TEXT)
    assert most < 8 * BUDGET


def test_columns_that_stay_dictionaries_count_with_their_decoded_bytes():
    bucket = Bucket(schema_of(TYPES))
    (file,) = bucket.write(rows(bucket, [TEXT] * ROWS))
    found, _ = batches(bucket, file, encoded={"s"})
    assert sum(count for count, _, _ in found) == ROWS
    assert max(size for _, size, _ in found) <= BUDGET + len(TEXT)


@pytest.mark.parametrize("sizes", [True, False])
def test_texts_in_a_list_are_bounded_too(sizes):
    bucket = Bucket(schema_of({"n": "INT", "v": "ARRAY<STRING>"}))
    table = bucket.table({"n": range(500), "v": [[TEXT[:20_000]] * 2] * 500})
    file = bucket.put(table) if sizes else without_sizes(bucket, table)
    found, most = batches(bucket, file)
    assert sum(count for count, _, _ in found) == 500
    assert max(size for _, size, _ in found) <= BUDGET + len(TEXT)
    assert most < 8 * BUDGET


def test_rows_that_a_filter_selects_are_bounded_too():
    bucket = Bucket(schema_of(TYPES))
    (file,) = bucket.write(rows(bucket, [TEXT] * ROWS))
    where = (col("n") > 5).bind(bucket.schema.fields)
    found, most = batches(bucket, file, where=where)
    assert sum(count for count, _, _ in found) == ROWS - 6
    assert max(size for _, size, _ in found) <= BUDGET + len(TEXT)
    assert most < 8 * BUDGET


def test_short_values_are_decoded_in_as_many_rows_as_before():
    bucket = Bucket(schema_of(TYPES))
    (file,) = bucket.write(rows(bucket, [f"s{n % 3}" for n in range(20_000)]))
    assert [count for count, _, _ in batches(bucket, file)[0]] == [20_000]


def test_a_dictionary_without_a_valid_header_is_corrupt():
    bucket = Bucket(schema_of(TYPES))
    file = without_sizes(bucket, rows(bucket, [TEXT] * 10))
    data = bytearray(STORAGE.read(bucket.path(file)))
    chunk = pq.ParquetFile(pa.BufferReader(bytes(data))).metadata.row_group(0).column(1)
    data[chunk.dictionary_page_offset] = 0
    file = bucket.put_bytes(bytes(data), 10)
    with pytest.raises(CorruptTable, match="a page header lacks its kind or a size"):
        bucket.read(file)
