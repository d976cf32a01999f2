"""The changes of random histories: applied in order they rebuild the table, and expiry removes only the oldest ones."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paimon_core as paimon
from tests.support.examples import examples
from tests.support.fake_tables import assert_nothing_is_left_over, check_whole

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.int64())])
KINDS = ("+I", "-U", "+U", "-D")
BATCHES = st.lists(
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=8),
    min_size=1,
    max_size=5,
)
_numbers = itertools.count()


def written(producer, batches, **options):
    catalog = paimon.open_catalog(f"memory://changes-{next(_numbers)}")
    catalog.create_database("db")
    options = {"bucket": "2", "changelog-producer": producer} | options
    table = catalog.create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    for batch in batches:
        kinds, keys, values = zip(*batch, strict=True)
        table.write(pa.table([list(keys), list(values)], schema=SCHEMA), pa.array(kinds))
    return table


def changes(table, *range_):
    way = "delta" if table.options["changelog-producer"] == "none" else "changelog"
    return [(r["rowkind"], r["k"], r["v"]) for r in table.changes(*range_, way=way).to_arrow().to_pylist()]


def by_key(rows):
    return {key: [row for row in rows if row[1] == key] for key in {row[1] for row in rows}}


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
@given(batches=BATCHES)
@settings(max_examples=examples(25), deadline=None)
def test_changes_rebuild_the_table(producer, batches):
    table = written(producer, batches)
    table.compact(full=True)
    state: dict[int, int] = {}
    for kind, key, value in changes(table):
        assert (key in state) == (kind != "+I")
        if kind in ("-U", "-D"):
            assert state[key] == value
        if kind == "-D":
            del state[key]
        else:
            state[key] = value
    assert state == {r["k"]: r["v"] for r in table.scan().to_arrow().to_pylist()}


@given(batches=BATCHES)
@settings(max_examples=examples(25), deadline=None)
def test_input_changes_are_the_rows_that_came(batches):
    table = written("input", batches, **{"write-only": "true"})
    for number, batch in enumerate(batches, 1):
        told = changes(table, number - 1, number)
        assert by_key(told) == by_key(batch)
        assert table.context.snapshots.read(number).changelog_record_count == len(batch)


@given(batches=BATCHES, keep=st.integers(1, 6), producer=st.sampled_from(["none", "input", "lookup"]))
@settings(max_examples=examples(15), deadline=None)
def test_expiry_takes_the_oldest_changes_only(batches, keep, producer):
    table = written(producer, batches)
    before = {i: changes(table, i - 1, i) for i in table.context.snapshots.ids()}
    table.expire_snapshots(keep_last=keep, keep_max=keep)
    held = table.context.snapshots.ids()
    assert held == sorted(before)[-keep:]
    assert changes(table, held[0] - 1) == [row for i in held for row in before[i]]
    check_whole(table.context)
    assert_nothing_is_left_over(table.context)
