"""Windows that are read ahead: the same rows and the same files as one thread makes."""

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.compact.compactor import run_tasks
from paimon_core.compact.planning import plan
from paimon_core.errors import CorruptTable

ROWS = 150_000  # more than one window
SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])


@pytest.fixture
def table(tmp_path):
    catalog = paimon.open_catalog(str(tmp_path))
    catalog.create_database("db")
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    for step in (1, 2):
        keys = pa.array(np.arange(0, ROWS * step, step))
        table.write(pa.table([keys, keys.cast(pa.string())], schema=SCHEMA))
    return table


def ahead():
    return [t for t in threading.enumerate() if t.name == "paimon-ahead"]


def file_rows(table):
    (message,) = run_tasks(table.context, plan(table.context, full=True))
    return [(f.row_count, f.min_key, f.max_key, f.file_size) for f in message.compact_after]


def test_rows_and_files_are_those_of_one_thread(table, monkeypatch):
    started = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda t: (started.append(t.name), start(t))[1])
    monkeypatch.setattr("paimon_core.processors.usable", lambda: 1)
    rows, files = table.scan().to_arrow(), file_rows(table)
    assert "paimon-ahead" not in started
    monkeypatch.setattr("paimon_core.processors.usable", lambda: 2)
    assert table.scan().to_arrow() == rows
    assert started.count("paimon-ahead") == 1  # decode, merge
    assert file_rows(table) == files
    assert started.count("paimon-ahead") == 3  # decode, merge, encode
    assert not ahead()


def test_a_read_that_stops_early_leaves_no_thread(table, monkeypatch):
    monkeypatch.setattr("paimon_core.processors.usable", lambda: 2)
    batches = table.scan().to_batches()
    next(iter(batches))
    del batches
    assert not ahead()


def test_a_damaged_file_is_named(table, monkeypatch):
    monkeypatch.setattr("paimon_core.processors.usable", lambda: 2)
    (split,) = table.scan().plan.splits
    path = table.context.file_path(split.partition, split.bucket, split.files[0])
    data = bytearray(Path(path).read_bytes())
    data[len(data) // 2] ^= 255
    Path(path).write_bytes(data)
    with pytest.raises(CorruptTable, match=split.files[0].file_name):
        table.scan().to_arrow()
    assert not ahead()
