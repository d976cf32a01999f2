"""The changes of a producer, applied in order, give the table: with every merge engine, in small windows."""

from __future__ import annotations

import itertools
import random

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import paimon_core as paimon
from paimon_core.datafile.writing import rolling_writer
from paimon_core.read import bucket_reader
from tests.support.examples import examples

SCHEMA = pa.schema([("k", pa.int32()), ("a", pa.int64()), ("b", pa.string()), ("t", pa.string())])
ADDS, ALL = ("+I", "+U"), ("+I", "-U", "+U", "-D")
ENGINES = {
    "deduplicate": ({}, ALL),
    "ordered": ({"sequence.field": "a"}, ALL),
    "partial-update": ({"merge-engine": "partial-update"}, ADDS),
    "removing": ({"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}, ALL),
    "grouped": ({"merge-engine": "partial-update", "fields.a.sequence-group": "b"}, ALL),
    "aggregation": (
        {
            "merge-engine": "aggregation",
            "fields.a.aggregate-function": "sum",
            "fields.b.aggregate-function": "last_value",
        },
        ALL,
    ),
    "first-row": ({"merge-engine": "first-row"}, ADDS),
}
CASES = [(engine, producer) for engine in ENGINES for producer in ("lookup", "full-compaction")]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from([0, 50, 51, 100, 150, 151, 152]),
        st.none() | st.integers(0, 3),
        st.sampled_from([None, "x", "y"]),
    ),
    min_size=1,
    max_size=6,
)
_numbers = itertools.count()


@pytest.fixture(autouse=True, scope="module")
def small_windows():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rolling_writer, "ROW_GROUP_ROWS", 16)
        patch.setattr(bucket_reader, "WINDOW_ROWS", 2)
        yield


def base_rows():
    """Return enough rows at the last level that small compactions do not include it."""
    letters = random.Random(0)
    keys = list(range(0, 1000, 10))
    texts = [f"{letters.getrandbits(256):064x}" for _ in keys]
    return pa.table([keys, [1] * len(keys), ["base"] * len(keys), texts], schema=SCHEMA)


def applied(changes):
    """Return the rows by key after all changes; each change must match the rows left by the ones before."""
    state = {}
    for kind, key, *row in changes:
        assert (key in state) == (kind != "+I"), (kind, key)
        if kind in ("-U", "-D"):
            assert state[key] == row
        if kind == "-D":
            del state[key]
        else:
            state[key] = row
    return state


@pytest.mark.parametrize(("engine", "producer"), [c for c in CASES if c != ("first-row", "full-compaction")])
@given(batches=st.lists(ROWS, min_size=1, max_size=5), based=st.booleans(), deduplicated=st.booleans())
@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_changes_are_the_table(engine, producer, batches, based, deduplicated):
    options, kinds = ENGINES[engine]
    catalog = paimon.open_catalog(f"memory://producers-{next(_numbers)}")
    catalog.create_database("db")
    options = options | {
        "bucket": "1",
        "changelog-producer": producer,
        "changelog-producer.row-deduplicate": str(deduplicated).lower(),
        "full-compaction.delta-commits": "2",
    }
    if producer == "lookup":
        del options["full-compaction.delta-commits"]
    table = catalog.create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    if based:
        table.write(base_rows())
        table.compact(full=True)
    for batch in batches:
        chosen = [kinds[number % len(kinds)] for number, *_ in batch]
        # Rows without a value of the sequence group differ when a lookup merges them alone (format 10.6).
        outside = 0 if engine == "grouped" else None
        rows = [[key, outside if a is None else a, b, None] for _, key, a, b in batch]
        columns = [list(column) for column in zip(*rows, strict=True)]
        table.write(pa.table(columns, schema=SCHEMA), pa.array(chosen))
    if producer == "full-compaction":
        table.compact(full=True)
    told = [list(row.values()) for row in table.changes(way="changelog").to_arrow().to_pylist()]
    found = {k: row for k, *row in (list(r.values()) for r in table.scan().to_arrow().to_pylist())}
    # A first-row changelog shows new rows as they were written.
    told = [["+I", *row] if engine == "first-row" else [kind, *row] for kind, *row in told]
    assert applied(told) == found
