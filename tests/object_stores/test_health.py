"""Health on an object store: the requests that it makes, and the requests of a scan that it estimates."""

from collections import Counter

import pyarrow as pa
import pytest

import paimon_core as paimon
from tests.support.s3_proxy import s3_proxy

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])


@pytest.fixture
def lake(s3, s3_endpoint):
    """Return (the proxy, a function that opens the catalog through it with an empty cache)."""
    with s3_proxy(s3_endpoint) as proxy:
        options = {**s3.options, "s3.endpoint": proxy.endpoint}
        paimon.open_catalog(s3.url, storage=options).create_database("db")
        yield proxy, lambda: paimon.open_catalog(s3.url, storage=options)


def rows(first, count):
    return pa.table([pa.array(range(first, first + count), pa.int64()), ["a"] * count], schema=SCHEMA)


@pytest.mark.parametrize("buckets", ["1", "-2"])
def test_health_reads_each_manifest_list_and_manifest_once(lake, buckets):
    proxy, opened = lake
    options = {"bucket": buckets, "write-only": "true", "deletion-vectors.enabled": "true"}
    table = opened().create_table("db.t", SCHEMA, primary_key=["id"], options=options)
    for n in range(3):
        table.write(rows(5 * n, 10))
    table.compact()
    table.tags.create("a")
    table.branches.create("b", tag="a")
    table = opened().table("db.t")
    proxy.requests.clear()
    measures = table.health().measures
    assert (measures["branches"], measures["tags"]) == (1, 1)
    read = Counter(r.key.rpartition("/")[2] for r in proxy.requests if "/manifest/" in r.key)
    lists = sum(name.startswith("manifest-list-") for name in read)
    assert lists >= 5, "two of the latest version, two of the first snapshot, and the deltas between"
    assert set(read.values()) == {1}
