"""Health on an object store: the requests that it makes, and the requests of a scan that it estimates."""

import random
from collections import Counter

import numpy as np
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


def random_table(catalog, seed):
    """Create a table of random rows, keys, partitions, format, commits and compactions; return its name."""
    chosen, numbers = random.Random(seed), np.random.default_rng(seed)
    is_keyed, partitions = chosen.random() < 0.5, chosen.choice([0, 0, 1, 4])
    columns, rows = chosen.choice([1, 8]), chosen.choice([20, 2_000, 20_000, 30_000])
    options = {"write-only": "true", "file.format": chosen.choice(["parquet", "parquet", "parquet", "orc", "avro"])}
    if is_keyed or chosen.random() < 0.3:
        options["bucket"] = str(chosen.choice([1, 2]))
    if is_keyed and chosen.random() < 0.2:
        options["deletion-vectors.enabled"] = "true"
    if not is_keyed and "bucket" in options:
        options["bucket-key"] = "id"
    parts = ["day"] if partitions else []
    kinds = [("id", pa.int64()), ("day", pa.int32())] + [(f"c{n}", pa.float64()) for n in range(columns)]
    table = catalog.create_table(
        f"db.t{seed}",
        pa.schema(kinds),
        primary_key=["id", *parts] if is_keyed else [],
        partition_by=parts,
        options=options,
    )
    for _ in range(chosen.choice([1, 2, 4])):
        ids, days = numbers.integers(0, 10**6, rows), numbers.integers(0, max(1, partitions), rows)
        values = [pa.array(numbers.random(rows)) for _ in range(columns)]
        table.write(pa.table([pa.array(ids), pa.array(days, pa.int32()), *values], schema=pa.schema(kinds)))
    if chosen.random() < 0.4:
        table.compact(full=True)
    return f"db.t{seed}"


@pytest.mark.parametrize("seed", [4, 6, *(pytest.param(n, marks=pytest.mark.long) for n in range(100, 118))])
def test_the_requests_of_a_scan_are_as_estimated(lake, seed):
    proxy, opened = lake
    name = random_table(opened(), seed)
    estimate = opened().table(name).health().measures["scan_requests"]
    catalog = opened()
    proxy.requests.clear()
    catalog.table(name).scan().to_arrow()
    asked = [request for request in proxy.requests if f"/{name.removeprefix('db.')}/" in request.key]
    assert estimate == pytest.approx(len(asked), rel=0.25), f"{len(asked)} requests"
