"""plan: after a commit only the partitions that it changed are read, unless the options may compact others."""

import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.compact.planning import plan
from paimon_core.metadata.stores.manifest_store import ManifestStore

GENTLE = {"changelog-producer": "lookup", "lookup-compact": "gentle"}


def table_of(warehouse, options, **keys):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"bucket": "1" if keys else "-1", "write-only": "true", **options}
    table = catalog.create_table("db.t", "p STRING, k INT NOT NULL", partition_by=["p"], options=options, **keys)
    for p in "abc":
        for k in range(6):
            table.write([{"p": p, "k": k}])
    return table


def read_partitions(table, monkeypatch, written):
    """Plan, and return the partitions among which the live files were read, None for all."""
    asked = []
    real = ManifestStore.entries_of
    monkeypatch.setattr(
        ManifestStore,
        "entries_of",
        lambda self, snapshot, among=None: (asked.append(among), real(self, snapshot, among))[1],
    )
    tasks = plan(table.context, written=written)
    return tasks, asked[0]


@pytest.fixture
def place(warehouse):
    return lambda table: next((e.partition, e.bucket) for e in _entries(table) if b"b" in e.partition)


def _entries(table):
    return table.context.manifests.entries_of(table.context.snapshots.latest())


def test_a_commit_reads_the_files_of_its_partitions_only(warehouse, monkeypatch, place):
    table = table_of(warehouse, {"compaction.min.file-num": "3"})
    written = place(table)
    tasks, among = read_partitions(table, monkeypatch, {written})
    assert among == {written[0]}
    assert [task.partition for task in tasks] == [written[0]]
    monkeypatch.undo()
    tasks, among = read_partitions(table, monkeypatch, None)
    assert (len(tasks), among) == (3, None)


@pytest.mark.parametrize("options", [GENTLE, {"full-compaction.delta-commits": "2"}])
def test_options_that_compact_other_buckets_read_all_files(warehouse, monkeypatch, place, options):
    table = table_of(warehouse, options, primary_key=["p", "k"])
    assert read_partitions(table, monkeypatch, {place(table)})[1] is None


def test_rows_are_the_same_after_a_delete_that_compacts(warehouse):
    table = table_of(warehouse, {"deletion-vectors.enabled": "true", "write-only": "false"})
    table.delete((col("p") == "b") & (col("k") >= 3))
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == sorted([*range(6), *range(6), *range(3)])
