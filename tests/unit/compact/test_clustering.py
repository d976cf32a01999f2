"""Picks of incremental clustering: the runs, the level of the output, and partitions that have become old."""

from dataclasses import replace

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.compact.clustering import cluster_tasks, clustering_levels, clustering_order, pick_cluster
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_core.metadata.manifests.index_manifest import VectorRange
from paimon_core.metadata.times.local_time import epoch_millis
from paimon_core.options import TableOptions
from paimon_core.plan.partitions import matching_partitions

OPTIONS = TableOptions.parse(
    {"num-sorted-run.compaction-trigger": "3", "compaction.max-size-amplification-percent": "25"}
)


def pick(*files, full=False, is_sorted=True, deleted=()):
    """Of files given as (level, size) in manifest order: the output level and the sizes; in three levels."""
    named = [DataFile(f"f{n}", size, 1, 0, level=level) for n, (level, size) in enumerate(files)]
    vectors = {f"f{n}": ("index", VectorRange(f"f{n}", 1, 30, 1)) for n in deleted}
    unit = pick_cluster(clustering_levels(named, 3), OPTIONS, full=full, is_sorted=lambda _: is_sorted, vectors=vectors)
    return unit and (unit.output_level, [f.file_size for f in unit.files])


def test_picks_are_those_of_java():
    assert pick((0, 1), (0, 1)) is None
    assert pick((0, 1), (0, 1), (0, 1)) == (2, [1, 1, 1])
    assert pick((2, 100), (0, 3), (0, 2), (0, 2)) == (1, [3, 2, 2])
    assert pick((2, 100), (1, 5), (0, 9)) == (1, [9, 5])
    assert pick((2, 10), (0, 3), (1, 5)) == (2, [3, 5, 10])
    assert pick((2, 100), (0, 1), (0, 9), (0, 1)) == (1, [1, 9, 1])


def test_a_full_compaction_sorts_all_runs_unless_they_are_one_sorted_run_of_the_last_level():
    assert pick(full=True) is None
    assert pick((1, 1), full=True) == (2, [1])
    assert pick((0, 1), (1, 2), (2, 3), full=True) == (2, [1, 2, 3])
    assert pick((2, 1), (2, 1), full=True) is None
    assert pick((2, 1), (2, 1), full=True, is_sorted=False) == (2, [1, 1])
    assert pick((2, 1), (2, 1), full=True, deleted=[1]) == (2, [1, 1])


def test_partitions_without_new_files_are_clustered_fully_beside_those_that_are_selected(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {
        "clustering.incremental": "true",
        "clustering.columns": "k",
        "clustering.history-partition.idle-to-full-sort": "1 h",
        "clustering.history-partition.limit": "2",
    }
    schema = pa.schema([("p", pa.string()), ("k", pa.int64())])
    context = catalog.create_table("db.t", schema, partition_by=["p"], options=options).context
    for p in "abcd":
        catalog.table("db.t").write([{"p": p, "k": 1}])
    entries = latest_entries(context)
    hour = 3_600_000
    times = [epoch_millis(e.file.creation_time_millis) for e in entries]

    def tasks(now, **scope):
        return sorted(t.partition for t in cluster_tasks(context, entries, now_millis=now, **scope))

    selected = matching_partitions(context, col("p") == "d")
    a, b, c, _ = (e.partition for e in entries)
    assert tasks(max(times) + hour) == []
    assert tasks(max(times) + 2 * hour) == []
    assert tasks(times[0] - 1, matches=selected) == []
    assert tasks(max(times) + 2 * hour, matches=selected) == sorted([a, b])
    assert len(tasks(max(times) + 2 * hour, matches=lambda p: p == a)) == 2
    assert c not in tasks(max(times) + 2 * hour, matches=selected)


@pytest.mark.parametrize(
    ("count", "strategy", "expected"),
    [(1, "auto", "order"), (4, "auto", "zorder"), (5, "auto", "hilbert"), (2, "order", "order")],
)
def test_the_strategy_depends_on_the_number_of_columns(warehouse, count, strategy, expected):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    names = [f"c{n}" for n in range(count)]
    options = {
        "clustering.incremental": "true",
        "clustering.columns": " , ".join(names),
        "clustering.strategy": strategy,
    }
    table = catalog.create_table("db.t", pa.schema([(name, pa.int64()) for name in names]), options=options)
    order = clustering_order(table.context)
    assert (order.columns, order.strategy) == (tuple(names), expected)
    without = replace(table.context, options=TableOptions.parse(options | {"clustering.columns": "c0,nope"}))
    with pytest.raises(InvalidRequest, match=r"option clustering\.columns names 'nope', which is no column"):
        clustering_order(without)
