"""Dimensions: the cache has the rows of any snapshot that it is moved to, however it gets there."""

from __future__ import annotations

import tempfile

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import paimon_core as paimon
from paimon_core.metadata.commit_message import position_of
from paimon_core.spark.reference import TableReference
from paimon_lake.loads.lookup.dimension import CachedRows, Dimension
from tests.support.examples import examples

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string()), ("other", pa.int32())])
KEYS = st.integers(0, 8)
STEPS = st.one_of(
    st.tuples(st.just("write"), st.dictionaries(KEYS, st.none() | st.text(max_size=2), min_size=1)),
    st.tuples(st.just("delete"), st.lists(KEYS, min_size=1, max_size=3)),
    st.tuples(st.sampled_from(["compact", "overwrite", "rollback", "expire", "look"]), st.just(None)),
)


def written(rows):
    return pa.Table.from_pylist([{"k": k, "v": v, "other": 1} for k, v in rows.items()], SCHEMA)


@given(steps=st.lists(STEPS, min_size=1, max_size=9))
@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
def test_the_cache_follows_the_table(steps):
    with tempfile.TemporaryDirectory() as folder:
        catalog = paimon.open_catalog(folder)
        catalog.create_database("d")
        table = catalog.create_table("d.t", SCHEMA, primary_key=["k"], options={"bucket": "2"})
        cached = None
        for step, what in [*steps, ("look", None)]:
            match step:
                case "write":
                    table.write(written(what))
                case "delete":
                    table.delete(where=paimon.col("k").is_in(what))
                case "compact":
                    table.compact(full=True)
                case "overwrite":
                    table.overwrite(written({3: "new"}))
                case "expire":
                    table.expire_snapshots(keep_last=1, keep_max=1)
                case "rollback" if table.latest_snapshot() is not None:
                    table.rollback(snapshot=table.context.snapshots.earliest_id())
                case "look":
                    cached = looked_up(table, cached)


def looked_up(table, cached):
    """Move the cache to the latest snapshot, and compare it with the rows of the table."""
    fields = table.schema.by_name
    at = position_of(table.latest_snapshot())
    dimension = Dimension(TableReference.of(table.context), at, (fields["k"],), (fields["v"],), 1 << 20)
    cached = CachedRows(dimension) if cached is None else cached
    cached.move_to(dimension)
    keys = pa.array([*range(9), None, 4], pa.int64())
    segment, row = cached.find([keys])
    values = cached.values("v", segment, row).to_pylist()
    stored = dict(zip(*table.scan(["k", "v"]).to_arrow().to_pydict().values(), strict=True))
    assert [at >= 0 for at in row] == [key in stored for key in keys.to_pylist()]
    assert values == [stored.get(key) for key in keys.to_pylist()]
    return cached
