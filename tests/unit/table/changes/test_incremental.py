"""Scans under the options incremental-*: ranges, automatic tags, splits, and what is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import InvalidOption, InvalidRequest, SnapshotNotFound, UnsupportedFeature

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])


@pytest.fixture
def table(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    table = catalog.create_table("db.t", SCHEMA, primary_key=["k"], options={"bucket": "1", "write-only": "true"})
    for keys, value in (([1, 2], "a"), ([2, 3], "b"), ([3], "c")):
        table.write(pa.table([keys, [value] * len(keys)], schema=SCHEMA))
    for name, snapshot in (("2024-01-01", 1), ("2024-01-03", 3), ("other", 2)):
        table.tags.create(name, snapshot=snapshot)
    return table


def scanned(table, **query):
    options = {key: query.pop(key) for key in list(query) if "-" in key}
    return [tuple(r.values()) for r in table.with_options(options).scan(**query).to_arrow().to_pylist()]


def test_a_scan_returns_the_rows_of_the_range(table):
    assert scanned(table, **{"incremental-between": "1,3"}) == [(2, "b"), (3, "b"), (3, "c")]
    assert scanned(table, **{"incremental-between": "2024-01-01,other"}) == [(2, "b"), (3, "b")]
    diff = {"incremental-between": "1,3", "incremental-between-scan-mode": "diff"}
    assert scanned(table, **diff, where=col("k") == 3, columns=["v"]) == [("c",)]
    assert scanned(table, **diff, limit=1) == [(2, "b")]
    assert table.with_options(diff).scan().count() == 2


def test_an_automatic_tag_is_compared_with_the_one_before_it(table):
    assert scanned(table, **{"incremental-to-auto-tag": "2024-01-03"}) == [(2, "b"), (3, "c")]
    assert scanned(table, **{"incremental-to-auto-tag": "2024-01-01"}) == []
    with pytest.raises(InvalidRequest, match="no automatic tag"):
        scanned(table, **{"incremental-to-auto-tag": "other"})


def test_rows_as_written_have_splits_and_a_difference_has_none(table):
    scan = table.with_options({"incremental-between": "0,3"}).scan()
    assert sum(scan.read(split).read_all().num_rows for split in scan.splits()) == scan.count() == 5
    compared = table.with_options({"incremental-between": "1,3", "incremental-between-scan-mode": "diff"}).scan()
    assert compared.explain() == "difference of snapshot 1 and snapshot 3"
    with pytest.raises(UnsupportedFeature, match="no splits"):
        compared.splits()


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"incremental-between": "1"}, InvalidOption, "two snapshot ids or tags"),
        ({"incremental-between": "3,1"}, InvalidRequest, "comes after"),
        ({"incremental-between": "1,gone"}, InvalidRequest, "neither two tags nor two"),
        ({"incremental-between": "1,9"}, SnapshotNotFound, "9"),
        ({"incremental-between-timestamp": "monday,tuesday"}, InvalidOption, "two epoch milliseconds"),
        ({"incremental-between": "1,2", "scan.snapshot-id": "1"}, InvalidOption, "exclude each other"),
    ],
)
def test_what_is_no_range_is_refused(table, options, error, says):
    with pytest.raises(error, match=says):
        table.with_options(options).scan().to_arrow()


def test_a_pinned_handle_and_other_readers(table):
    asked = table.with_options({"incremental-between": "1,2"})
    assert asked.at(snapshot=1).scan().count() == 2
    with pytest.raises(UnsupportedFeature, match="incremental-between"):
        asked.reading()
    assert asked.with_options({"scan.snapshot-id": "1"}).scan().count() == 2


def test_a_snapshot_that_expires_before_it_is_read_is_named(table):
    table.tags.delete("other")
    scan = table.with_options({"incremental-between": "1,3"}).scan()
    assert len(scan.splits()) == 2
    table.compact(full=True)
    table.tags.delete("2024-01-03")
    table.expire_snapshots(keep_last=1, keep_max=1)
    for snapshot, split in zip((2, 3), scan.splits(), strict=True):  # read together, either may fail first
        with pytest.raises(SnapshotNotFound, match=f"snapshot {snapshot}"):
            scan.read(split).read_all()
    with pytest.raises(SnapshotNotFound):
        scan.to_batches().read_all()
