"""Reads that decode less return what a full scan returns, and decode what is said here."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from math import nan

import numpy as np
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.datafile.reading.read_counts import ReadCounts
from paimon_core.datafile.writing import rolling_writer
from paimon_core.predicate.row_mask import row_mask
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split

COLUMNS = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        ("i", pa.int32()),
        ("s", pa.string()),
        ("f", pa.float64()),
        ("d", pa.decimal128(10, 2)),
        ("big", pa.decimal128(25, 3)),
        ("t", pa.timestamp("us")),
        ("day", pa.date32()),
        ("b", pa.bool_()),
        ("x", pa.binary()),
    ]
)
LITERALS = {
    "k": [0, 17, 39, 40],
    "i": [-5, 0, 3, 7],
    "s": ["", "a", "a" * 20, "b7", "é"],
    "f": [0.0, -0.0, 1.5, nan, float("inf")],
    "d": [Decimal("0.00"), Decimal("1.25"), Decimal("-3.5")],
    "big": [Decimal("-1000000000000000000000.001"), Decimal(7)],
    "t": [dt.datetime(2024, 1, 1), dt.datetime(1969, 12, 31, 23)],
    "day": [dt.date(2024, 1, 3)],
    "b": [True, False],
    "x": [b"", b"\xff", b"\x01"],
}


def values(random, count, first=0):
    def some(options, nulls=0.2):
        return [None if random.random() < nulls else options[random.integers(len(options))] for _ in range(count)]

    # Rows of one row group resemble each other, so that statistics exclude some.
    near = int(random.integers(0, 3))
    return pa.table(
        {
            "k": range(first, first + count),
            "i": some([near, near + 3, -5]),
            "s": some(["a" * (19 + near), "b7", "é"][: near + 1]),
            "f": some([float(near), nan, -0.0, 1.5][near:]),
            "d": some([Decimal(near), Decimal("1.25"), Decimal("-3.5")]),
            "big": some([Decimal("-1000000000000000000000.001"), Decimal(near)]),
            "t": some([dt.datetime(2024, 1, 1 + near), dt.datetime(1969, 12, 31, 23)][: near + 1]),
            "day": some([dt.date(2024, 1, 1 + near)]),
            "b": some([bool(near)], nulls=0.5),
            "x": some([b"", b"\xff\x00", bytes([near])][near:]),
        },
        schema=COLUMNS,
    )


def a_test(random):
    name = list(LITERALS)[random.integers(len(LITERALS))]
    some = LITERALS[name]
    value = some[random.integers(len(some))]
    column = col(name)
    tests = [
        column == value,
        column != value,
        column < value,
        column <= value,
        column > value,
        column >= value,
        column.is_in(some[:2]),
        ~column.is_in(some[:2]),
        column.is_null(),
        column.is_not_null(),
    ]
    if name == "s":
        tests += [column.startswith("a"), ~column.startswith("a")]
    return tests[random.integers(len(tests))]


def a_filter(random):
    where = a_test(random)
    for _ in range(random.integers(3)):
        other = a_test(random)
        where = where & other if random.random() < 0.5 else where | other
    return ~where if random.random() < 0.2 else where


@pytest.fixture
def catalog(warehouse, monkeypatch):
    monkeypatch.setattr(rolling_writer, "ROW_GROUP_ROWS", 10)
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog


def ran(scan):
    """The keys that a scan returns, and what it decoded."""
    counts = ReadCounts()
    tables = [
        t for split in scan.splits() for t in read_split(scan.context, split, replace(scan.request, counts=counts))
    ]
    return [row for t in tables for row in t.to_pylist()], counts


@pytest.mark.parametrize(
    "options", [{}, {"metadata.stats-mode": "none"}, {"file.format": "orc"}, {"file.format": "avro"}]
)
def test_a_filter_loses_no_row_that_a_full_scan_finds(catalog, options):
    random = np.random.default_rng(7)
    table = catalog.create_table("db.t", COLUMNS, options=options)
    for part in range(3):
        table.write(pa.concat_tables([values(random, 10, 40 * part + at) for at in range(0, 40, 10)]))
    full = table.scan().to_arrow()
    for _ in range(25 if not options else 12):
        where = a_filter(random)
        expected = full.filter(where.bind(table.schema.fields).to_arrow())
        found = table.scan(["k", "s"], where=where)
        assert sorted(found.to_arrow()["k"].to_pylist()) == expected["k"].to_pylist(), where
        assert found.count() == len(expected), where
        mask = row_mask(where.bind(table.schema.fields), full)
        assert full["k"].filter(pa.array(mask)).equals(expected["k"]), where


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"merge-engine": "partial-update"},
        {"merge-engine": "aggregation", "fields.i.aggregate-function": "sum"},
        {"sequence.field": "i"},
        {"file-index.bloom-filter.columns": "s"},
    ],
)
def test_a_filter_of_a_merge_loses_no_row_and_shows_no_older_one(catalog, options):
    random = np.random.default_rng(8)
    options = {"bucket": "1", "write-only": "true", **options}
    table = catalog.create_table("db.t", COLUMNS, primary_key=["k"], options=options)
    for first in (0, 5, 18, 30):
        table.write(pa.concat_tables([values(random, 10, first + at) for at in range(0, 30, 10)]))
    full = table.scan().to_arrow()
    for _ in range(10):
        where = a_filter(random)
        if random.random() < 0.5:
            where = where & (col("k") >= int(random.integers(50)))
        expected = full.filter(where.bind(table.schema.fields).to_arrow())
        assert table.scan(where=where).to_arrow().sort_by("k").to_pylist().__repr__() == repr(expected.to_pylist()), (
            where
        )


def test_the_other_columns_are_decoded_only_where_a_row_matches(catalog):
    table = catalog.create_table("db.t", pa.schema([("k", pa.int64()), ("v", pa.int64()), ("w", pa.string())]))
    table.write(pa.table({"k": range(100), "v": [n % 10 for n in range(100)], "w": ["x"] * 100}))
    rows, counts = ran(table.scan(["w"], where=col("k") == 33))
    assert (rows, counts.row_groups, counts.row_groups_read) == ([{"w": "x"}], 10, 1)
    assert counts.columns == {"k": 10, "w": 10}, "statistics leave out the other row groups"
    rows, counts = ran(table.scan(["w"], where=(col("v") == 3) & col("k").is_in([3, 88])))
    assert (rows, counts.columns) == ([{"w": "x"}], {"k": 20, "v": 20, "w": 10}), "88 has another v"


def test_a_merge_decodes_keys_asked_columns_and_what_decides(catalog):
    columns = pa.schema([pa.field("k", pa.int64(), nullable=False), *((name, pa.int64()) for name in "abg")])
    options = {"bucket": "1", "write-only": "true"}
    grouped = {"merge-engine": "partial-update", "fields.g.sequence-group": "a", **options}
    for name, more, asked in (
        ("plain", options, {"k", "a", "_SEQUENCE_NUMBER"}),
        ("grouped", grouped, {"k", "a", "g"}),
    ):
        table = catalog.create_table(f"db.{name}", columns, primary_key=["k"], options=more)
        for n in range(2):
            table.write(pa.table({"k": range(100), "a": [n] * 100, "b": [n] * 100, "g": [n] * 100}))
        rows, counts = ran(table.scan(["a"]))
        assert rows == [{"a": 1}] * 100
        assert set(counts.columns) - {"_SEQUENCE_NUMBER", "_VALUE_KIND"} == asked - {"_SEQUENCE_NUMBER"}
        rows, counts = ran(table.scan(["a"], where=col("k") == 41))
        assert (rows, counts.columns["a"], counts.row_groups_read) == ([{"a": 1}], 20, 2), "filtered below the merge"


def test_a_limit_reads_more_than_the_wanted_rows_at_once_where_rows_are_deleted(catalog):
    table = catalog.create_table("db.t", {"k": "BIGINT"}, options={"deletion-vectors.enabled": "true"})
    table.write(pa.table({"k": range(1000)}))
    one = ReadRequest(["k"], limit=1)
    assert len(next(read_split(table.context, table.scan().splits()[0], one))) == 1
    table.delete(where=col("k") < 200)
    (split,) = table.scan().splits()
    assert split.vectors
    assert len(next(read_split(table.context, split, one))) > 1, "thousands of rows may be deleted"
