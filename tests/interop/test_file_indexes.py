"""File indexes: their bytes are those of Java for the same rows, and each side reads the indexes of the other."""

from __future__ import annotations

import datetime
import decimal
import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.fileindex.container import FileIndex
from tests.support.java_rows import as_set, encode, json_rows

ROWS = 3000
UTC = datetime.UTC
DAY = datetime.datetime(2024, 1, 15, 10, 30)
SPECIAL = [0.0, -0.0, float("nan"), float("inf"), -float("inf")]


def values(name: str, choice: random.Random) -> list:
    """Some distinct values of the column: few or many, with the limits of the type."""
    match name:
        case "flag":
            return [True, False]
        case "tiny":
            return [-128, 127, 0, 5]
        case "small":
            return [*range(-300, 300, 7), -(2**15)]
        case "int":
            return [choice.randrange(-(2**31), 2**31) for _ in range(900)]
        case "big":
            return [choice.randrange(-(2**63) + 1, 2**63) for _ in range(2000)]
        case "float" | "double":
            # Floats with few digits have hash codes that fill one bucket of Java's map, whose order is not modelled.
            return [*SPECIAL, *(n / 7 + 0.1 for n in range(-40, 40))]
        case "price":
            return [decimal.Decimal(n) / 100 for n in range(-500, 500)]
        case "short":
            return [f"v{n}" for n in range(20)] + ["", "ü", "中文"]
        case "text":
            return [choice.randbytes(choice.randrange(60)).hex() for _ in range(1500)]
        case "bytes":
            return [choice.randbytes(choice.randrange(80)) for _ in range(500)]
        case "day":
            return [datetime.date(1969, 7, 20) + datetime.timedelta(days=n) for n in range(100)]
        case "clock":
            return [datetime.time(n, 25, 45, 678000) for n in range(24)]
        case "ms" | "us":
            step = 1000 if name == "ms" else 1
            return [DAY + datetime.timedelta(microseconds=step * n * 777) for n in range(-300, 300)]
    return [datetime.datetime(1950, 5, 5, tzinfo=UTC) + datetime.timedelta(microseconds=n) for n in range(200)]


TYPES = {
    "flag": "BOOLEAN",
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "int": "INT",
    "big": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "price": "DECIMAL(10, 2)",
    "short": "VARCHAR(10)",
    "text": "STRING",
    "bytes": "BYTES",
    "day": "DATE",
    "clock": "TIME(3)",
    "ms": "TIMESTAMP(3)",
    "us": "TIMESTAMP(6)",
    "zoned": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
}
NUMBERS = [c for c in TYPES if c not in ("flag", "price", "bytes", "short", "text")]
KINDS = {
    "bloom-filter": [*NUMBERS, "short", "text", "bytes"],
    "bitmap": [*NUMBERS, "flag", "short", "text"],
    "bsi": [c for c in NUMBERS if c not in ("float", "double")] + ["price"],
    "range-bitmap": [c for c in TYPES if c != "bytes"],
}
INDEXES = {f"file-index.{kind}.columns": ",".join(columns) for kind, columns in KINDS.items()} | {
    "file-index.bloom-filter.text.items": "2000",
    "file-index.bloom-filter.text.fpp": "0.01",
    "file-index.bitmap.int.version": "1",
    "file-index.bitmap.short.version": "1",
    "file-index.bitmap.text.index-block-size": "300b",
    "file-index.range-bitmap.text.chunk-size": "256b",
    "file-index.range-bitmap.big.chunk-size": "0b",
}


def random_rows(schema: pa.Schema) -> pa.Table:
    choice = random.Random(7)
    columns = []
    for at, field in enumerate(schema):
        some = values(field.name, choice)
        # Some columns have one null, some many, some none.
        drawn = [choice.choice(some) for _ in range(ROWS)]
        for row in range(0, ROWS, {0: ROWS, 1: 7}.get(at % 3, ROWS + 1)):
            drawn[row] = None if at % 3 < 2 else drawn[row]
        columns.append(pa.array(drawn, field.type))
    return pa.table(columns, schema=schema)


def entries_of(table):
    return table.context.manifests.entries_of(table.context.snapshots.latest())


def index_of(table):
    """The bytes of the index of the only live file."""
    ((entry,),) = [entries_of(table)]
    if entry.file.embedded_index is not None:
        return entry.file.embedded_index
    (name,) = entry.file.extra_files
    return table.context.storage.read(table.context.paths.data_file("", entry.bucket, name))


def create(oracle, warehouse, options):
    fields = [{"name": name, "type": kind} for name, kind in TYPES.items()]
    create = {"op": "create", "table": "db.java", "fields": fields, "options": {"bucket": "-1"} | options}
    oracle.run(warehouse, [{"op": "createDatabase", "name": "db"}, create])
    return paimon.open_catalog(warehouse)


