"""Partial update: both sides write, compact and read one table, with every kind of row that its options allow."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import paimon_core as paimon
from tests.support.java_rows import as_set, json_rows

COLUMNS = {"g": "INT", "h": "BIGINT", "i": "STRING", "a": "INT", "b": "STRING", "c": "INT", "d": "DOUBLE"}
REMOVE = "partial-update.remove-record-on-sequence-group"
KINDS = ["+I", "+I", "+U", "-U", "-D", "-D"]
CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "plain": ({}, ["+I", "+U"]),
    "sequence-field": ({"sequence.field": "g,h"}, ["+I", "+U"]),
    "ignore-delete": ({"ignore-delete": "true"}, KINDS),
    "remove-on-delete": ({"partial-update.remove-record-on-delete": "true"}, KINDS),
    "groups": ({"fields.g.sequence-group": "a,b", "fields.h,i.sequence-group": "c"}, KINDS),
    "groups-after-a-field": ({"sequence.field": "d", "fields.g.sequence-group": "a,b"}, KINDS),
    "groups-ignoring-deletes": ({"fields.g.sequence-group": "a,b", "ignore-delete": "true"}, KINDS),
    "remove-on-group": ({"fields.g.sequence-group": "a,b", "fields.h,i.sequence-group": "c", REMOVE: "g"}, KINDS),
    "remove-on-groups": (
        {"fields.g.sequence-group": "a,b", "fields.i,h.sequence-group": "c", REMOVE: "g,h"},
        KINDS,
    ),
    "default-function": (
        {"fields.g.sequence-group": "a,b,c,d,h,i", "fields.default-aggregate-function": "last_non_null_value"},
        KINDS,
    ),
    "functions": (
        {
            "fields.g.sequence-group": "a,b",
            "fields.h,i.sequence-group": "c,d",
            "fields.a.aggregate-function": "sum",
            "fields.b.aggregate-function": "listagg",
            "fields.b.ignore-retract": "true",
            "fields.c.aggregate-function": "last_value",
            "fields.d.aggregate-function": "max",
            "fields.d.ignore-retract": "true",
        },
        KINDS,
    ),
    "first-values": (
        {
            "fields.g.sequence-group": "a,b,d",
            "fields.a.aggregate-function": "first_value",
            "fields.a.ignore-retract": "true",
            "fields.b.aggregate-function": "first_non_null_value",
            "fields.b.ignore-retract": "true",
            "fields.d.aggregate-function": "last_non_null_value",
            REMOVE: "g",
        },
        KINDS,
    ),
}
FIXED = {"bucket": "1", "merge-engine": "partial-update", "write-only": "true"}


def rows_of(source: random.Random) -> Iterator[dict[str, Any]]:
    for _ in range(12):
        row = {"k": source.randrange(5), "g": source.choice([None, 1, 2, 3]), "h": source.choice([None, -1, 2**40])}
        row |= {"i": source.choice([None, "", "x"]), "a": source.choice([None, 1, 2, 3])}
        row |= {"b": source.choice([None, "p", "q"]), "c": source.choice([None, 5, 6])}
        yield row | {"d": source.choice([None, 0.5, 2.5])}


@pytest.mark.parametrize("name", sorted(CASES))
def test_both_sides_agree_after_every_commit(oracle, warehouse, name):
    options, kinds = CASES[name]
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    columns = {"k": "INT"} | COLUMNS
    arrow = pa.schema([pa.field(n, paimon.types.parse_type(t).to_arrow()) for n, t in columns.items()])
    table = catalog.create_table("db.t", arrow, types=columns, primary_key=["k"], options=FIXED | options)
    fields = table.schema.fields
    source = random.Random(name)

    def agree() -> list[str]:
        found = as_set(json_rows(table.scan().to_arrow(), fields))
        assert found == as_set(oracle.dump(warehouse, "db.t"))
        return found

    seen = set()
    for commit in range(10):
        data = pa.Table.from_pylist(list(rows_of(source)), schema=table.arrow_schema)
        chosen = [source.choice(kinds) for _ in range(len(data))]
        if commit % 2:
            table.write(data, kinds=pa.array(chosen))
        else:
            oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": json_rows(data, fields, chosen)}])
        before = agree()
        if commit in (2, 7):
            table.compact(full=True)
            assert agree() == before
        if commit in (3, 8):
            oracle.run(warehouse, [{"op": "compact", "table": "db.t"}])
            assert agree() == before
        seen.update(before)
    assert len(seen) > 10, "the rows should change from commit to commit"


def test_a_projection_reads_the_same_columns(oracle, warehouse):
    """Java reads the ordering columns along, we do too; the removal that only we apply then is told below."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = FIXED | {"fields.g.sequence-group": "a", "fields.a.aggregate-function": "sum"}
    schema = pa.schema({"k": pa.int32(), "g": pa.int32(), "a": pa.int32(), "c": pa.int32()})
    table = catalog.create_table("db.t", schema, primary_key=["k"], options=options)
    for g, a, c in [(2, 1, 10), (1, 5, None), (None, 100, 11)]:
        table.write(pa.table({"k": [1], "g": pa.array([g], pa.int32()), "a": [a], "c": pa.array([c], pa.int32())}))
    assert table.scan(columns=["a"]).to_arrow().to_pylist() == [{"a": 6}]
    assert oracle.dump(warehouse, "db.t", projection=["a"]) == [["+I", 6]]
    assert table.scan(columns=["c"]).to_arrow().to_pylist() == [{"c": 11}]
    assert oracle.dump(warehouse, "db.t", projection=["c"]) == [["+I", 11]]


@pytest.mark.parametrize(
    "options",
    [
        {"ignore-delete": "true", "partial-update.remove-record-on-delete": "true"},
        {"ignore-delete": "true", "fields.g.sequence-group": "a", REMOVE: "g"},
        {"fields.g.sequence-group": "a", "partial-update.remove-record-on-delete": "true"},
        {"fields.g.sequence-group": "a", REMOVE: "a"},
        {"fields.g.sequence-group": "a", "fields.h.sequence-group": "a"},
        {"fields.g.sequence-group": "nope"},
        {"fields.nope.sequence-group": "a"},
        {"fields.a.aggregate-function": "sum"},
        {"fields.default-aggregate-function": "sum"},
        {"sequence.field": "g", "fields.g.aggregate-function": "last_value"},
    ],
    ids=str,
)
def test_both_sides_refuse_these_options(oracle, warehouse, options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    schema = pa.schema({"k": pa.int32()} | {n: paimon.types.parse_type(t).to_arrow() for n, t in COLUMNS.items()})
    with pytest.raises(paimon.InvalidRequest):
        catalog.create_table("db.t", schema, primary_key=["k"], options=FIXED | options)
    fields = [{"name": n, "type": t} for n, t in {"k": "INT", **COLUMNS}.items()]
    step = {"op": "create", "table": "db.j", "fields": fields, "primaryKeys": ["k"], "partitionKeys": []}
    write = {"op": "write", "table": "db.j", "rows": [["+I", 1] + [None] * len(COLUMNS)]}
    results = oracle.run(warehouse, [step | {"options": FIXED | options}, write], allow_errors=True)
    assert "error" in results[1]
