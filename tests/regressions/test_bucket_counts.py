"""Partitions with different numbers of buckets, after the option was altered: what is read, written and refused."""

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.commit_message import CommitMessage

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("v", pa.string())])
VECTORS = {"deletion-vectors.enabled": "true"}
KINDS = {"keyed": {}, "keyed with vectors": VECTORS, "append": {}, "append with vectors": VECTORS}


def rows(keys, p="a"):
    keys = list(keys)
    return pa.table({"p": [p] * len(keys), "k": keys, "v": [f"v{k}" for k in keys]}, schema=SCHEMA)


def altered(warehouse, kind, buckets):
    """A table with four buckets in partition a, then altered to have ``buckets``."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    key = {"primary_key": ["p", "k"]} if kind.startswith("keyed") else {}
    options = {"bucket": "4", "write-only": "true"} | ({} if key else {"bucket-key": "k"}) | KINDS[kind]
    table = catalog.create_table("db.t", SCHEMA, partition_by=["p"], options=options, **key)
    for start in range(0, 40, 10):
        table.write(rows(range(start, start + 10)))
    if key:
        table.compact()
    return table.alter(f"SET ('bucket' = '{buckets}', 'file-index.bloom-filter.columns' = 'k')")


def totals(table):
    entries = table.context.manifests.entries_of(table.latest_snapshot())
    return {(table.context.partition_path(e.partition), e.total_buckets) for e in entries}


def found(table, key):
    return table.scan(where=(col("k") == key) & (col("p") == "a")).to_arrow().num_rows


@pytest.mark.parametrize("buckets", [8, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_a_partition_keeps_its_number_until_it_is_overwritten(warehouse, kind, buckets):
    table = altered(warehouse, kind, buckets)
    refused = rf"bucket = {buckets}, but its partition 'p=a' was written with 4 buckets: rescale or overwrite"
    with pytest.raises(InvalidRequest, match=refused):
        table.write(pa.concat_tables([rows([99]), rows([99], "b")]))
    with pytest.raises(InvalidRequest, match=refused):
        table.update(col("k") == 4, {"v": "new"})
    table.write(rows(range(20), "b"))
    if kind.startswith("keyed"):
        with pytest.raises(InvalidRequest, match=refused):
            table.delete(col("k") == 3)
    else:
        table.delete(col("k") == 3)
    there = [1, 1, 1, 1 if kind.startswith("keyed") else 0]
    assert [found(table, key) for key in (7, 20, 39, 3)] == there
    messages = [table.run_compaction(task) for task in table.plan_compaction(full=True)]
    assert table.commit([CommitMessage.from_bytes(m.to_bytes()) for m in messages]).commit_kind == "COMPACT"
    table.rewrite_file_index(every=True)
    assert totals(table) == {("p=a", 4), ("p=b", buckets)}
    assert [found(table, key) for key in (7, 20, 39, 3)] == there
    assert not table.maintenance.check(deep=True).findings
    table.overwrite(rows([1, 2]))
    table.write(rows([3]))
    table.compact(full=True)
    assert totals(table) == {("p=a", buckets), ("p=b", buckets)}
    assert [found(table, key) for key in (1, 2, 3, 4)] == [1, 1, 1, 0]
