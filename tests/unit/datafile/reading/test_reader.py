from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.codec.parquet import raw_footer
from paimon_core.datafile.parquet import checked_footer, footer
from paimon_core.datafile.parquet import parquet_input as decoder
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.datafile.reading.reader import read_batches
from paimon_core.datafile.writing import rolling_writer
from paimon_core.errors import CorruptTable, StorageError
from paimon_core.predicate import col
from paimon_core.schema import DataField
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.types import STRING, parse_type
from tests.support.data_files import STORAGE, Bucket, retyped, schema_of

TYPES = {"n": "INT", "s": "STRING"}


@pytest.fixture
def bucket():
    return Bucket(schema_of(TYPES))


@pytest.fixture
def numbers(bucket):
    """A file of 1000 rows, n ascending."""
    (file,) = bucket.write(bucket.table({"n": range(1000), "s": [f"s{n % 3}" for n in range(1000)]}))
    return file


def batches(bucket, file, **settings):
    return list(
        read_batches(
            STORAGE,
            bucket.path(file),
            file=file,
            file_schema=bucket.schema,
            read_fields=bucket.schema.fields,
            request=FileRequest(**settings),
        )
    )


def bound(bucket, where):
    return where.bind(bucket.schema.fields)


def test_batches_come_in_order_and_size(bucket, numbers):
    found = batches(bucket, numbers, batch_rows=300)
    assert [len(b) for b in found] == [300, 300, 300, 100]
    assert pa.Table.from_batches(found)["n"].to_pylist() == list(range(1000))


@pytest.mark.parametrize("row_groups", [None, [0], [1], [2, 0]])
def test_deleted_rows_are_left_out_by_their_position_in_the_file(bucket, row_groups):
    file = bucket.put(bucket.table({"n": range(30), "s": ["x"] * 30}), row_group_size=10)
    deleted = [0, 9, 10, 15, 29]
    chosen = [n for group in (row_groups or range(3)) for n in range(10 * group, 10 * group + 10)]
    found = batches(bucket, file, batch_rows=7, row_groups=row_groups, deleted=np.array(deleted), position="at")
    assert [n for b in found for n in b["n"].to_pylist()] == [n for n in chosen if n not in deleted]
    assert all(b["at"].to_pylist() == b["n"].to_pylist() for b in found)


def test_batches_hold_about_the_bytes_asked_for(bucket, numbers):
    assert [len(b) for b in batches(bucket, numbers, batch_bytes=16 * 400)] == [400, 400, 200]
    assert [len(b) for b in batches(bucket, numbers, batch_rows=900, batch_bytes=1 << 20)] == [900, 100]
    assert {len(b) for b in batches(bucket, numbers, batch_bytes=1)} == {1}


def test_wide_values_come_in_smaller_batches(bucket):
    (file,) = bucket.write(bucket.table({"n": range(50), "s": [f"{n:0992}" for n in range(50)]}))
    assert len(batches(bucket, file, batch_bytes=10_000)[0]) in (9, 10)


def test_columns_come_as_asked_under_their_types(bucket, numbers):
    found = bucket.read(numbers, [bucket.schema.by_name["s"], bucket.schema.by_name["n"]])
    assert found.schema == pa.schema([("s", pa.string()), ("n", pa.int32())])
    assert found.slice(4, 1).to_pylist() == [{"s": "s1", "n": 4}]


def test_repeating_texts_of_long_files_are_still_strings(bucket):
    rows = bucket.table({"n": range(70_000), "s": [None if n % 7 == 0 else f"s{n % 3}" for n in range(70_000)]})
    (file,) = bucket.write(rows)
    assert bucket.read(file).equals(rows)


def test_repeating_texts_come_as_dictionaries_to_those_who_take_them(bucket):
    rows = bucket.table({"n": range(70_000), "s": [None if n % 7 == 0 else f"s{n % 3}" for n in range(70_000)]})
    (file,) = bucket.write(rows)
    found = pa.Table.from_batches(batches(bucket, file, encoded={"s"}))
    assert found.schema.types == [pa.int32(), pa.dictionary(pa.int32(), pa.string())]
    assert found.cast(rows.schema).equals(rows)


