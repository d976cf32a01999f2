import datetime
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.datafile.parquet.int96 import INT96_AS_BYTES, int96_from_timestamps, int96_to_timestamps
from paimon_core.errors import UnsupportedFeature
from paimon_core.types import parse_type
from tests.support.data_files import STORAGE, Bucket, schema_of

EPOCH = 2_440_588
DAY = 86_400 * 10**9
NANOS = parse_type("TIMESTAMP(9)")


def raw(*pairs: tuple[int, int] | None) -> pa.Array:
    return pa.array([None if p is None else struct.pack("<qi", *p) for p in pairs], INT96_AS_BYTES)


def numbers(array: pa.Array) -> list[int | None]:
    return array.cast(pa.int64()).to_pylist()


def test_the_bytes_are_nanoseconds_of_the_day_then_the_julian_day():
    found = int96_from_timestamps(pa.array([0, 1, -1, None, 2**63 - 1], pa.timestamp("ns")))
    assert found.to_pylist() == [
        struct.pack("<qi", 0, EPOCH),
        struct.pack("<qi", 1, EPOCH),
        struct.pack("<qi", DAY - 1, EPOCH - 1),
        None,
        struct.pack("<qi", (2**63 - 1) % DAY, EPOCH + 106_751),
    ]


def test_negative_nanoseconds_of_the_day_are_read_too():
    assert numbers(int96_to_timestamps(raw((-1, EPOCH), (DAY + 1, EPOCH)), NANOS, "c")) == [-1, DAY + 1]


@pytest.mark.parametrize(("text", "expected"), [("TIMESTAMP(3)", [-1, 1]), ("TIMESTAMP(6)", [-1, 1_999])])
def test_coarser_types_cut_towards_the_past(text, expected):
    assert numbers(int96_to_timestamps(raw((-1, EPOCH), (1_999_999, EPOCH)), parse_type(text), "c")) == expected


def test_slices_nulls_and_empty_arrays():
    array = raw((9, EPOCH), None, (7, EPOCH)).slice(1)
    assert numbers(int96_to_timestamps(array, NANOS, "c")) == [None, 7]
    assert len(int96_to_timestamps(array.slice(2), NANOS, "c")) == 0
    assert len(int96_from_timestamps(pa.array([], pa.timestamp("ns")))) == 0


FIRST, LAST = divmod(-(2**63), DAY), divmod(2**63 - 1, DAY)


def test_the_first_and_last_nanosecond_are_read():
    array = raw((FIRST[1], EPOCH + FIRST[0]), (LAST[1], EPOCH + LAST[0]))
    assert numbers(int96_to_timestamps(array, NANOS, "c")) == [-(2**63), 2**63 - 1]


@pytest.mark.parametrize(
    ("day", "nanos"),
    [(FIRST[0], FIRST[1] - 1), (LAST[0], LAST[1] + 1), (2_932_896, 0), (-719_162, 0), (2**31 - 1 - EPOCH, 0)],
)
def test_years_that_nanoseconds_cannot_hold_are_refused(day, nanos):
    with pytest.raises(UnsupportedFeature, match="'c' contains a timestamp outside the range"):
        int96_to_timestamps(raw((nanos, EPOCH + day)), NANOS, "c")


def test_far_years_in_microseconds_are_exact():
    far = (datetime.date(9999, 12, 31) - datetime.date(1970, 1, 1)).days
    assert numbers(int96_to_timestamps(raw((5_000, EPOCH + far)), parse_type("TIMESTAMP(6)"), "c")) == [
        far * 86_400_000_000 + 5
    ]


