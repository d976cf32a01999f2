"""Aggregates of text and collections: both sides write, compact and read one table.

Java 1.4 is asked only for what later versions do as well: no null in an array of rows, no nested key twice in an array,
no array above the count-limit, no text of white space only, no nested-sequence-field and no nested-key-null-strategy.
"""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pyarrow as pa
import pytest

import paimon_core as paimon
from tests.support.java_rows import as_set, json_rows

ROW = pa.struct([("k", pa.string()), ("v", pa.int32()), ("f", pa.float64())])
TIMED = pa.struct([("v", pa.int32()), ("t", pa.string())])
FLOATS = [None, 0.0, -0.0, 1.5, math.nan]


def any_of(*values: Any) -> Any:
    return lambda source: source.choice(values)


def array_of(element: Any, most: int = 4) -> Any:
    return lambda source: [element(source) for _ in range(source.randrange(most + 1))]


def map_of(keys: list[Any], value: Any) -> Any:
    return lambda source: [(k, value(source)) for k in source.sample(keys, source.randrange(len(keys) + 1))]


def nested_row(*, null_keys: bool) -> Any:
    keys = ["x", "y", "z"] + [None] * null_keys
    return lambda source: {"k": source.choice(keys), "v": source.choice([None, 1, 2]), "f": source.choice(FLOATS)}


def keyed_rows(*key: str, null_keys: bool) -> Any:
    """Arrays that hold a nested key once: Java 1.4 does not merge the rows of the first array."""
    rows = array_of(nested_row(null_keys=null_keys))
    return lambda source: list({repr([row[name] for name in key]): row for row in rows(source)}.values())


def timed(source: random.Random) -> Any:
    if source.random() < 0.2:
        return None
    return {"v": source.randrange(100), "t": source.choice([None, "1", "2", "\uffee", "\U0001f600"])}


CASES: dict[str, tuple[dict[str, str], pa.DataType, Any, str]] = {
    "collect": (
        {"aggregate-function": "collect"},
        pa.list_(pa.float64()),
        array_of(any_of(*FLOATS)),
        "ordered retracts",
    ),
    "collect text": (
        {"aggregate-function": "collect"},
        pa.list_(pa.string()),
        array_of(any_of("a", "", None, "é")),
        "ordered retracts",
    ),
    "collect distinct": (
        {"aggregate-function": "collect", "distinct": "true"},
        pa.list_(pa.float64()),
        array_of(any_of(*FLOATS)),
        "retracts",
    ),
    "collect distinct rows": (
        {"aggregate-function": "collect", "distinct": "true"},
        pa.list_(ROW),
        array_of(nested_row(null_keys=True)),
        "ordered retracts",
    ),
    "collect distinct arrays": (
        {"aggregate-function": "collect", "distinct": "true"},
        pa.list_(pa.list_(pa.float64())),
        array_of(array_of(any_of(*FLOATS), 1)),
        "ordered retracts",
    ),
    "merge_map": (
        {"aggregate-function": "merge_map"},
        pa.map_(pa.string(), pa.int32()),
        map_of(["a", "b", "c"], any_of(None, 1, 2, 3)),
        "retracts",
    ),
    "merge_map by float": (
        {"aggregate-function": "merge_map"},
        pa.map_(pa.float64(), pa.int32()),
        map_of(FLOATS[1:], any_of(None, 1, 2, 3)),
        "retracts",
    ),
    "merge_map_with_keytime": (
        {"aggregate-function": "merge_map_with_keytime", "ts-field": "t"},
        pa.map_(pa.string(), TIMED),
        map_of(["a", "b", "c"], timed),
        "",
    ),
    "nested_update": (
        {"aggregate-function": "nested_update"},
        pa.list_(ROW),
        array_of(nested_row(null_keys=True)),
        "ordered retracts",
    ),
    "nested_update up to a limit": (
        {"aggregate-function": "nested_update", "count-limit": "5"},
        pa.list_(ROW),
        array_of(nested_row(null_keys=True)),
        "ordered retracts",
    ),
    "nested_update by key": (
        {"aggregate-function": "nested_update", "nested-key": "k"},
        pa.list_(ROW),
        keyed_rows("k", null_keys=True),
        "retracts",
    ),
    "nested_update by two": (
        {"aggregate-function": "nested_update", "nested-key": "k,f"},
        pa.list_(ROW),
        keyed_rows("k", "f", null_keys=True),
        "retracts",
    ),
    "nested_partial_update": (
        {"aggregate-function": "nested_partial_update", "nested-key": "k"},
        pa.list_(ROW),
        keyed_rows("k", null_keys=False),
        "",
    ),
}