def test_a_footer_is_parsed_once_in_python(bucket, monkeypatch):
    """For its checks; texts that repeat are found in the metadata that Arrow has parsed. The third footer of a schema
    is not parsed at all.
    """
    checked_footer.forget()
    rows = bucket.table({"n": range(70_000), "s": [f"s{n % 3}" for n in range(70_000)]})
    (file,) = bucket.write(rows)
    parsed = Mock(wraps=raw_footer.parse_struct)
    for module in (decoder, footer, raw_footer):
        monkeypatch.setattr(module, "parse_struct", parsed)
    assert bucket.read(file).equals(rows)
    assert parsed.call_count == 1
    for count in (7, 8, 9):
        (file,) = bucket.write(rows.slice(0, count))
        assert len(bucket.read(file)) == count
    footers = [call for call in parsed.call_args_list if call.args[0].count(b"parquet-cpp")]
    assert len({call.args[0][-60:] for call in footers}) == 2, "the second footer teaches its end"


def test_an_added_column_is_null_and_may_be_the_only_one(bucket, numbers):
    added = DataField(9, "later", STRING)
    found = bucket.read(numbers, [added], batch_rows=600)
    assert (found.num_rows, found["later"].null_count) == (1000, 1000)
    assert [len(b) for b in found.to_batches()] == [600, 400]


def test_filters_keep_what_is_true_in_order(bucket, numbers):
    where = bound(bucket, (col("n") >= 100) & (col("s") == "s0"))
    assert bucket.read(numbers, where=where)["n"].to_pylist() == list(range(102, 1000, 3))
    assert batches(bucket, numbers, where=bound(bucket, col("n") > 5000)) == []


def test_filters_leave_row_groups_out(bucket, monkeypatch):
    monkeypatch.setattr(rolling_writer, "ROW_GROUP_ROWS", 100)
    (file,) = bucket.write(bucket.table({"n": range(1000), "s": ["x"] * 1000}))
    damaged = bytearray(STORAGE.read(bucket.path(file)))
    damaged[4:100] = bytes(96)
    STORAGE.overwrite(bucket.path(file), bytes(damaged))
    assert bucket.read(file, where=bound(bucket, col("n") >= 990))["n"].to_pylist() == list(range(990, 1000))
    with pytest.raises(CorruptTable):
        bucket.read(file, where=bound(bucket, col("n") >= 0))


def test_filters_on_a_cast_column_mean_the_cast_values(monkeypatch):
    """The row groups hold longer texts, whose statistics would leave out the rows that match after the cut."""
    monkeypatch.setattr(rolling_writer, "ROW_GROUP_ROWS", 1)
    bucket = Bucket(schema_of({"s": "VARCHAR(10)"}))
    (file,) = bucket.write(bucket.table({"s": ["abc", "abd"]}))
    cut = retyped(bucket.schema, s="VARCHAR(2)")
    assert bucket.read(file, cut, where=(col("s") == "ab").bind(cut))["s"].to_pylist() == ["ab", "ab"]


def test_filters_on_a_renamed_column_mean_the_new_name(bucket, monkeypatch):
    monkeypatch.setattr(rolling_writer, "ROW_GROUP_ROWS", 100)
    (file,) = bucket.write(bucket.table({"n": range(300), "s": ["x"] * 300}))
    swapped = [replace(bucket.schema.by_name["n"], name="s"), replace(bucket.schema.by_name["s"], name="n")]
    assert bucket.read(file, swapped, where=(col("s") == 299).bind(swapped)).to_pylist() == [{"s": 299, "n": "x"}]


def test_a_missing_file_is_corruption_that_names_it(bucket, numbers):
    STORAGE.delete([bucket.path(numbers)])
    with pytest.raises(CorruptTable, match=rf"{numbers.file_name} is missing"):
        bucket.read(numbers)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"file_size": 1}, "bytes, not 1"),
        ({"row_count": 999}, "has 1000 rows, not 999"),
    ],
)
def test_a_file_unlike_its_entry_is_corrupt(bucket, numbers, change, message):
    with pytest.raises(CorruptTable, match=message):
        bucket.read(replace(numbers, **change))


@pytest.mark.parametrize("keep", [0, 3, 4, 8, 100, -1, -8, -300])
def test_a_torn_file_is_corrupt(bucket, numbers, keep):
    torn = bucket.put_bytes(STORAGE.read(bucket.path(numbers))[:keep], 1000)
    with pytest.raises(CorruptTable, match=r"foreign\.parquet"):
        bucket.read(torn)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1PAR1PAR1", b"\x00" * 100, b"PAR1" + b"\xff" * 60 + b"PAR1"])
