"""Merges against a list of rows: random tables, sources and clauses, and the rules of SQL's MERGE row by row."""

from __future__ import annotations

import itertools
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paimon_core as paimon
from paimon_core import Delete, Insert, Update, col
from tests.support.examples import examples

SCHEMA = pa.schema([("k", pa.int64()), ("j", pa.string()), ("v", pa.int64()), ("w", pa.string())])
MODES = {
    "rewriting": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "buckets": {"deletion-vectors.enabled": "true", "bucket": "2", "bucket-key": "k"},
    "keyed": {"bucket": "2"},
}
_numbers = itertools.count()
LIMIT = st.one_of(st.none(), st.integers(0, 4))
SET = st.sampled_from(["all", "literal", "column", "function"])
VALUES = {
    "all": None,
    "literal": {"v": 3, "w": None},
    "column": {"w": col("j"), "v": col("v")},
    "function": {"w": lambda old, new: [f"{a}{b}" for a, b in zip(old["w"], new["w"], strict=True)]},
}


def row(keyed):
    keys = st.integers(0, 6), st.sampled_from(["a", "b"])
    nullable = keys if keyed else [st.one_of(st.none(), k) for k in keys]
    return st.tuples(*nullable, st.one_of(st.none(), st.integers(0, 4)), st.sampled_from(["x", "y"]))


def rows_of(rows):
    return pa.table([list(c) for c in zip(*rows, strict=True)] or [[]] * 4, schema=SCHEMA)


def less(value, limit):
    return limit is None or (value is not None and value < limit)


def where(limit):
    return None if limit is None else col("v") < limit


def new_row(change, old, new):
    match change:
        case "all":
            return (*old[:2], *new[2:])
        case "literal":
            return (*old[:2], 3, None)
        case "column":
            return (*old[:2], new[2], new[1])
    return (*old[:3], f"{old[3]}{new[3]}")


def merged(table, source, matched, insert, rest, keyed):
    """The rows after the merge; None when it must be refused."""
    out, used = [], set()
    for old in table:
        pairs = [s for s in source if None not in s[:2] and s[:2] == old[:2]]
        used.update(s[:2] for s in pairs)
        found = []
        for new in pairs:
            changes = [c for c, low, high in matched if less(old[2], low) and less(new[2], high)]
            found += [(changes[0], new)] if changes else []
        if len(found) > 1 and any(change != "delete" for change, _ in found):
            return None
        if found:
            change, new = found[0]
            out += [] if change == "delete" else [new_row(change, old, new)]
        elif pairs or rest is None or not less(old[2], rest[1]):
            out.append(old)
        elif rest[0] == "literal":
            out.append((*old[:2], 3, None))
    added = [] if insert is None else [s for s in source if s[:2] not in used and less(s[2], insert[0])]
    if keyed and len({s[:2] for s in added}) < len(added):
        return None
    return out + added


def change_of(kind, low, high):
    return Delete(where(low), where(high)) if kind == "delete" else Update(VALUES[kind], where(low), where(high))


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_a_merge_has_the_result_of_sql(mode, data):
    keyed = mode == "keyed"
    rows = data.draw(st.lists(row(keyed), max_size=12, unique_by=(lambda r: r[:2]) if keyed else None))
    source = data.draw(st.lists(row(keyed), max_size=6))
    matched = data.draw(st.lists(st.tuples(st.one_of(st.just("delete"), SET), LIMIT, LIMIT), max_size=3))
    insert = data.draw(st.one_of(st.none(), st.tuples(LIMIT)))
    rest = data.draw(st.one_of(st.none(), st.tuples(st.sampled_from(["delete", "literal"]), LIMIT)))
    catalog = paimon.open_catalog(f"memory://merging-{next(_numbers)}")
    catalog.create_database("db")
    table = catalog.create_table("db.t", SCHEMA, primary_key=["k", "j"] if keyed else [], options=MODES[mode])
    half = data.draw(st.integers(0, len(rows)))
    for part in (rows[:half], rows[half:]):
        table.write(rows_of(part))
    expected = merged(rows, source, matched, insert, rest, keyed)
    before = table.latest_snapshot()

    def merge():
        table.merge(
            rows_of(source),
            ["k", "j"],
            when_matched=[change_of(*m) for m in matched],
            when_not_matched=None if insert is None else Insert(source_where=where(insert[0])),
            when_not_matched_by_source=None if rest is None else change_of(*rest, None),
        )

    if expected is None:
        with pytest.raises(paimon.InvalidRequest, match="several rows of the source"):
            merge()
        assert table.latest_snapshot() == before
        return
    merge()
    found = table.scan().to_arrow()
    assert Counter(zip(*(c.to_pylist() for c in found.columns), strict=True)) == Counter(expected)