def java_value(value: Any) -> Any:
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case dict():
            return [java_value(v) for v in value.values()]
        case list() | tuple():
            return [java_value(v) for v in value]
    return value


def comparable(value: Any, ordered: bool) -> str:
    """A dumped value as text; elements whose order is that of a hash table are sorted."""
    return json.dumps(value if ordered or value is None else sorted(value, key=json.dumps))


@pytest.mark.parametrize("name", sorted(CASES))
def test_both_sides_fold_the_same(oracle, warehouse, name):
    """Both write in turns, one row per key and commit, and each reads what the other wrote or compacted."""
    options, kind, value, traits = CASES[name]
    source = random.Random(name)
    table = table_of(warehouse, {"v": kind}, {f"fields.v.{key}": text for key, text in options.items()})

    def agree() -> list[str]:
        ordered = "ordered" in traits
        ours = table.scan().to_arrow().sort_by("k").to_pylist()
        java = oracle.dump(warehouse, "db.t")
        found = [f"{row['k']} {comparable(java_value(row['v']), ordered)}" for row in ours]
        assert found == [f"{row[1]} {comparable(row[2], ordered)}" for row in sorted(java, key=lambda row: row[1])]
        return found

    for commit in range(6):
        keys = [key for key in range(24) if commit == 0 or source.random() < 0.8]
        kinds = [source.choice("+++-") if "retracts" in traits and commit else "+" for _ in keys]
        kinds = [{"+": "+I", "-": "-D"}[kind] for kind in kinds]
        values = [value(source) if source.random() < 0.9 else None for _ in keys]
        if commit % 2:
            table.write(pa.table({"k": keys, "v": pa.array(values, kind)}), kinds=pa.array(kinds))
        else:
            rows = [[kind, key, java_value(one)] for kind, key, one in zip(kinds, keys, values, strict=True)]
            oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": rows}])
        before = agree()
        if commit == 2:
            table.compact(full=True)
            assert agree() == before
        if commit == 4:
            oracle.run(warehouse, [{"op": "compact", "table": "db.t"}])
            assert agree() == before
    table.compact(full=True)
    assert agree() == before


def table_of(warehouse: str, columns: dict[str, pa.DataType], options: dict[str, str]) -> paimon.Table:
    """An aggregating table of a key ``k`` and these columns, which only compacts when it is told to."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), *columns.items()])
    fixed = {"bucket": "1", "merge-engine": "aggregation", "write-only": "true"}
    return catalog.create_table("db.t", schema, primary_key=["k"], options=fixed | options)


def test_listagg_both_ways(oracle, warehouse):
    options = {
        "fields.plain.aggregate-function": "listagg",
        "fields.plain.list-agg-delimiter": "||",
        "fields.once.aggregate-function": "listagg",
        "fields.once.distinct": "true",
    }
    table = table_of(warehouse, {"plain": pa.string(), "once": pa.string()}, options)
    source = random.Random(3)
    model: dict[int, list[str | None]] = {}
    for turn in range(8):
        rows = []
        for key in source.sample(range(12), 8):
            texts = [source.choice([None, "", "a", "é,b", "b,c,b"]) for _ in range(2)]
            rows.append({"k": key, "plain": texts[0] or None, "once": texts[1] or None})
            add_to(model.setdefault(key, [None, None]), rows[-1])
        data = pa.Table.from_pylist(rows, schema=table.arrow_schema)
        if turn % 2:
            table.write(data)
        else:
            oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": json_rows(data, table.schema.fields)}])
        if turn == 3:
            table.compact(full=True)
        if turn == 6:
            oracle.run(warehouse, [{"op": "compact", "table": "db.t"}])
        expected = as_set([["+I", key, *texts] for key, texts in model.items()])
        assert as_set(oracle.dump(warehouse, "db.t")) == expected
        assert as_set(json_rows(table.scan().to_arrow(), table.schema.fields)) == expected


def add_to(held: list[str | None], row: dict[str, Any]) -> None:
    if row["plain"]:
        held[0] = row["plain"] if held[0] is None else f"{held[0]}||{row['plain']}"
    if row["once"] and held[1] is None:
        held[1] = row["once"]
    for part in (row["once"] or "").split(","):
        if part and part not in held[1].split(","):
            held[1] += "," + part
