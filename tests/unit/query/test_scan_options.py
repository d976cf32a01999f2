"""Options of scans: damaged files that are left out and told, tags that protect a scan, scans of whole tables."""

import datetime
import logging
from pathlib import Path

import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.table.refs import leases

LOST, CORRUPT = "scan.ignore-lost-files", "scan.ignore-corrupt-files"


@pytest.fixture
def catalog(warehouse):
    found = paimon.open_catalog(warehouse)
    found.create_database("db")
    return found


def append(catalog, name="db.t", **options):
    table = catalog.create_table(name, {"k": "INT", "v": "STRING"}, options={"bucket": "-1", **options})
    for start in (0, 10):
        table.write([{"k": k, "v": "x"} for k in range(start, start + 10)])
    return table


def paths(table):
    return sorted(Path(table.context.paths.root).rglob("data-*"), key=lambda path: path.stat().st_mtime_ns)


def keys(scan):
    return sorted(scan.to_arrow()["k"].to_pylist())


def damage(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + b"\0" * (len(data) - len(data) // 2))


# -- damaged files


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize(("hurt", "option", "other"), [(Path.unlink, LOST, CORRUPT), (damage, CORRUPT, LOST)])
def test_damaged_files_are_left_out_and_told(catalog, caplog, file_format, hurt, option, other):
    table = append(catalog, **{"file.format": file_format})
    path = paths(table)[0]
    hurt(path)
    for options in ({}, {other: True}):
        with pytest.raises(paimon.CorruptTable):
            table.with_options(options).scan().to_arrow()
    scan = table.with_options({option: True}).scan()
    assert scan.ignored_files == ()
    with caplog.at_level(logging.WARNING, "paimon_core"):
        assert keys(scan) == list(range(10, 20))
    assert [Path(name).name for name in scan.ignored_files] == [path.name]
    assert path.name in caplog.text
    assert f"up to 10 rows (option {option} = true)" in caplog.text


def test_counts_and_extremes_agree_with_the_rows_that_are_read(catalog):
    table = append(catalog)
    paths(table)[0].unlink()
    scan = table.with_options({LOST: True}).scan
    assert (scan().count(), scan().min("k"), scan().max("k"), scan(where=col("k") < 12).count()) == (10, 10, 19, 2)
    assert scan().top(1, by="k")["k"].to_pylist() == [10]
    assert [scan().read(split).read_all().num_rows for split in scan().splits()] == [10]


def test_explain_names_the_ignored_files(catalog):
    table = append(catalog)
    path = paths(table)[0]
    path.unlink()
    found = table.with_options({LOST: True}).scan().explain(analyze=True)
    assert found.analysis.ignored_files == (str(path),)
    assert f"ignored    1 damaged file: {path}" in str(found)


def test_a_merge_leaves_out_damaged_files(catalog):
    table = catalog.create_table(
        "db.k", {"k": "INT", "v": "STRING"}, primary_key=["k"], options={"bucket": "1", "write-only": "true"}
    )
    table.write([{"k": 1, "v": "a"}, {"k": 2, "v": "a"}])
    table.write([{"k": 1, "v": "b"}])
    paths(table)[0].unlink()
    assert table.with_options({LOST: True}).scan().to_arrow().to_pylist() == [{"k": 1, "v": "b"}]


def test_only_scans_leave_out_files(catalog):
    """A compaction or an update without the rows of a file would make the loss permanent."""
    table = append(catalog).with_options({LOST: True, CORRUPT: True})
    paths(table)[0].unlink()
    for change in (
        lambda: table.compact(full=True),
        lambda: table.update(col("k") > 0, {"v": "y"}),
        lambda: table.changes().to_arrow(),
        lambda: table.analyze(columns=["k"]),
    ):
        with pytest.raises(paimon.CorruptTable, match="is missing"):
            change()
    assert table.latest_snapshot().id == 2


def test_files_of_an_expired_snapshot_are_not_lost_files(catalog):
    table = append(catalog).with_options({LOST: True})
    scan = table.scan()
    assert len(scan.plan.files) == 2
    table.overwrite([{"k": 1, "v": "new"}])
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
    with pytest.raises(paimon.SnapshotNotFound):
        scan.to_arrow()


# -- tags of scans


def test_a_scan_protects_its_snapshot(catalog):
    table = append(catalog)
    protected = table.with_options({"scan.plan-auto-tag-for-read.time-retained": "1 h"})
    scan = protected.scan()
    assert table.tags.list() == []
    assert len(scan.plan.files) == 2
    assert keys(scan) == list(range(20))
    (tag,) = table.tags.list()
    assert (tag.snapshot.id, tag.name.startswith("batch-read-2-")) == (2, True)
    table.overwrite([{"k": 1, "v": "new"}])
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
    assert keys(scan) == list(range(20))
    short = table.with_options({"scan.plan-auto-tag-for-read.time-retained": "1 ms"})
    assert keys(short.scan()) == [1]
    table.tags.expire()
    assert [t.name for t in table.tags.list()] == [tag.name]


def test_tags_of_scans_do_not_use_up_the_leases(catalog, monkeypatch):
    monkeypatch.setattr(leases, "MOST_LEASES", 1)
    table = append(catalog).with_options({"scan.plan-auto-tag-for-read.time-retained": "1 h"})
    assert table.scan().count() == 20
    with table.lease(datetime.timedelta(hours=1)) as leased:
        assert leased.pinned.id == 2


# -- scans of whole tables


def test_a_full_scan_of_a_table_with_partitions_is_refused(catalog):
    table = catalog.create_table(
        "db.p", {"day": "STRING", "k": "INT"}, partition_by=["day"], options={"read.allow.fullScan": "false"}
    )
    assert table.scan().to_arrow().num_rows == 0
    table.write([{"day": f"d{n}", "k": n} for n in range(3)])
    for where in (None, col("k") >= 0):
        with pytest.raises(
            paimon.InvalidRequest, match=r"would read all of its 3 files: filter by the partition .*day"
        ):
            table.scan(where=where).to_arrow()
    with pytest.raises(paimon.InvalidRequest, match=r"read\.allow\.fullScan = false"):
        table.scan().count()
    assert keys(table.scan(where=col("day") == "d1")) == [1]
    assert keys(table.scan(where=col("k") == 2)) == [2]
    assert table.with_options({"read.allow.fullScan": True}).scan().count() == 3
    table.analyze()
    assert table.statistics().row_count == 3
    assert keys(append(catalog, **{"read.allow.fullScan": "false"}).scan()) == list(range(20))
