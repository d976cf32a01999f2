"""Rows that expire: Java's compaction and ours leave the same rows, whichever type tells the time."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

import paimon_core as paimon
from tests.support.java_rows import as_set, json_rows

HOUR = 3600
EXPIRY = {"record-level.expire-time": "2 h", "record-level.time-field": "t"}
OPTIONS = {"bucket": "1", "write-only": "true"}
AGES = [0, HOUR, 3 * HOUR, 50 * HOUR, None, 10**6 * HOUR]
"""Ages of rows in seconds, far from the 2 hours; the last lies before 1970."""
FACTORS = {
    "INT": 1,
    "BIGINT": 1,
    "BIGINT ": 1000,
    "TIMESTAMP(0)": 1000,
    "TIMESTAMP(3)": 1000,
    "TIMESTAMP(6)": 10**6,
    "TIMESTAMP(9)": 10**9,
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": 1000,
}


def made(catalog, name, kind, options):
    types = {"k": "INT", "t": kind.strip(), "v": "STRING"}
    arrow = pa.schema([pa.field(n, paimon.types.parse_type(t).to_arrow()) for n, t in types.items()])
    return catalog.create_table(name, arrow, types=types, primary_key=["k"], options=options)


def rows(table, kind, ages, value):
    now = int(time.time())
    times = [None if age is None else (now - age) * FACTORS[kind] for age in ages]
    arrow = table.arrow_schema.field("t").type
    return pa.table(
        [list(range(len(ages))), pa.array(times, pa.int64()).cast(arrow, safe=False), [value] * len(ages)],
        schema=table.arrow_schema,
    )


@pytest.fixture
def catalog(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog


def both_compacted(oracle, warehouse, catalog, names):
    """What is left after our compaction of the first table and Java's of the second, and the values of v by key."""
    first, second = names
    catalog.table(first).compact(full=True)
    oracle.run(warehouse, [{"op": "compact", "table": second}])
    found = [as_set(oracle.dump(warehouse, name)) for name in names]
    for name, read in zip(names, found, strict=True):
        table = catalog.table(name)
        assert as_set(json_rows(table.scan().to_arrow(), table.schema.fields)) == read
    assert found[0] == found[1]
    return dict(catalog.table(first).scan().to_arrow().select(["k", "v"]).to_pandas().itertuples(index=False))


@pytest.mark.parametrize("kind", FACTORS)
def test_the_same_rows_expire(oracle, warehouse, catalog, kind):
    names = ["db.ours", "db.java"]
    tables = [made(catalog, name, kind, OPTIONS | EXPIRY) for name in names]
    older = rows(tables[0], kind, list(reversed(AGES)), "older")
    newer = rows(tables[0], kind, AGES, "newer")
    for table in tables:
        table.write(older)
        table.write(newer)
    left = both_compacted(oracle, warehouse, catalog, names)
    # The older rows of 2 and 3 have expired as well; that of 5 is from now.
    assert left == {0: "newer", 1: "newer", 4: "newer", 5: "older"}


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_the_same_rows_expire_where_changes_are_told(oracle, warehouse, catalog, producer):
    names = ["db.ours", "db.java"]
    tables = [made(catalog, name, "BIGINT", OPTIONS | EXPIRY | {"changelog-producer": producer}) for name in names]
    first = rows(tables[0], "BIGINT", [0, 0, 50 * HOUR, None], "first")
    second = rows(tables[0], "BIGINT", [50 * HOUR, None], "second")
    for table in tables:
        table.write(first)
    assert both_compacted(oracle, warehouse, catalog, names) == {0: "first", 1: "first", 3: "first"}
    for table in tables:
        table.write(second)
    assert both_compacted(oracle, warehouse, catalog, names) == {0: "first", 1: "second", 3: "first"}


def test_a_full_compaction_of_settled_files_drops_what_has_expired(oracle, warehouse, catalog):
    names = ["db.ours", "db.java"]
    tables = [made(catalog, name, "TIMESTAMP(3)", OPTIONS) for name in names]
    data = rows(tables[0], "TIMESTAMP(3)", AGES, "v")
    for table in tables:
        table.write(data)
        table.compact(full=True)
        changes = [{"change": "set", "key": key, "value": value} for key, value in EXPIRY.items()]
        oracle.run(warehouse, [{"op": "alter", "table": table.name, "changes": changes}])
    assert set(both_compacted(oracle, warehouse, catalog, names)) == {0, 1, 4}


def test_reads_never_drop_expired_rows(oracle, warehouse, catalog):
    table = made(catalog, "db.t", "INT", OPTIONS | EXPIRY)
    table.write(rows(table, "INT", AGES, "v"))
    assert table.scan().to_arrow().num_rows == len(AGES)
    assert len(oracle.dump(warehouse, "db.t")) == len(AGES)
