"""Deletion vectors of tables with a primary key: which rows compactions of level 0 mark, and who wins."""

import numpy as np
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.metadata import clock
from paimon_core.metadata.manifests.index_manifest import IndexEntry
from paimon_core.table_indexes.vector_file import read_vector, write_vectors
from tests.support.broken_tables import rewrite

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])
LAST = {"merge-engine": "deduplicate"}
ENGINES = {
    "deduplicate": LAST,
    "sequence": LAST | {"sequence.field": "v"},
    "sum": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
}


def make(warehouse, **options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    options = {"bucket": "1", "deletion-vectors.enabled": "true", "num-levels": "4"} | options
    return catalog.create_table("db.t", SCHEMA, primary_key=["k"], options=options)


def rows(keys, value):
    keys = list(keys)
    return pa.table({"k": keys, "v": [value] * len(keys)}, schema=SCHEMA)


def content(table):
    found = [(r["k"], r["v"]) for r in table.scan().to_arrow().to_pylist()]
    assert len(found) == len(dict(found)) == table.scan().count()
    return dict(found)


def vectors(table):
    return {name: v.cardinality for s in table.scan().plan.splits for name, (_, v) in s.vectors.items()}


@pytest.mark.parametrize(("engine", "value"), [("deduplicate", 5), ("sequence", 9), ("sum", 14)])
def test_older_rows_of_the_keys_of_level_0_are_marked(warehouse, engine, value):
    table = make(warehouse, **ENGINES[engine])
    table.write(rows(range(3000), 9))
    table.write(rows([7, 8, 5000], 5))
    assert sorted(f.level for f in table.scan().plan.files) == [2, 3]
    assert list(vectors(table).values()) == [2]
    assert all(split.raw for split in table.scan().plan.splits)
    expected = dict.fromkeys(range(3000), 9) | {7: value, 8: value, 5000: 5}
    assert content(table) == expected
    assert not table.maintenance.check(deep=True).findings
    table.compact(full=True)
    assert (vectors(table), content(table)) == ({}, expected)
    assert not table.compact(full=True)


def test_a_deleted_key_leaves_no_row_of_its_own(warehouse):
    table = make(warehouse)
    table.write(rows(range(3000), 1))
    table.delete(col("k") < 10)
    assert content(table) == dict.fromkeys(range(10, 3000), 1)
    assert [f.row_count for f in table.scan().plan.files] == [3000]
    assert list(vectors(table).values()) == [10]


def test_a_last_file_whose_rows_are_deleted_is_rewritten_by_a_full_compaction(warehouse):
    table = make(warehouse)
    table.write(rows(range(3000), 1))
    table.delete(col("k") < 10)
    table.compact(full=True)
    assert [f.row_count for f in table.scan().plan.files] == [2990]
    assert table.latest_snapshot().index_manifest is None


def test_level_0_is_hidden_until_it_is_compacted(warehouse):
    table = make(warehouse, **{"write-only": "true"})
    table.write(rows([1], 1))
    assert (content(table), table.scan().plan.counts.awaiting_compaction) == ({}, 1)
    table.compact()
    assert content(table) == {1: 1}
    table.write(rows([1, 2], 2))
    assert content(table.alter("SET ('deletion-vectors.merge-on-read' = 'true')")) == {1: 2, 2: 2}


def test_of_two_compactions_that_change_the_vectors_of_a_bucket_one_conflicts(warehouse):
    table = make(warehouse, **{"write-only": "true"})
    table.write(rows(range(3000), 1))
    table.compact()
    table.write(rows([1], 2))
    (marking,) = map(table.run_compaction, table.plan_compaction())
    (rewriting,) = map(table.run_compaction, table.plan_compaction(full=True))
    assert marking.compact_new_indexes
    table.commit([marking])
    with pytest.raises(paimon.CommitConflict):
        table.commit([rewriting])
    assert content(table)[1] == 2
    (rewriting,) = map(table.run_compaction, table.plan_compaction(full=True))
    table.write(rows([3], 3))
    (marking,) = map(table.run_compaction, table.plan_compaction())
    table.commit([rewriting])
    with pytest.raises(paimon.CommitConflict):
        table.commit([marking])
    table.compact()
    assert content(table) == dict.fromkeys(range(3000), 1) | {1: 2, 3: 3}
    assert not [f for f in table.maintenance.check(deep=True).findings if f.invariant != "I29"]


def test_the_changelog_of_lookups_describes_the_changes(warehouse):
    table = make(warehouse, **{"changelog-producer": "lookup"})
    table.write(rows(range(3000), 1))
    last = table.latest_snapshot().id
    table.write(rows([5, 9000], 2))
    changes = table.changes(start=last).to_arrow().to_pylist()
    assert sorted((r["k"], r["v"], r["rowkind"]) for r in changes) == [
        (5, 1, "-U"),
        (5, 2, "+U"),
        (9000, 2, "+I"),
    ]


@pytest.mark.parametrize(
    "options", [{}, ENGINES["sum"], {"changelog-producer": "lookup"}], ids=["keys", "sum", "lookup"]
)
def test_expired_rows_of_higher_levels_are_marked_when_their_key_is_written_again(warehouse, monkeypatch, options):
    schema = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("t", pa.int64())])
    expiry = {"record-level.expire-time": "2 h", "record-level.time-field": "t"}
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"bucket": "1", "deletion-vectors.enabled": "true", "num-levels": "4"} | expiry | options
    if "merge-engine" in options:
        options["fields.t.aggregate-function"] = "max"
    table = catalog.create_table("db.t", schema, primary_key=["k"], options=options)

    def write(at, keys, value):
        monkeypatch.setattr(clock, "now_millis", lambda given=None: at * 1000 if given is None else given)
        keys = list(keys)
        table.write(pa.table({"k": keys, "v": [value] * len(keys), "t": [at] * len(keys)}, schema=schema))

    write(0, range(3000), 1)
    last = table.latest_snapshot().id
    write(10_000, [7, 8], 2)
    assert content(table) == dict.fromkeys(range(3000), 1) | {7: 2, 8: 2}  # a sum starts again after an expired row
    assert list(vectors(table).values()) == [2]
    if "changelog-producer" in options:
        found = table.changes(start=last, way="changelog").to_arrow().to_pylist()
        assert [(r["k"], r["v"], r["rowkind"]) for r in found] == [(7, 2, "+I"), (8, 2, "+I")]
    table.compact(full=True)
    assert content(table) == {7: 2, 8: 2}
    assert not table.maintenance.check(deep=True).findings


def test_a_vector_of_a_file_that_is_gone_does_not_stop_compactions(warehouse):
    """Java leaves it when a full compaction rewrites a file with a vector."""
    table = make(warehouse)
    table.write(rows(range(3000), 9))
    latest = table.write(rows([7], 5))
    context = table.context
    (entry,) = context.manifests.read_indexes(latest.index_manifest or table.latest_snapshot().index_manifest)
    ((name, vector),) = [(v.data_file, v) for v in entry.file.vectors]
    positions = {name: read_vector(context, entry.file.file_name, vector), "data-gone.parquet": np.array([0])}
    both = write_vectors(context, positions, single=True)
    manifest = context.manifests.write_indexes([IndexEntry(entry.partition, entry.bucket, f) for f in both])
    rewrite(context, table.latest_snapshot().id, index_manifest=manifest)
    table = table.refresh()
    table.write(rows([8], 6))
    assert content(table) == dict.fromkeys(range(3000), 9) | {7: 5, 8: 6}
    assert {f.level for f in table.maintenance.check(deep=True).findings if f.invariant == "I16"} == {"warning"}
