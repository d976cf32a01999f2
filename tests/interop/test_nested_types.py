"""Nested columns: Java reads what we wrote and we read what Java wrote, merged and not."""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from tests.support.long_cases import long_cases

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
    "bag": pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False)),
    "pair": pa.struct([("in", pa.struct([("n", pa.int32()), ("s", pa.list_(pa.string()))]))]),
    "flat": pa.string(),
}
TYPES = {"bag": "MULTISET<STRING>"}
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
        "bag": [("a", 2), ("b", 1)],
        "pair": {"in": None},
        "flat": "f",
    },
    {
        "k": 2,
        "a": [],
        "m": [],
        "r": {"x": None, "y": None, "z": None},
        "deep": [None],
        "bag": [],
        "pair": {"in": {"n": 5, "s": ["t"]}},
        "flat": "g",
    },
    {"k": 3, "a": None, "m": None, "r": None, "deep": None, "bag": None, "pair": {"in": None}, "flat": None},
]
JSON = [
    [
        "+I",
        1,
        [1, None],
        [["p", 1], ["q", None]],
        [1, ["u", None], ["2020-01-01T00:00:00.000005", "1969-01-01"]],
        [[[[1, "1.50"]], None], []],
        [["a", 2], ["b", 1]],
        [None],
        "f",
    ],
    ["+I", 2, [], [], [None, None, None], [None], [], [[5, ["t"]]], "g"],
    ["+I", 3, None, None, None, None, None, [None], None],
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
    {"name": "bag", "type": {"type": "MULTISET", "element": "STRING"}},
    {
        "name": "pair",
        "type": {
            "type": "ROW",
            "fields": [
                {
                    "id": 20,
                    "name": "in",
                    "type": {
                        "type": "ROW",
                        "fields": [
                            {"id": 21, "name": "n", "type": "INT"},
                            {"id": 22, "name": "s", "type": {"type": "ARRAY", "element": "STRING"}},
                        ],
                    },
                }
            ],
        },
    },
    {"name": "flat", "type": "STRING"},
]


FORMATS = [("parquet", True), ("orc", False), *long_cases([("parquet", False), ("orc", True), ("avro", True)])]


@pytest.mark.parametrize(("kind", "keyed"), FORMATS)
def test_nested_columns_in_both_directions(oracle, warehouse, kind, keyed):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("d")
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), *ARROW.items()])
    options = {"file.format": kind} | ({"bucket": "1", "write-only": "true"} if keyed else {})
    key = ["k"] if keyed else []
    table = catalog.create_table("d.ours", schema, types=TYPES, primary_key=key, options=options)
    rows = pa.Table.from_pylist(ROWS, schema)
    table.write(rows.slice(0, 2))
    table.write(rows.slice(1) if keyed else rows.slice(2))
    assert table.scan().to_arrow().sort_by("k").to_pylist() == ROWS
    assert oracle.dump(warehouse, "d.ours") == JSON
    if keyed:
        table.compact(full=True)
        assert oracle.dump(warehouse, "d.ours") == JSON

    create = {"op": "create", "table": "d.theirs", "fields": JAVA, "primaryKeys": key, "options": options}
    oracle.run(warehouse, [create, {"op": "write", "table": "d.theirs", "rows": JSON}])
    theirs = catalog.table("d.theirs")
    assert theirs.scan().to_arrow().sort_by("k").to_pylist() == ROWS
    assert theirs.scan(["r"], where=paimon.col("flat") == "g").to_arrow().to_pylist() == [{"r": ROWS[1]["r"]}]
    theirs.write(rows.slice(0, 1))
    assert len(oracle.dump(warehouse, "d.theirs")) == (3 if keyed else 4)