def test_bytes_are_equal_for_each_kind_and_type(oracle, warehouse):
    catalog = create(oracle, warehouse, INDEXES)
    java = catalog.table("db.java")
    rows = random_rows(java.arrow_schema)
    json = json_rows(rows, java.context.schema.fields, ["+I"] * ROWS)
    oracle.run(warehouse, [{"op": "write", "table": "db.java", "rows": json}])
    ours = catalog.create_table("db.ours", TYPES, options=INDEXES)
    ours.write(rows)
    theirs, mine = (FileIndex.of_bytes(index_of(catalog.table(f"db.{t}")), t) for t in ("java", "ours"))
    found = {(c, k) for c, kinds in theirs.places.items() for k in kinds}
    assert found == {(c, k) for k, columns in KINDS.items() for c in columns}
    different = [place for place in found if theirs.payload(*place) != mine.payload(*place)]
    assert different == []
    assert index_of(catalog.table("db.java")) == index_of(catalog.table("db.ours"))


FILTERED = {"file-index.bitmap.columns": "short,day", "file-index.range-bitmap.columns": "int,double"} | {
    "file-index.bsi.columns": "price,us",
    "file-index.bloom-filter.columns": "text,big",
    "file-index.bloom-filter.text.items": "3000",
}


@pytest.mark.parametrize("beside", [False, True])
def test_each_side_filters_by_the_indexes_of_the_other(oracle, warehouse, beside):
    threshold = {"file-index.in-manifest-threshold": "0 b" if beside else "10 mb"}
    catalog = create(oracle, warehouse, FILTERED | threshold)
    java = catalog.table("db.java")
    fields = java.context.schema.fields
    ours = catalog.create_table("db.ours", TYPES, options=FILTERED | threshold)
    rows = random_rows(java.arrow_schema)
    parts = [rows.slice(at, 100) for at in (0, 100, 200)]
    steps = [{"op": "write", "table": "db.java", "rows": json_rows(part, fields)} for part in parts]
    for part in parts:
        ours.write(part)
    oracle.run(warehouse, steps)
    held = pa.concat_tables(parts)
    shown = [f for f in fields if f.name in ("int", "text")]
    wanted, dumps = [], []
    for name in ("short", "day", "int", "double", "price", "us", "text", "big"):
        value = next(v for v in held[name] if v.is_valid)
        for op, where in (
            ("=", col(name) == value.as_py()),
            (">=", col(name) >= value.as_py()),
            ("isNull", col(name).is_null()),
        ):
            wanted.append(as_set(json_rows(held.filter(where.bind(fields).to_arrow()), shown)))
            for table in (java, ours):
                found = catalog.table(table.name).scan(["int", "text"], where=where).to_arrow()
                assert as_set(json_rows(found, shown)) == wanted[-1], (table.name, name, op)
            filters = [[name, op, encode(value, java.context.schema.by_name[name].type)]]
            dumps.append({"op": "dump", "table": "db.ours", "filter": filters})
    places = [list(TYPES).index(f.name) for f in shown]
    # Java leaves out the rows that an index excludes, and may return others.
    for dump, rows in zip(oracle.run(warehouse, dumps), wanted, strict=True):
        assert set(as_set([[r[0], *(r[1 + at] for at in places)] for r in dump["rows"]])) >= set(rows)
    absent = "0" * 7
    assert catalog.table("db.java").scan(where=col("text") == absent).to_arrow().num_rows == 0
    (plan,) = oracle.run(warehouse, [{"op": "plan", "table": "db.ours", "filter": [["text", "=", absent]]}])
    assert len(plan["splits"]) == int(beside)


def test_a_table_with_a_key_is_compacted_on_either_side(oracle, warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"bucket": "1", "write-only": "true", "file-index.bitmap.columns": "v"}
    columns = {"k": "INT NOT NULL", "v": "STRING"}
    table = catalog.create_table("db.t", columns, primary_key=["k"], options=options)
    held = {}
    for turn in range(4):
        rows = dict.fromkeys(range(turn, 12, turn + 1), f"{turn}")
        held |= rows
        if turn % 2:
            json = [["+I", k, v] for k, v in rows.items()]
            oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": json}, {"op": "compact", "table": "db.t"}])
        else:
            table.write(pa.table([list(rows), list(rows.values())], schema=table.arrow_schema))
            table.compact(full=True)
        assert index_of(table)
        for v in ("0", str(turn), "none"):
            wanted = sorted(k for k, found in held.items() if found == v)
            assert table.scan(["k"], where=col("v") == v).to_arrow()["k"].to_pylist() == wanted
            (dump,) = oracle.run(warehouse, [{"op": "dump", "table": "db.t", "filter": [["v", "=", v]]}])
            assert sorted(row[1] for row in dump["rows"] if row[2] == v) == wanted
