"""Scans of two branches: each partition comes from the first branch that has it."""

from __future__ import annotations

from pathlib import Path

import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import BranchNotFound, InvalidRequest, SchemaMismatch, SnapshotNotFound, UnsupportedFeature

FALLBACK, PRIMARY = "scan.fallback-branch", "scan.primary-branch"


@pytest.fixture
def table(warehouse):
    """main has partitions a and b, branch other b and c; the branch was made from an empty table."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    columns = {"p": "STRING", "k": "INT", "v": "STRING"}
    found = catalog.create_table("db.t", columns, partition_by=["p"], options={"bucket": -1})
    found.branches.create("other")
    found.branch("other").write([{"p": p, "k": k, "v": "other"} for p in "bc" for k in (1, 2)])
    found.write([{"p": p, "k": k, "v": "main"} for p in "ab" for k in (1, 2, 3)])
    return found


def parts(scan):
    return sorted({(r["p"], r["v"]) for r in scan.to_arrow().to_pylist()})


def test_a_partition_is_read_from_the_first_branch_that_has_it(table):
    fallback, primary = (table.with_options({option: "other"}) for option in (FALLBACK, PRIMARY))
    assert parts(fallback.scan()) == [("a", "main"), ("b", "main"), ("c", "other")]
    assert parts(primary.scan()) == [("a", "main"), ("b", "other"), ("c", "other")]
    assert (fallback.scan().count(), primary.scan().count()) == (8, 7)
    assert parts(fallback.branch("other").scan()) == [("b", "other"), ("c", "other")]


def test_filters_columns_and_limits(table):
    table = table.with_options({FALLBACK: "other"})
    assert table.scan(["k"], where=col("p") == "c").to_arrow().to_pydict() == {"k": [1, 2]}
    # Partition b exists in main, so that no row of the other branch appears, whatever the filter is.
    assert len(table.scan(where=(col("p") == "b") & (col("v") == "other")).to_arrow()) == 0
    assert len(table.scan(limit=7).to_arrow()) == 7
    assert table.scan(limit=7).count() == 7
    assert len(table.scan(limit=0).to_arrow()) == 0
    assert table.scan().to_lazy().select("v", "p").collect().height == 8
    assert len(table.scan().narrowed(["v"], col("k") == 3).to_arrow()) == 2
    found = {r["p"]: r["record_count"] for r in table.scan().count_by_partition().to_pylist()}
    assert found == {"a": 3, "b": 3, "c": 2}
    assert len(table.scan().explain()) == 2


def test_damaged_files_of_both_branches_are_told(table):
    files = [str(path) for path in sorted(Path(table.location).rglob("data-*")) if {"p=a", "p=c"} & set(path.parts)]
    for path in files:
        Path(path).unlink()
    asked = table.with_options({FALLBACK: "other", "scan.ignore-lost-files": "true"})
    for scan in (asked.scan(), asked.scan().narrowed(["v"])):
        assert parts(asked.scan()) == [("b", "main")]
        assert len(scan.to_arrow()) == 3
        assert sorted(scan.ignored_files) == files


def test_time_travel_reads_both_branches_as_of_then(table):
    fallback = table.with_options({FALLBACK: "other"})
    table.branch("other").write([{"p": "d", "k": 1, "v": "later"}])
    assert ("d", "later") in parts(fallback.scan())
    assert ("d", "later") not in parts(fallback.at(snapshot=1).scan())
    with pytest.raises(SnapshotNotFound):
        fallback.at(snapshot=9)


def test_a_key_in_one_branch_only(warehouse, table):
    """The branches may have other options; a partition is merged as its own branch says."""
    catalog = paimon.open_catalog(warehouse)
    keyed = catalog.create_table(
        "db.k",
        {"p": "STRING", "k": "INT", "v": "STRING"},
        primary_key=["p", "k"],
        partition_by=["p"],
        options={"bucket": 1},
    )
    keyed.branches.create("other")
    for v in ("old", "new"):
        keyed.branch("other").write([{"p": "a", "k": 1, "v": v}])
    keyed.write([{"p": "b", "k": 1, "v": "main"}])
    assert parts(keyed.with_options({FALLBACK: "other"}).scan()) == [("a", "new"), ("b", "main")]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({FALLBACK: "nowhere"}, BranchNotFound, r"scan\.fallback-branch of table db\.t"),
        ({FALLBACK: "other", PRIMARY: "other"}, InvalidRequest, "exclude each other"),
        ({FALLBACK: "other", "scan.file-creation-time-millis": 1}, UnsupportedFeature, "creation time"),
        ({FALLBACK: "other", "incremental-between": "0,1"}, UnsupportedFeature, "only a scan"),
    ],
)
def test_scans_that_are_refused(table, options, error, message):
    with pytest.raises(error, match=message):
        table.with_options(options).scan()


def test_what_reads_one_branch_refuses_the_option(table):
    fallback = table.with_options({FALLBACK: "other"})
    calls = (
        fallback.stream,
        fallback.changes,
        lambda: fallback.diff(0, 1),
        fallback.reading,
        lambda: fallback.scan().splits(),
        lambda: fallback.write([{"p": "a", "k": 1, "v": "x"}]),
        lambda: fallback.delete(col("k") == 1),
        fallback.compact,
    )
    for call in calls:
        with pytest.raises(UnsupportedFeature, match=r"scan\.fallback-branch|has no splits"):
            call()
    with pytest.raises(UnsupportedFeature, match="cannot be stored"):
        table.alter("SET ('scan.fallback-branch' = 'other')")
    assert table.scan().count() == 6
    assert len(list(fallback.with_options({FALLBACK: ""}).changes().to_arrow())) == 4


def test_branches_with_other_columns_are_refused(table):
    table.branch("other").alter("ADD COLUMN w INT")
    with pytest.raises(SchemaMismatch, match="other columns"):
        table.with_options({FALLBACK: "other"}).scan()
