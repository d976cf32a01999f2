"""Small splits are read together: the rows, their order and the errors are those of reads of single splits."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import CorruptTable
from paimon_core.query import planned_rows
from paimon_core.read import bucket_reader, small_splits
from paimon_core.read.request import ReadRequest
from paimon_core.storage.fsspec_storage import FsspecStorage

KEYED = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        ("n", pa.int64()),
        ("s", pa.string()),
        ("f", pa.float64()),
    ]
)
ENGINES = {
    "deduplicate": {},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.n.aggregate-function": "sum",
        "fields.s.aggregate-function": "max",
        "fields.f.aggregate-function": "min",
    },
    "sequence.field": {"sequence.field": "n"},
    "deletes": {"changelog-producer": "none"},
}


def rows(number, count=120, partitions=9):
    chance = np.random.default_rng(number)
    keys = chance.permutation(count * 2)[:count]
    texts = [None if n % 7 == 0 else f"text {n}" for n in keys.tolist()]
    values = [[f"p{n % partitions}" for n in keys.tolist()], keys, chance.integers(0, 50, count), texts]
    return pa.table([*map(pa.array, values), pa.array(chance.random(count))], schema=KEYED)


def keyed(folder, options, **written):
    catalog = paimon.open_catalog(folder)
    catalog.create_database("db")
    table = catalog.create_table(
        "db.t",
        KEYED,
        primary_key=["p", "k"],
        partition_by=["p"],
        options={"bucket": "1", "write-only": "true"} | options,
    )
    for number in range(3):
        table.write(rows(number, **written))
    return table


def alone(scan):
    return pa.concat_tables([scan.schema.empty_table(), *(scan.read(split).read_all() for split in scan.splits())])


def joined(scan, tables):
    return pa.concat_tables([pa.Table.from_arrays(table.columns, schema=scan.schema) for table in tables])


def groups_of(scan):
    return small_splits.groups_of_splits(scan.context, scan.plan.splits, scan.request)


FILTERS = {
    "all": None,
    "value": col("n") < 25,
    "key": col("k") > 100,
    "partition": col("p") == "p3",
    "partition or value": (col("p") == "p3") | (col("n") == 7),
    "three": (col("p") >= "p2") & (col("k") > 20) & (col("f") < 0.5),
    "none": col("n") > 1000,
}


@pytest.mark.parametrize("engine", list(ENGINES))
def test_merged_rows_are_those_of_single_splits(tmp_path, engine):
    table = keyed(tmp_path, ENGINES[engine])
    if engine == "deletes":
        table.delete(col("n") < 20)
    assert max(map(len, groups_of(table.scan()))) > 2
    asked = [(None, where) for where in FILTERS.values()]
    asked += [(columns, FILTERS["three"]) for columns in (["s"], ["p", "f"], ["f", "k", "p"], ["k"])]
    if engine != "deduplicate":
        asked = asked[::4]
    for columns, where in asked:
        scan = table.scan(columns, where=where)
        assert scan.to_arrow().equals(alone(scan)), (where, columns)


@pytest.mark.parametrize("indexed", [False, True])
def test_rows_of_files_are_those_of_single_splits(tmp_path, indexed):
    catalog = paimon.open_catalog(tmp_path)
    catalog.create_database("db")
    days = pa.schema([("day", pa.date32()), ("at", pa.timestamp("ms")), *list(KEYED)[2:]])
    options = {"file-index.bloom-filter.columns": "s"} if indexed else {}
    table = catalog.create_table("db.t", days, partition_by=["day", "at"], options=options)
    for number in range(2):
        some = rows(number)
        day = [dt.date(2024, 1, 1 + n % 5) if n % 6 else None for n in some["k"].to_pylist()]
        at = [dt.datetime(2024, 1, 1, n % 3) for n in some["k"].to_pylist()]
        table.write(pa.table([pa.array(day), pa.array(at, pa.timestamp("ms")), *some.columns[2:]], schema=days))
    table.delete(col("n") == 3)
    assert max(map(len, groups_of(table.scan()))) > 2
    wheres = [None, col("s") == "text 8", col("day") == dt.date(2024, 1, 2), (col("n") < 5) | col("day").is_null()]
    for where in wheres:
        for columns in (None, ["at", "f", "day"], ["day"]):
            scan = table.scan(columns, where=where)
            assert scan.to_arrow().equals(alone(scan)), (where, columns)


def test_rows_that_exceed_the_bounds_are_returned_in_several_tables(tmp_path, monkeypatch):
    table = keyed(tmp_path, {})
    scan = table.scan()
    expected = alone(scan)
    whole = len(list(small_splits.read_together(scan.context, scan.plan.splits, scan.request)))
    assert whole == 1
    monkeypatch.setattr(small_splits, "HELD_BYTES", 2000)
    tables = list(small_splits.read_together(scan.context, scan.plan.splits, scan.request))
    assert len(tables) > 3
    assert joined(scan, tables).equals(expected)
    sizes = [sum(column.nbytes for column in table.columns) for table in tables]
    assert max(sizes) <= 2000 + 64 * len(KEYED)  # buffers are padded
    monkeypatch.setattr(small_splits, "_SECTION_BYTES", 100)  # no section is held
    tables = list(small_splits.read_together(scan.context, scan.plan.splits, scan.request))
    assert joined(scan, tables).equals(expected)
    assert len(tables) == len(scan.plan.splits)


def test_files_that_a_store_opens_in_memory_are_read_after_they_are_closed(tmp_path, monkeypatch):
    table = keyed(tmp_path, {})
    expected = table.scan().to_arrow()
    # object stores open a small file like this: with all its bytes
    monkeypatch.setattr(FsspecStorage, "open_input", lambda self, path: pa.BufferReader(self.read(path)))
    opened = []
    small = bucket_reader.opened_together
    monkeypatch.setattr(bucket_reader, "opened_together", lambda files: opened.extend(files) or small(files))
    scan = table.scan()
    assert max(map(len, groups_of(scan))) > 2
    assert scan.to_arrow().equals(expected)
    assert opened


def test_groups_start_with_one_split_and_grow(tmp_path):
    scan = keyed(tmp_path, {}, partitions=20, count=60).scan()
    sizes = list(map(len, groups_of(scan)))
    assert sizes[:4] == [1, 2, 4, 8]
    assert sum(sizes) == len(scan.plan.splits)
    few = small_splits.groups_of_splits(scan.context, scan.plan.splits, scan.request, 3)
    assert max(map(len, few)) == 3


def test_a_split_is_alone_if_it_is_large_or_the_request_needs_it(tmp_path, monkeypatch):
    scan = keyed(tmp_path, {}).scan()
    splits = scan.plan.splits
    for request in (
        ReadRequest(scan.columns, limit=5),
        ReadRequest(["p"]),
        ReadRequest([*scan.columns, "__paimon_bucket"]),
        ReadRequest(scan.columns, position="at"),
    ):
        assert set(map(len, small_splits.groups_of_splits(scan.context, splits, request))) == {1}
    monkeypatch.setattr(small_splits, "_VALUES", 10)
    assert set(map(len, groups_of(scan))) == {1}


def test_a_damaged_file_is_named_after_the_rows_before_it(tmp_path):
    scan = keyed(tmp_path, {}).scan()
    splits = scan.plan.splits
    broken = splits[5]
    path = Path(scan.context.file_path(broken.partition, broken.bucket, broken.files[0]))
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0xFF
    path.write_bytes(data)
    found = []
    with pytest.raises(CorruptTable) as caught:
        found.extend(small_splits.read_together(scan.context, splits, scan.request))
    assert caught.value.facts["path"] == str(path)
    assert "scan.ignore-corrupt-files" in str(caught.value)
    assert joined(scan, found).equals(pa.concat_tables([scan.read(s).read_all() for s in splits[:5]]))
    with pytest.raises(CorruptTable, match=path.name):
        scan.to_arrow()
    os.remove(path)
    with pytest.raises(CorruptTable, match=rf"{path.name} is missing.*scan.ignore-lost-files"):
        scan.to_arrow()
    ignoring = paimon.open_catalog(tmp_path).table("db.t").with_options({"scan.ignore-lost-files": "true"})
    kept = ignoring.scan()
    assert kept.to_arrow().equals(alone(ignoring.scan()))
    assert kept.ignored_files == (str(path),)


def test_an_unsorted_run_is_named(tmp_path):
    scan = keyed(tmp_path, {}).scan()
    split = scan.plan.splits[4]
    file = split.files[1]
    path = Path(scan.context.file_path(split.partition, split.bucket, file))
    some = pq.read_table(path)
    size = path.stat().st_size
    pq.write_table(some.take(list(range(len(some)))[::-1]), path, compression="zstd")
    entry = path.stat().st_size
    object.__setattr__(file, "file_size", entry)
    assert entry != size
    found = []
    with pytest.raises(CorruptTable, match="is not sorted by k") as caught:
        found.extend(small_splits.read_together(scan.context, scan.plan.splits, scan.request))
    assert caught.value.facts["path"] == str(path)
    assert sum(map(len, found)) == sum(len(scan.read(s).read_all()) for s in scan.plan.splits[:4])


def test_few_values_are_read_by_one_thread_on_the_local_disk(tmp_path, monkeypatch):
    used = []

    def recording(read, items, *, threads, **others):
        used.append(threads)
        return planned(read, items, threads=threads, **others)

    planned = planned_rows.parallel_batches
    monkeypatch.setattr(planned_rows, "parallel_batches", recording)
    monkeypatch.setattr("paimon_core.processors.usable", lambda: 4)
    table = keyed(tmp_path, {})
    table.scan().to_arrow()
    table.scan().to_batches(threads=2).read_all()
    monkeypatch.setattr(small_splits, "_FILE_VALUES", 1)
    table.scan().to_arrow()
    assert used == [1, 2, 4]
