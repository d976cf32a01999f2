"""Rows near each other are decoded from copies of their pages, with the result of a read of the whole row group."""

import decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.datafile.parquet import near_rows, parquet_input
from paimon_core.datafile.reading.read_counts import ReadCounts
from paimon_core.errors import CorruptTable
from paimon_core.predicate import col
from tests.support.data_files import STORAGE, Bucket, schema_of

ROWS = 1000
TYPES = {"n": "INT", "a": "BIGINT", "s": "STRING", "d": "STRING", "x": "DOUBLE", "b": "BOOLEAN", "m": "DECIMAL(9, 2)"}
PAGES = {"max_rows_per_page": 50, "write_page_checksum": True, "write_batch_size": 10}


def columns(rows=ROWS):
    """Return columns with nulls, with a dictionary and without; ``n`` is ascending."""
    numbers = range(rows)
    return {
        "n": list(numbers),
        "a": [None if n % 7 == 0 else n * 10**12 for n in numbers],
        "s": [None if n % 11 == 0 else f"text-{n}" for n in numbers],
        "d": [f"d{n % 3}" for n in numbers],
        "x": [n / 3 for n in numbers],
        "b": [None if n % 5 == 0 else n % 2 == 0 for n in numbers],
        "m": [decimal.Decimal(n) / 4 for n in numbers],
    }


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(parquet_input, "FEW_VALUES", 0)


@pytest.fixture
def made(monkeypatch):
    """The first and last rows of the parts of row groups that were decoded; None: the whole row group."""
    found = []

    def recorded(*args):
        part = near_rows.near_rows(*args)
        found.append(part and (part.first, part.last))
        return part

    monkeypatch.setattr(parquet_input, "near_rows", recorded)
    return found


def put(types=TYPES, values=None, **settings):
    bucket = Bucket(schema_of(types))
    rows = bucket.table(values or columns())
    return bucket, bucket.put(rows, **{"use_dictionary": ["d"], **PAGES, **settings}), rows


def read(bucket, file, where, **settings):
    return bucket.read(file, where=where.bind(bucket.schema.fields), **settings)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["zstd", "none", "snappy"])
@pytest.mark.parametrize("group", [ROWS, 300])
def test_the_rows_are_those_of_the_whole_row_group(made, version, codec, group):
    bucket, file, rows = put(compression=codec, data_page_version=version, row_group_size=group)
    for low, high in [(0, 0), (999, 999), (49, 50), (120, 180), (299, 301), (350, 360), (0, 140)]:
        found = read(bucket, file, (col("n") >= low) & (col("n") <= high), batch_rows=64)
        assert found == rows.slice(low, high - low + 1)
    assert (0, 50) in made
    assert None not in made


def test_only_the_pages_of_the_rows_are_decoded(made):
    bucket, file, rows = put()
    counts = ReadCounts()
    assert read(bucket, file, col("n") == 333, counts=counts) == rows.slice(333, 1)
    assert made == [(300, 350)]
    assert counts.columns["n"] == ROWS
    assert {counts.columns[name] for name in TYPES if name != "n"} == {50}


def test_hits_in_each_batch_copy_pages_a_few_times(made):
    bucket, file, rows = put()
    assert read(bucket, file, col("d") == "d1", batch_rows=20) == rows.filter(
        pa.array([n % 3 == 1 for n in range(ROWS)])
    )
    assert made == [(0, 50), (50, 150), (150, 350), (350, 750), (750, 1000)]


def test_too_many_bytes_are_decoded_as_a_whole(made, monkeypatch):
    bucket, file, rows = put()
    monkeypatch.setattr(near_rows, "MOST_BYTES", 10)
    assert read(bucket, file, col("n") == 333) == rows.slice(333, 1)
    assert made == [None]
    monkeypatch.undo()


def test_pages_that_begin_at_different_rows(made):
    long = columns()
    long["s"] = ["x" * (n % 100) * 9 for n in range(ROWS)]
    bucket, file, rows = put(values=long, data_page_size=4000, max_rows_per_page=ROWS)
    for n in (0, 333, 999):
        assert read(bucket, file, col("n") == n) == rows.slice(n, 1)
    assert None in made


@pytest.mark.parametrize(("kind", "value"), [("ARRAY<INT>", [1]), ("MAP<INT, INT>", [(1, 2)])])
def test_nested_columns_are_decoded_as_a_whole(made, kind, value):
    bucket, file, rows = put({"n": "INT", "v": kind}, {"n": range(500), "v": [value] * 500})
    assert read(bucket, file, col("n") == 333) == rows.slice(333, 1)
    assert made == [None]


def test_rows_with_members_that_are_not_repeated(made):
    values = {"n": range(500), "v": [None if n % 3 == 0 else {"f": n, "g": f"g{n}"} for n in range(500)]}
    bucket, file, rows = put({"n": "INT", "v": "ROW<f INT, g STRING>"}, values)
    for n in (333, 334):
        assert read(bucket, file, col("n") == n) == rows.slice(n, 1)
    assert made == [(300, 350)] * 2


def test_a_few_values_are_decoded_as_a_whole(made, monkeypatch):
    bucket, file, rows = put()
    monkeypatch.setattr(parquet_input, "FEW_VALUES", ROWS * (len(TYPES) - 1))
    assert read(bucket, file, col("n") == 333) == rows.slice(333, 1)
    assert made == []


def test_a_damaged_page_is_an_error_only_for_reads_of_its_rows():
    bucket, file, rows = put(compression="none")
    data = bytearray(STORAGE.read(bucket.path(file)))
    at = bytes(data).index(b"text-333")
    data[at + 5] ^= 1
    bad = bucket.put_bytes(bytes(data), ROWS, "bad.parquet")
    assert read(bucket, bad, col("n") == 444) == rows.slice(444, 1)
    with pytest.raises(CorruptTable, match=r"bad\.parquet"):
        read(bucket, bad, col("n") == 340)


def test_flipped_bytes_give_the_same_rows_or_an_error():
    bucket, file, rows = put()
    data = STORAGE.read(bucket.path(file))
    end = len(data) - pq.read_metadata(pa.BufferReader(data)).serialized_size
    errors = 0
    for at in range(4, end, 97):
        bad = bucket.put_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :], ROWS, "flipped.parquet")
        try:
            found = read(bucket, bad, (col("n") >= 333) & (col("n") <= 420))
        except CorruptTable:
            errors += 1
        else:
            assert found == rows.slice(333, 88)
    assert errors
