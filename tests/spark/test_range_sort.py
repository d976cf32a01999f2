"""Several Spark tasks sort one large partition, and one commit has the files of all."""

import shutil

import pytest

import paimon_core as paimon
from paimon_core.errors import StorageError
from paimon_core.spark import compactor, range_sort, session, sort_compact_spark

COLUMNS = {"k": "INT", "t": "TIME", "ts": "TIMESTAMP(9)", "v": "STRING"}


@pytest.fixture
def table(warehouse, monkeypatch):
    monkeypatch.setattr(compactor, "_SHARE_BYTES", 5_000)
    monkeypatch.setattr(compactor, "cores", lambda _: 1000)
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"write-only": "true", "target-file-size": "4 kb", "file.compression": "none"}
    made = catalog.create_table("db.t", COLUMNS, options=options)
    for start in range(4):
        made.write([{"k": n * 7919 % 1009 if n % 50 else None, "v": f"v{n}"} for n in range(start, 4000, 4)])
    return made


def rows(table):
    return table.scan().to_arrow().to_pylist()


def test_tasks_sort_as_the_library_does(spark, table, warehouse, tmp_path, monkeypatch):
    ranges = []
    sort = range_sort.sort_in_ranges
    monkeypatch.setattr(compactor, "sort_in_ranges", lambda s, c, part: ranges.append(part.ranges) or sort(s, c, part))
    shutil.copytree(warehouse, tmp_path / "whole")
    whole = paimon.open_catalog(str(tmp_path / "whole")).table("db.t")
    expected, done = whole.sort_compact(["k", "v"]), sort_compact_spark(spark, table, ["k", "v"])
    assert ranges[0] > 5
    assert len(done.snapshots) == 1
    assert done.rows_rewritten == expected.rows_rewritten == 4000
    assert rows(table) == rows(whole)
    assert not table.maintenance.check(deep=True).findings
    lake = session(spark, paimon.open_catalog(warehouse), "db")
    lake.sql("CALL sys.compact('t', order_strategy => 'zorder', order_by => 'v,k')")
    whole.sort_compact(["v", "k"], "zorder")
    assert len(ranges) == 2
    assert rows(table) == rows(whole)


def test_an_error_of_a_task_is_the_error_of_the_library(spark, table):
    full = table.with_options({"write-buffer-size": "2 kb", "write-buffer-spillable": "false"})
    before = rows(table)
    with pytest.raises(StorageError, match="option write-buffer-spillable = false"):
        sort_compact_spark(spark, full, ["k"])
    assert rows(table) == before
