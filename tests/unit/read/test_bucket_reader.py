import threading
import time

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.datafile.reading.read_counts import ReadCounts
from paimon_core.read import bucket_reader
from paimon_core.read.bucket_reader import WINDOW_ROWS, _rows_of_run
from paimon_core.read.request import ReadRequest
from paimon_core.read.row_reader import read_rows
from paimon_core.schema import DataField
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.types import parse_type

ROWS = 70_000
"""Enough rows for repeated texts to be decoded as dictionaries."""

COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("city", pa.string())])


def rows(first, city):
    ids = range(first, first + ROWS)
    return pa.table({"id": ids, "city": [None if n % 5 == 0 else f"{city}{n % 3}" for n in ids]})


@pytest.mark.parametrize("options", [{}, {"sequence.field": "city"}])
def test_texts_that_repeat_are_merged_whether_they_decide_or_not(warehouse, options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"bucket": "1", "write-only": "true", **options}
    table = catalog.create_table("db.t", COLUMNS, primary_key=["id"], options=options)
    old, new = rows(0, "a"), rows(ROWS // 2, "b")
    for batch in (old, new, new.slice(1, 1)):
        table.write(batch)
    expected = pa.concat_tables([old.slice(0, ROWS // 2), new]).cast(COLUMNS)
    assert table.scan().to_arrow().sort_by("id").equals(expected)
    table.compact(full=True)
    assert table.scan().to_arrow().equals(expected)


@pytest.mark.parametrize(("counts", "most"), [(None, 3), (ReadCounts(), 1)])
def test_a_read_that_counts_reads_its_runs_in_one_thread(warehouse, monkeypatch, counts, most):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", COLUMNS, primary_key=["id"], options={"bucket": "1", "write-only": "true"})
    for city in "abc":
        table.write(rows(0, city).slice(0, 10))
    threads, together, read = set(), threading.Barrier(most), bucket_reader.read_batches

    def noted(*args, **named):
        threads.add(threading.get_ident())
        together.wait(5)
        time.sleep(0.05)  # another thread would take the next run
        yield from read(*args, **named)

    monkeypatch.setattr(bucket_reader, "read_batches", noted)
    monkeypatch.setattr(FsspecStorage, "is_remote", True)
    (split,) = table.scan().plan.splits
    found = list(read_rows(table.context, split, ReadRequest(["id", "city"], counts=counts)))
    assert sum(map(len, found)) == 10
    assert len(threads) == most


@pytest.mark.parametrize(
    ("types", "rows"),
    [
        (["INT", "DECIMAL(20, 3)", "BOOLEAN"], 4 * WINDOW_ROWS),
        (["INT", "STRING"], WINDOW_ROWS),
    ],
)
def test_only_columns_of_known_width_are_read_in_large_windows(types, rows):
    assert _rows_of_run([DataField(n, f"c{n}", parse_type(t)) for n, t in enumerate(types)]) == rows
