"""The splits of one task, without Spark: how often the table is opened, and how many readings the task makes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimon_core import col, open_catalog
from paimon_core.errors import CorruptTable
from paimon_core.spark.reads import reader as module
from paimon_core.spark.reads.reader import SplitReader
from paimon_core.spark.reference import TableReference

SCHEMA = pa.schema([("p", pa.int64()), ("id", pa.int64()), ("v", pa.string())])


@pytest.fixture
def table(warehouse):
    """A table of 20 partitions of 2 buckets, each with two runs."""
    catalog = open_catalog(warehouse)
    catalog.create_database("d")
    options = {"bucket": "2", "write-only": "true"}
    table = catalog.create_table("d.t", SCHEMA, primary_key=["p", "id"], partition_by=["p"], options=options)
    for at in range(2):
        table.write([{"p": n % 20, "id": n, "v": f"{at}-{n}"} for n in range(120)])
    return table


@pytest.fixture
def readings(monkeypatch):
    """The number of splits of each reading of a task."""
    found, alone, together = [], module.read_rows, module.read_together
    monkeypatch.setattr(module, "read_rows", lambda *some: found.append(1) or alone(*some))
    monkeypatch.setattr(module, "read_together", lambda c, group, r: found.append(len(group)) or together(c, group, r))
    return found


def reader_of(scan):
    return SplitReader(TableReference.of(scan.context), list(scan.columns), scan.where, scan.schema)


def rows_of(tables):
    return [row for rows in tables for row in rows.to_pylist()]


def test_the_splits_of_one_task_are_read_from_one_opened_table(table, monkeypatch):
    opened, real = [], TableReference.open
    monkeypatch.setattr(TableReference, "open", lambda one: opened.append(one) or real(one))
    splits = [split.to_bytes() for split in table.scan().splits()]
    assert sorted(row["id"] for row in rows_of(reader_of(table.scan())(splits))) == list(range(120))
    assert len(splits) > 30
    assert len(opened) == 1


@pytest.mark.parametrize("where", [None, (col("id") >= 50) & (col("p") != 7), col("v") == "1-33"])
def test_small_splits_of_a_task_are_read_together_in_their_order(table, readings, where):
    scan = table.scan(["v", "p", "id"], where)
    splits = scan.splits()
    tables = list(reader_of(scan)([split.to_bytes() for split in splits]))
    assert rows_of(tables) == [row for split in splits for row in scan.read(split).read_all().to_pylist()]
    assert readings == [len(splits)]


def test_metadata_columns_are_read_split_by_split(table, readings):
    scan = table.scan(["id", "_SEQUENCE_NUMBER"])
    splits = scan.splits()
    found = rows_of(reader_of(scan)([split.to_bytes() for split in splits]))
    assert found == [row for split in splits for row in scan.read(split).read_all().to_pylist()]
    assert readings == [1] * len(splits)


def test_rows_before_a_damaged_file_are_returned_before_its_error(table):
    scan = table.scan()
    splits = scan.splits()
    bad = splits[30]
    path = scan.context.file_path(bad.partition, bad.bucket, bad.files[0])
    Path(path).unlink()
    found, tables = [], reader_of(scan)([split.to_bytes() for split in splits])
    with pytest.raises(CorruptTable, match=bad.files[0].file_name):
        found.extend(row for rows in tables for row in rows.to_pylist())
    assert found == [row for split in splits[:30] for row in scan.read(split).read_all().to_pylist()]
