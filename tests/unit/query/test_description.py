"""Scans with each source of rows: sent to another process they return the same rows, and say what they read."""

from __future__ import annotations

import pickle

import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import UnsupportedFeature
from paimon_core.query.description import ScanDescription

BETWEEN = {"incremental-between": "1,2"}
OPTIONS = {
    "one snapshot": {},
    "two branches": {"scan.fallback-branch": "other"},
    "written rows": BETWEEN,
    "a difference": BETWEEN | {"incremental-between-scan-mode": "diff"},
}
EXPECTED = {"one snapshot": [1, 2, 3], "two branches": [1, 2, 3, 4], "written rows": [2, 3], "a difference": [2, 3]}
NO_SPLITS = ("two branches", "a difference")


@pytest.fixture
def table(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", {"p": "STRING", "k": "INT"}, partition_by=["p"])
    table.branches.create("other")
    table.branch("other").write([{"p": "b", "k": 4}])
    table.write([{"p": "a", "k": 1}])
    table.write([{"p": "a", "k": 2}, {"p": "a", "k": 3}])
    return table


def keys(scan):
    return sorted(scan.to_arrow()["k"].to_pylist())


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_scan_can_be_sent_and_narrowed(table, kind):
    scan = table.with_options(OPTIONS[kind]).scan(["k", "p"])
    assert isinstance(scan, ScanDescription)
    assert keys(scan) == EXPECTED[kind]
    sent = pickle.loads(pickle.dumps(scan))  # noqa: S301
    assert keys(sent) == EXPECTED[kind]
    assert sent.count() == len(EXPECTED[kind])
    some = sent.narrowed(["k"], col("k") > 2, 1)
    assert some.schema.names == ["k"]
    assert some.to_arrow()["k"].to_pylist()[0] > 2
    assert some.count() == 1


@pytest.mark.parametrize("kind", OPTIONS)
def test_only_rows_of_a_plan_have_splits(table, kind):
    scan = table.with_options(OPTIONS[kind]).scan()
    if kind not in NO_SPLITS:
        assert sum(scan.read(split).read_all().num_rows for split in scan.splits()) == len(EXPECTED[kind])
        assert scan.max("k") == 3
        assert scan.count_by_partition()["record_count"].to_pylist() == [len(EXPECTED[kind])]
        return
    for needs_splits in (scan.splits, lambda: scan.max("k"), lambda: scan.top(1, by="k")):
        with pytest.raises(UnsupportedFeature, match="has no splits"):
            needs_splits()


def test_a_count_with_a_filter_on_metadata_columns_reads_the_plan_of_the_scan(table):
    scan = table.scan(["k"], col("__paimon_bucket") == 0)
    assert len(scan.plan.splits) == 1
    table.write([{"p": "a", "k": 5}])
    assert scan.count() == len(scan.to_arrow()) == 3
