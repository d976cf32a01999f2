"""Nested columns: Java reads what we wrote and we read what Java wrote, merged and not."""

from __future__ import annotations

import datetime
import decimal

import pyarrow as pa
import pytest

import paimon_core as paimon

ARROW = {
    "a": pa.list_(pa.int32()),
    "m": pa.map_(pa.string(), pa.int64()),
    "r": pa.struct(
        [
            ("x", pa.int32()),
            ("y", pa.list_(pa.string())),
            ("z", pa.struct([("at", pa.timestamp("us")), ("d", pa.date32())])),
        ]
    ),
    "deep": pa.list_(pa.list_(pa.map_(pa.int32(), pa.decimal128(10, 2)))),
    "flat": pa.string(),
}
ROWS = [
    {
        "k": 1,
        "a": [1, None],
        "m": [("p", 1), ("q", None)],
        "r": {
            "x": 1,
            "y": ["u", None],
            "z": {"at": datetime.datetime(2020, 1, 1, 0, 0, 0, 5), "d": datetime.date(1969, 1, 1)},
        },
        "deep": [[[(1, decimal.Decimal("1.50"))], None], []],
        "flat": "f",
    },
    {"k": 2, "a": [], "m": [], "r": {"x": None, "y": None, "z": None}, "deep": [None], "flat": "g"},
    {"k": 3, "a": None, "m": None, "r": None, "deep": None, "flat": None},
]
JSON = [
    [
        "+I",
        1,
        [1, None],
        [["p", 1], ["q", None]],
        [1, ["u", None], ["2020-01-01T00:00:00.000005", "1969-01-01"]],
        [[[[1, "1.50"]], None], []],
        "f",
    ],
    ["+I", 2, [], [], [None, None, None], [None], "g"],
    ["+I", 3, None, None, None, None, None],
]
ARRAY = {"type": "ARRAY", "element": "INT"}
JAVA = [
    {"name": "k", "type": "INT NOT NULL"},
    {"name": "a", "type": ARRAY},
    {"name": "m", "type": {"type": "MAP", "key": "STRING", "value": "BIGINT"}},
    {
        "name": "r",
        "type": {
            "type": "ROW",
            "fields": [
                {"id": 10, "name": "x", "type": "INT"},
                {"id": 11, "name": "y", "type": {"type": "ARRAY", "element": "STRING"}},
                {
                    "id": 12,
                    "name": "z",
                    "type": {
                        "type": "ROW",
                        "fields": [
                            {"id": 13, "name": "at", "type": "TIMESTAMP(6)"},
                            {"id": 14, "name": "d", "type": "DATE"},
                        ],
                    },
                },
            ],
        },
    },
    {
        "name": "deep",
        "type": {
            "type": "ARRAY",
            "element": {"type": "ARRAY", "element": {"type": "MAP", "key": "INT", "value": "DECIMAL(10, 2)"}},
        },
    },
    {"name": "flat", "type": "STRING"},
]


@pytest.mark.parametrize("keyed", [True, False])
def test_nested_columns_in_both_directions(oracle, warehouse, keyed):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("d")
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), *ARROW.items()])
    key = {"primary_key": ["k"], "options": {"bucket": "1", "write-only": "true"}} if keyed else {}
    table = catalog.create_table("d.ours", schema, **key)
    rows = pa.Table.from_pylist(ROWS, schema)
    table.write(rows.slice(0, 2))
    table.write(rows.slice(1) if keyed else rows.slice(2))
    assert table.scan().to_arrow().sort_by("k").to_pylist() == ROWS
    assert oracle.dump(warehouse, "d.ours") == JSON
    if keyed:
        table.compact(full=True)
        assert oracle.dump(warehouse, "d.ours") == JSON

    create = {"op": "create", "table": "d.theirs", "fields": JAVA, "primaryKeys": ["k"] if keyed else []}
    options = {"bucket": "1"} if keyed else {}
    oracle.run(warehouse, [{**create, "options": options}, {"op": "write", "table": "d.theirs", "rows": JSON}])
    theirs = catalog.table("d.theirs")
    assert theirs.scan().to_arrow().sort_by("k").to_pylist() == ROWS
    assert theirs.scan(["r"], where=paimon.col("flat") == "g").to_arrow().to_pylist() == [{"r": ROWS[1]["r"]}]
    theirs.write(rows.slice(0, 1))
    assert len(oracle.dump(warehouse, "d.theirs")) == (3 if keyed else 4)