def test_garbage_is_corrupt(bucket, data):
    with pytest.raises(CorruptTable, match=r"foreign\.parquet"):
        bucket.read(bucket.put_bytes(data, 1))


def test_one_flipped_bit_in_a_page_is_found(bucket, numbers):
    data = bytearray(STORAGE.read(bucket.path(numbers)))
    data[200] ^= 1
    damaged = bucket.put_bytes(bytes(data), 1000)
    with pytest.raises(CorruptTable, match=r"foreign\.parquet does not decode"):
        bucket.read(damaged)


def test_a_failing_store_is_no_corruption(bucket, numbers, monkeypatch):
    def fail(self, path):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(FsspecStorage, "open_input", fail)
    with pytest.raises(StorageError, match="Input/output error"):
        bucket.read(numbers)


def test_a_reader_that_is_left_early_closes_its_file(bucket, numbers, monkeypatch):
    opened = []
    real = FsspecStorage.open_input
    monkeypatch.setattr(FsspecStorage, "open_input", lambda *a: opened.append(real(*a)) or opened[-1])
    reading = read_batches(
        STORAGE,
        bucket.path(numbers),
        file=numbers,
        file_schema=bucket.schema,
        read_fields=bucket.schema.fields,
        request=FileRequest(batch_rows=10),
    )
    next(reading)
    assert not opened[0].closed
    reading.close()
    assert opened[0].closed


@pytest.mark.parametrize(
    ("text", "written", "read"),
    [
        ("DECIMAL(9, 2)", pa.array([None, 1], pa.int32()).cast(pa.decimal128(12, 2)), None),
        ("TIME(0)", pa.array([1_500, None], pa.time64("us")), [1, None]),
        ("TIMESTAMP(3)", pa.array([-1, 1_999], pa.timestamp("us")), [-1, 1]),
        ("TIMESTAMP(6)", pa.array([-1, None], pa.timestamp("ns")), [-1, None]),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", pa.array([7], pa.timestamp("us")), [7]),
        ("TIMESTAMP(6)", pa.array([7], pa.timestamp("us", "Europe/Paris")), [7]),
        ("TINYINT", pa.array([7, None], pa.int32()), [7, None]),
        ("BIGINT", pa.array([7, None], pa.uint32()), [7, None]),
        ("STRING", pa.array(["a", None], pa.large_string()), ["a", None]),
        ("STRING", pa.array(["a", "a"]).dictionary_encode(), ["a", "a"]),
        ("STRING", pa.array([b"\xc3\xa9"]), ["é"]),
        ("BINARY(2)", pa.array([b"ab"], pa.binary(2)), [b"ab"]),
        ("DOUBLE", pa.array([0.5], pa.float32()), [0.5]),
    ],
)
def test_files_of_other_writers_are_read(text, written, read):
    bucket = Bucket(schema_of({"c": text}))
    found = bucket.read(bucket.put(pa.table({"c": written})))["c"]
    assert found.type == parse_type(text).to_arrow()
    if pa.types.is_timestamp(found.type) or pa.types.is_time(found.type):
        found = found.cast(pa.int64() if pa.types.is_timestamp(found.type) else pa.int32())
    assert found.to_pylist() == (read or written.to_pylist())


@pytest.mark.parametrize(
    ("text", "written", "message"),
    [
        ("INT", pa.array(["7"]), "is stored as string, not INT"),
        ("STRING", pa.array([7]), "is stored as int64, not STRING"),
        ("DATE", pa.array([7], pa.int32()), "is stored as int32, not DATE"),
        ("INT", pa.array([[7]]), "is stored as list"),
        ("TINYINT", pa.array([300]), "is not a valid TINYINT"),
        ("STRING", pa.array([b"\xff"]), "is not a valid STRING"),
    ],
)
def test_a_column_that_cannot_be_what_the_schema_says_is_corrupt(text, written, message):
    bucket = Bucket(schema_of({"c": text}))
    with pytest.raises(CorruptTable, match=rf"foreign\.parquet.*'c'.*{message}"):
        bucket.read(bucket.put(pa.table({"c": written})))