def test_only_the_fine_columns_of_a_file_are_int96_and_all_read_back():
    bucket = Bucket(
        schema_of({"a": "TIMESTAMP(9)", "b": "TIMESTAMP(3)", "c": "TIMESTAMP(7) WITH LOCAL TIME ZONE", "d": "STRING"})
    )
    rows = bucket.table(
        {
            "a": pa.array([-1, None, 2**62], pa.int64()).cast(pa.timestamp("ns")),
            "b": pa.array([253_402_300_799_999, None, -1], pa.int64()).cast(pa.timestamp("ms")),
            "c": pa.array([None, None, 100], pa.int64()).cast(pa.timestamp("ns", "UTC")),
            "d": ["x", "y", None],
        }
    )
    (file,) = bucket.write(rows)
    assert file.file_size == len(STORAGE.read(bucket.path(file)))
    columns = bucket.parquet(file).metadata.schema
    assert [columns.column(n).physical_type for n in range(4)] == ["INT96", "INT64", "INT96", "BYTE_ARRAY"]
    assert bucket.read(file).equals(rows)
    types = [f.type for f in bucket.schema.fields]
    assert decode_row(file.value_stats.max_values, types) == (None, 253_402_300_799_999, None, "y")
    assert file.value_stats.null_counts == (1, 1, 2, 1)


def test_members_of_nested_columns_are_int96_too():
    texts = {
        "r": "ROW<a INT NOT NULL, t TIMESTAMP(9), u TIMESTAMP(9) NOT NULL>",
        "m": "MAP<TIMESTAMP(7) NOT NULL, ARRAY<TIMESTAMP(9) WITH LOCAL TIME ZONE NOT NULL>>",
        "d": "ARRAY<DECIMAL(28, 0)>",
    }
    bucket = Bucket(schema_of(texts))
    rows = bucket.table(
        {
            "r": [{"a": 1, "t": -1, "u": 2**62}, None, {"a": 2, "t": None, "u": 0}],
            "m": [[(1, [5, -5])], None, [(2, None), (3, [])]],
            "d": [[1, None], None, []],
        }
    )
    (file,) = bucket.write(rows)
    columns = bucket.parquet(file).metadata.schema
    kinds = {columns.column(n).path: columns.column(n).physical_type for n in range(6)}
    assert [path for path, kind in kinds.items() if kind == "INT96"] == [
        "r.t",
        "r.u",
        "m.key_value.key",
        "m.key_value.value.list.element",
    ]
    assert bucket.read(file).equals(rows)
    assert bucket.read(file, batch_rows=1).equals(rows)


def test_other_readers_see_the_same_instants():
    bucket = Bucket(schema_of({"a": "TIMESTAMP(9)"}))
    values = pa.array([-1, None, 2**62, 0], pa.int64())
    (file,) = bucket.write(bucket.table({"a": values.cast(pa.timestamp("ns"))}))
    assert bucket.parquet(file).read()["a"].cast(pa.int64()).to_pylist() == values.to_pylist()


def test_files_with_every_timestamp_in_int96_are_read_exactly():
    bucket = Bucket(schema_of({"a": "TIMESTAMP(9)", "b": "TIMESTAMP(6)"}))
    values = pa.table(
        {"a": pa.array([-1, 7], pa.timestamp("ns")), "b": pa.array([-1, 253_402_300_799_999_999], pa.timestamp("us"))}
    )
    file = bucket.put(values, use_deprecated_int96_timestamps=True)
    assert pq.ParquetFile(STORAGE.open_input(bucket.path(file))).metadata.schema.column(1).physical_type == "INT96"
    assert bucket.read(file).equals(values)


def test_a_column_with_the_path_of_a_member_is_read_without_the_member():
    bucket = Bucket(schema_of({"a": "ROW<b INT>", "a.b": "STRING", "t": "TIMESTAMP(9)"}))
    rows = bucket.table({"a": [{"b": 1}], "a.b": ["x"], "t": pa.array([7], pa.timestamp("ns"))})
    (file,) = bucket.write(rows)
    fields = [f for f in bucket.schema.fields if f.name != "a"]
    assert bucket.read(file, fields).equals(rows.select(["a.b", "t"]))
