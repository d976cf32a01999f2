"""Rescale and rewriting of indexes in Spark tasks give the table that the driver alone gives."""

import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.alter.changes import SetOption
from paimon_core.errors import PaimonError
from paimon_core.spark import rescale_spark, rewrite_file_index_spark

COLUMNS = {"p": "STRING", "id": "BIGINT", "v": "STRING"}


def filled(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    table = catalog.create_table(
        "db.rescaled", COLUMNS, primary_key=["p", "id"], partition_by=["p"], options={"bucket": "2"}
    )
    for version in "ab":
        table.write([{"p": f"p{n % 3}", "id": n, "v": version} for n in range(60)])
    return table


@pytest.mark.spark
def test_partitions_get_other_buckets_and_indexes(spark, warehouse):
    table = filled(warehouse).alter(SetOption("file-index.bloom-filter.columns", "id"))
    rows = sorted(map(str, table.scan().to_arrow().to_pylist()))
    snapshot = rescale_spark(spark, table, 5, col("p") != "p0")
    table = table.refresh()
    files = table.inspect.files().to_pylist()
    assert snapshot.id == table.latest_snapshot().id
    places = {(f["partition"], f["bucket"]) for f in files}
    assert places == {("{p0}", 0), ("{p0}", 1), *((p, n) for p in ("{p1}", "{p2}") for n in range(5))}
    assert rescale_spark(spark, table, 5, col("p") != "p0") is None
    assert sorted(map(str, table.scan().to_arrow().to_pylist())) == rows
    assert rewrite_file_index_spark(spark, table) is not None
    assert rewrite_file_index_spark(spark, table.refresh()) is None
    assert sorted(map(str, table.scan().to_arrow().to_pylist())) == rows
    assert not table.maintenance.check(deep=True).findings


@pytest.mark.spark
def test_what_cannot_be_rescaled_is_refused_before_tasks_start(spark, warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    table = catalog.create_table("db.without_buckets", COLUMNS)
    with pytest.raises(PaimonError, match=r"bucket = -1: it has no buckets"):
        rescale_spark(spark, table, 3)
