"""Batches that tasks join, and payloads that are sent with one function, without Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

from paimon_core.spark.reads import split_tasks
from paimon_core.spark.reads.split_tasks import joined


@pytest.mark.parametrize(
    ("limits", "sizes", "found"),
    [
        ((100, 1 << 20), [], []),
        ((100, 1 << 20), [30, 30, 30, 30], [90, 30]),
        ((100, 1 << 20), [250, 1], [250, 1]),
        ((1000, 800), [50, 50, 50], [100, 50]),
    ],
)
def test_small_tables_become_batches_within_the_limits(monkeypatch, limits, sizes, found):
    monkeypatch.setattr(split_tasks, "_BATCH_ROWS", limits[0])
    monkeypatch.setattr(split_tasks, "_BATCH_BYTES", limits[1])
    tables = [pa.table({"n": pa.array(range(size), pa.int64())}) for size in sizes]
    batches = list(joined(iter(tables)))
    assert [len(batch) for batch in batches] == found
    values = [value for batch in batches for value in batch.column(0).to_pylist()]
    assert values == [value for table in tables for value in table.column(0).to_pylist()]


def test_payloads_that_are_sent_together_are_within_the_limit(monkeypatch):
    monkeypatch.setattr(split_tasks, "_PAYLOAD_BYTES", 10)
    payloads = [b"1234", b"5678", b"12345678901", b"x"]
    groups = list(split_tasks._within_bytes([[0, 1], [2], [3]], payloads))
    assert groups == [[[0, 1]], [[2]], [[3]]]
    assert list(split_tasks._within_bytes([[0], [1], [3]], payloads)) == [[[0], [1], [3]]]