VARIANT = {"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}


@pytest.mark.parametrize("keyed", [True, False])
def test_types_of_parquet_alone_in_both_directions(oracle, warehouse, keyed):
    """VARIANT, nanoseconds inside nested columns, and a MULTISET of other values than texts."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("d")
    key = {"primary_key": ["k"], "options": {"bucket": "1", "write-only": "true"}} if keyed else {}
    columns = {
        "k": "INT NOT NULL",
        "v": "VARIANT",
        "n": "ROW<t TIMESTAMP(9), ts MAP<INT, ARRAY<TIMESTAMP(7) WITH LOCAL TIME ZONE NOT NULL>>, v VARIANT NOT NULL>",
        "b": "MULTISET<DATE>",
    }
    kinds = {name: paimon.types.parse_type(text) for name, text in columns.items()}
    table = catalog.create_table(
        "d.ours", pa.schema([(n, t.to_arrow()) for n, t in kinds.items()]), types=columns, **key
    )
    nested = {"t": -1, "ts": [(1, [500, 1_700_000_000_000_000_100])], "v": VARIANT}
    values = [
        {"k": 1, "v": VARIANT, "n": nested, "b": [(datetime.date(2020, 2, 29), 3)]},
        {"k": 2, "v": None, "n": None, "b": []},
        {"k": 3, "v": None, "n": {"t": None, "ts": None, "v": VARIANT}, "b": None},
    ]
    rows = pa.Table.from_pylist(values, table.arrow_schema)
    table.write(rows)
    table.write(rows.slice(0, 0) if not keyed else rows.slice(1, 1))
    assert table.scan().to_arrow().sort_by("k").equals(rows)
    if keyed:
        table.compact(full=True)
    variant = ["0c01", "010000"]
    first = [
        "1969-12-31T23:59:59.999999999",
        [[1, ["1970-01-01T00:00:00.000000500Z", "2023-11-14T22:13:20.000000100Z"]]],
    ]
    expected = [
        ["+I", 1, variant, [*first, variant], [["2020-02-29", 3]]],
        ["+I", 2, None, None, []],
        ["+I", 3, None, [None, None, variant], None],
    ]
    assert oracle.dump(warehouse, "d.ours") == expected
    fields = [{"name": n, "type": t.with_ids(iter(range(10, 20))).to_json()} for n, t in kinds.items()]
    create = {"op": "create", "table": "d.theirs", "fields": fields, "primaryKeys": ["k"] if keyed else []}
    options = {"bucket": "1"} if keyed else {}
    oracle.run(warehouse, [{**create, "options": options}, {"op": "write", "table": "d.theirs", "rows": expected}])
    theirs = catalog.table("d.theirs")
    assert theirs.scan().to_arrow().sort_by("k").equals(rows)
    assert theirs.schema.fields == table.schema.fields


SHREDDED = [
    {"i": 5, "s": "x" * 70, "d": decimal.Decimal("1.50"), "at": datetime.date(2020, 1, 1), "l": [1, None, "a"]},
    {"i": 2**40, "s": None, "more": {"z": 1, "é": [True, b"b"]}, "o": {"p": 1.5, "q": datetime.date(2020, 2, 29)}},
    {"o": {"p": "text"}, "l": []},
    {},
    [1, {"i": 1}],
    "text",
]


def test_variants_that_java_shreds_are_put_together(oracle, warehouse):
    def row(fields):
        return {"type": "ROW", "fields": [{"id": n, "name": k, "type": t} for n, (k, t) in enumerate(fields.items())]}

    array = {"type": "ARRAY", "element": "BIGINT"}
    kinds = {"i": "INT", "s": "STRING", "d": "DECIMAL(9, 2)", "l": array}
    schema = row({"v": row(kinds | {"o": row({"p": "DOUBLE", "q": "STRING"})})})
    given = {
        "fixed": ({"parquet.variant.shreddingSchema": json.dumps(schema)}, SHREDDED),
        "inferred": ({"variant.inferShreddingSchema": "true"}, [{"i": 1, "s": "x"}, {"i": 2**40, "o": {"p": 1.5}}]),
    }
    steps, fields = [], [{"name": "k", "type": "INT"}, {"name": "v", "type": "VARIANT"}]
    for name, (options, values) in given.items():
        variants = [paimon.Variant.of(value) for value in values]
        rows = [["+I", n, [v.value.hex(), v.metadata.hex()]] for n, v in enumerate(variants)] + [["+I", 9, None]]
        table = {"table": f"d.{name}"}
        steps.append({"op": "create", **table, "fields": fields, "options": options | {"write-only": "true"}})
        steps.append({"op": "write", **table, "rows": rows})
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("d")
    oracle.run(warehouse, steps)
    for name, (_, values) in given.items():
        (file,) = (Path(warehouse) / "d.db" / name).rglob("data-*.parquet")
        assert "typed_value" in str(pq.read_schema(file))
        found = catalog.table(f"d.{name}").scan().to_arrow().sort_by("k")["v"].to_pylist()
        assert [v and paimon.Variant.read(v).to_python() for v in found] == [*values, None]


def test_ids_of_nested_fields_are_those_of_java(oracle, warehouse):
    inner = pa.struct(
        [("p", pa.int32()), ("q", pa.list_(pa.struct([("r", pa.int8()), ("s", pa.struct([("t", pa.int8())]))])))]
    )
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("d")
    ours = catalog.create_table("d.ours", pa.schema([("a", pa.int32()), ("s", inner), ("z", pa.int32())]))
    fields = [{"name": f.name, "type": f.type.to_json()} for f in ours.schema.fields]
    oracle.run(warehouse, [{"op": "create", "table": "d.theirs", "fields": fields}])
    theirs = catalog.table("d.theirs").schema
    assert theirs.fields == ours.schema.fields
    assert theirs.highest_field_id == ours.schema.highest_field_id


@pytest.mark.parametrize("keyed", [True, False])
def test_years_beyond_nanoseconds_are_read_in_microseconds(oracle, warehouse, keyed):
    far, near = "9999-12-31T23:59:59.123456789", "0001-01-01T00:00:00.000000001"
    fields = [
        {"name": "k", "type": "INT NOT NULL"},
        {"name": "t", "type": "TIMESTAMP(9)"},
        {"name": "a", "type": {"type": "ARRAY", "element": "TIMESTAMP(7) WITH LOCAL TIME ZONE"}},
    ]
    create = {"op": "create", "table": "d.t", "fields": fields, "primaryKeys": ["k"] if keyed else []}
    options = {"bucket": "1", "write-only": "true"} if keyed else {}
    rows = [["+I", 1, far, [f"{near[:-2]}00Z"]], ["+I", 2, near, None]]
    change = {"op": "alter", "table": "d.t", "changes": [{"change": "rename", "name": "a", "to": "b"}]}
    write = {"op": "write", "table": "d.t", "rows": rows}
    oracle.run(warehouse, [{**create, "options": options}, write, write, change])
    table = paimon.open_catalog(warehouse).table("d.t")
    with pytest.raises(paimon.UnsupportedFeature, match=r"'t'.*timestamps_in_micros"):
        table.scan().to_arrow()
    found = table.scan(timestamps_in_micros=True)
    assert found.schema.field("t").type == pa.timestamp("us")
    first, last = datetime.datetime(9999, 12, 31, 23, 59, 59, 123456), datetime.datetime(1, 1, 1)
    expected = [
        {"k": 1, "t": first, "b": [last.replace(tzinfo=datetime.UTC)]},
        {"k": 2, "t": last, "b": None},
    ]
    assert found.to_arrow().sort_by("k").to_pylist() == sorted(expected * (1 if keyed else 2), key=lambda r: r["k"])
    where = paimon.col("t") > "9999-01-01"
    assert set(table.scan(["k"], where, timestamps_in_micros=True).to_arrow()["k"].to_pylist()) == {1}
