"""Reads of a file with several large columns on an object store: how many requests, and how often each byte."""

import numpy as np
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.storage.object_stores.remote_file import AHEAD_BYTES
from tests.support.s3_proxy import s3_proxy

MIB = 1 << 20


@pytest.mark.parametrize(("columns", "rows"), [(4, 220_000), pytest.param(24, 40_000, marks=pytest.mark.long)])
def test_each_byte_is_requested_once_and_in_few_requests(s3, s3_endpoint, columns, rows):
    numbers = np.random.default_rng(columns)
    data = pa.table({f"c{n}": numbers.random(rows) for n in range(columns)})
    with s3_proxy(s3_endpoint) as proxy:
        options = {**s3.options, "s3.endpoint": proxy.endpoint}
        catalog = paimon.open_catalog(s3.url, storage=options)
        catalog.create_database("db")
        catalog.create_table("db.t", data.schema).write(data)
        table = paimon.open_catalog(s3.url, storage=options).table("db.t")
        proxy.ranges.clear()
        assert table.scan().to_arrow().equals(data)
        read = [(start, end) for key, start, end in proxy.ranges if "/bucket-" in key]
        size = max(end for _, end in read)
        assert size > 6 * MIB
        assert sum(end - start for start, end in read) < 1.01 * size
        assert len(read) <= 1 + columns + size / AHEAD_BYTES
        proxy.ranges.clear()
        assert table.scan(columns=["c3"]).to_arrow().equals(data.select(["c3"]))
        read = [(start, end) for key, start, end in proxy.ranges if "/bucket-" in key]
        assert sum(end - start for start, end in read) < size / columns + 2 * AHEAD_BYTES
