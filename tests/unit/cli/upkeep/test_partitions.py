"""Partitions in arguments: a wrong partition is refused with an error that names the rule."""

import pytest

import paimon_core as paimon

COMMANDS = [["compact", "--partition"], ["rescale", "--buckets", "2", "--partition"], ["mark-done"]]


@pytest.fixture
def catalog(place):
    catalog = paimon.open_catalog(place)
    catalog.create_database("db")
    columns = {"id": "INT NOT NULL", "day": "STRING NOT NULL"}
    catalog.create_table("db.plain", columns, primary_key="id", options={"bucket": "1"}).write([{"id": 1, "day": "a"}])
    parts = {"primary_key": ["day", "id"], "partition_by": "day", "options": {"bucket": "1"}}
    catalog.create_table("db.parts", columns, **parts).write([{"id": 1, "day": "a"}])
    return catalog


@pytest.mark.parametrize("change", COMMANDS)
@pytest.mark.parametrize(
    ("table", "partition", "problem"),
    [
        ("db.plain", "day=a", "table db.plain is not partitioned (it was created without partition_by)"),
        ("db.plain", "day=__DEFAULT_PARTITION__", "table db.plain is not partitioned"),
        ("db.parts", "dy=a", "table db.parts: 'dy' is not a partition column (partition columns: day)"),
        ("db.parts", "id=__DEFAULT_PARTITION__", "table db.parts: 'id' is not a partition column"),
        ("db.parts", "day=a,id=1", "table db.parts: 'id' is not a partition column"),
    ],
)
def test_a_partition_that_cannot_exist_is_refused(catalog, command, change, table, partition, problem):
    code, out = command(change[0], table, *change[1:], partition)
    assert (code, problem in out) == (2, True), out
    assert catalog.table(table).latest_snapshot().id == 1


@pytest.mark.parametrize("change", [["compact"], ["rescale", "--buckets", "2"], ["rewrite-file-index"]])
def test_a_filter_of_partitions_names_the_rule(catalog, command, change):
    code, out = command(change[0], "db.plain", *change[1:], "--where", "id = 1")
    assert (code, "table db.plain is not partitioned" in out) == (2, True), out
    code, out = command(change[0], "db.parts", *change[1:], "--where", "id = 1")
    assert (code, "which is not a partition column (partition columns: day)" in out) == (2, True), out
