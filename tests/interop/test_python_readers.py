"""pypaimon and pypaimon-rust read tables that we altered, and we read those that pypaimon altered."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import paimon_core as paimon
from paimon_core import col
from paimon_core.alter import UpdateType

COLUMNS = {
    "k": "INT NOT NULL",
    "i": "INT",
    "s": "STRING",
    "d": "DECIMAL(10, 2)",
    "gone": "STRING",
    "r": "ROW<a INT, b STRING>",
    "l": "ARRAY<ROW<x INT, y STRING>>",
    "m": "MAP<STRING NOT NULL, INT>",
    "ts": "TIMESTAMP(6)",
    "z": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "f": "FLOAT",
    "t": "TIME(0)",
    "b": "BYTES",
}
FIRST = {
    "k": 1,
    "i": 7,
    "s": "a",
    "d": decimal.Decimal("1.50"),
    "gone": "old",
    "r": {"a": 1, "b": "b"},
    "l": [{"x": 1, "y": "y"}],
    "m": [("p", 1)],
    "ts": datetime.datetime(2024, 2, 29, 1, 2, 3, 456789),
    "z": datetime.datetime(2024, 2, 29, 1, 2, 3, 456789, tzinfo=datetime.UTC),
    "f": 0.5,
    "t": datetime.time(1, 2, 3),
    "b": b"x",
}
LAST = {
    "k": 3,
    "i": 2**40,
    "text": "c",
    "gone": 5,
    "n": {"p": 1, "q": ["u"]},
    "r": {"a": 2**40, "c": 4},
    "l": [{"z": 2, "y": 3}],
    "m": [("q", 2**40)],
    "d": decimal.Decimal("123456789012.25"),
    "f": 2.5,
}
CHANGES = """DROP COLUMN gone, RENAME COLUMN s TO text, ALTER COLUMN i TYPE BIGINT, ALTER COLUMN f TYPE DOUBLE,
ADD COLUMN gone INT COMMENT 'again', ADD COLUMN n ROW<p INT, q ARRAY<STRING>>, ADD COLUMN r.c INT, DROP COLUMN r.b,
ALTER COLUMN r.a TYPE BIGINT, RENAME COLUMN l.element.x TO z, DROP COLUMN l.element.y, ADD COLUMN l.element.y INT,
ALTER COLUMN m.value TYPE BIGINT, ALTER COLUMN d TYPE DECIMAL(20, 2), ALTER COLUMN ts FIRST,
ALTER COLUMN i COMMENT 'wide', ALTER COLUMN ts AFTER k, COMMENT 'a table'"""
SAME_CHANGES: list[list[Any]] = [
    ["drop_column", "gone"],
    ["rename_column", "s", "text"],
    ["update_column_type", "i", {"type": "BIGINT"}],
    ["update_column_type", "f", {"type": "DOUBLE"}],
    ["add_column", "gone", {"type": "INT"}, "again"],
    [
        "add_column",
        "n",
        {
            "type": {
                "type": "ROW",
                "fields": [
                    {"id": 0, "name": "p", "type": "INT"},
                    {"id": 1, "name": "q", "type": {"type": "ARRAY", "element": "STRING"}},
                ],
            }
        },
    ],
    ["add_column", ["r", "c"], {"type": "INT"}],
    ["drop_column", ["r", "b"]],
    ["update_column_type", ["r", "a"], {"type": "BIGINT"}],
    ["rename_column", ["l", "element", "x"], "z"],
    ["drop_column", ["l", "element", "y"]],
    ["add_column", ["l", "element", "y"], {"type": "INT"}],
    ["update_column_type", ["m", "value"], {"type": "BIGINT"}],
    ["update_column_type", "d", {"type": "DECIMAL(20, 2)"}],
    ["update_column_position", {"first": "ts"}],
    ["update_column_comment", "i", "wide"],
    ["update_column_position", {"after": ["ts", "k"]}],
    ["update_comment", "a table"],
]
PYPAIMON_ALTERS = """
import datetime, decimal, json, sys
import pyarrow as pa, pypaimon
from pypaimon.schema.data_types import DataTypeParser, PyarrowFieldParser
from pypaimon.schema.schema_change import Move, SchemaChange
warehouse, tables, changes, first, last = json.load(sys.stdin)
catalog = pypaimon.CatalogFactory.create({"warehouse": warehouse})

def write(name, row):
    table = catalog.get_table(name)
    schema = PyarrowFieldParser.from_paimon_schema(table.fields)
    builder = table.new_batch_write_builder()
    write = builder.new_write()
    decoded = {k: READ.get(k, lambda v: v)(v) for k, v in row.items() if k in schema.names}
    write.write_arrow(pa.Table.from_pylist([decoded], schema))
    builder.new_commit().commit(write.prepare_commit())
    write.close()

def argument(value):
    if not isinstance(value, dict):
        return value
    if "type" in value:
        return DataTypeParser.parse_data_type(value["type"])
    return Move.first(value["first"]) if "first" in value else Move.after(*value["after"])

READ = {"d": decimal.Decimal, "b": str.encode, "t": datetime.time.fromisoformat, "ts": datetime.datetime.fromisoformat}
READ |= {"z": READ["ts"], "m": lambda entries: list(map(tuple, entries))}
KIND = {"ts": pa.timestamp("us"), "z": pa.timestamp("us", "UTC"), "k": pa.int32(), "i": pa.int32(), "f": pa.float32()}
KIND |= {"s": pa.string(), "gone": pa.string(), "d": pa.decimal128(10, 2), "t": pa.time32("ms"), "b": pa.binary()}
KIND |= {"r": pa.struct({"a": pa.int32(), "b": pa.string()}), "m": pa.map_(pa.string(), pa.int32())}
KIND["l"] = pa.list_(pa.struct({"x": pa.int32(), "y": pa.string()}))
for name, create in tables:
    if create:
        schema = pa.schema([pa.field(n, KIND[n], n != "k") for n in create["columns"]])
        keys = create["keys"]
        catalog.create_table(name, pypaimon.Schema.from_pyarrow_schema(schema, None, keys, create["options"]), False)
    write(name, first)
    write(name, {"k": 2})
    for method, *arguments in changes:
        catalog.alter_table(name, [getattr(SchemaChange, method)(*map(argument, arguments))])
    write(name, last)
print("ANSWER" + json.dumps(None))
"""


def options_of(kind, keyed):
    return {"file.format": kind} | ({"bucket": "1", "write-only": "true"} if keyed else {})


def plain(rows):
    """Rows as the answers of another reader: by key, other values than JSON's as text."""
    return sorted(json.loads(json.dumps(rows, default=str)), key=lambda row: row["k"])


def expected_rows(names, first, last):
    """The rows after the changes, in the order of ``names``; ``first`` and ``last`` were written."""
    kept = {**first, "text": first["s"], "gone": None, "r": {"a": 1, "c": None}, "l": [{"z": 1, "y": None}]}
    return plain([{n: row.get(n) for n in names} for row in (kept, {"k": 2}, last)])


KINDS = [(kind, keyed) for kind in ("parquet", "orc", "avro") for keyed in (False, True)]
CONDITIONS = {
    "i > 549755813888": (("greater_than", "i", 2**39), [3]),
    "i < 8": (("less_than", "i", 8), [1]),
    "gone IS NULL": (("is_null", "gone"), [1, 2]),
    "gone = 5": (("equal", "gone", 5), [3]),
    "text = 'a'": (("equal", "text", "a"), [1]),
    "text IS NOT NULL": (("is_not_null", "text"), [1, 3]),
    "f >= 2.5": (("greater_or_equal", "f", 2.5), [3]),
}


def test_others_read_and_filter_what_we_altered(pypaimon, pypaimon_rust, warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    names = []
    for kind, keyed in KINDS:
        name = f"db.{kind}_{keyed}".lower()
        key = ["k"] if keyed else []
        table = catalog.create_table(name, COLUMNS, primary_key=key, options=options_of(kind, keyed))
        table.write([FIRST])
        table.write([{"k": 2}])
        table = table.alter(CHANGES)
        table.write([LAST])
        assert plain(table.scan().to_arrow().to_pylist()) == expected_rows(table.schema.names, FIRST, LAST)
        names.append(name)
    asked = [(name, None, None) for name in names]
    asked += [(name, None, condition) for name in names for condition, _ in CONDITIONS.values()]
    queries = [f"SELECT * FROM paimon.{name}" for name in names]
    queries += [f"SELECT * FROM paimon.{name} WHERE {condition}" for name in names for condition in CONDITIONS]
    expected = [[1, 2, 3]] * len(names) + [keys for _ in names for _, keys in CONDITIONS.values()]
    for answers in (pypaimon.reads(warehouse, asked), pypaimon_rust.queries(warehouse, queries)):
        assert [sorted(row["k"] for row in rows) for rows in answers] == expected
        for name, rows in zip(names, answers, strict=False):
            assert plain(rows) == expected_rows(catalog.table(name).schema.names, FIRST, LAST), name


def test_we_read_what_pypaimon_altered(pypaimon, warehouse):
    """pypaimon alters tables of its own and of ours; types, field ids and rows are those of our own alterations."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    tables, reference = [], {}
    for kind, keyed in KINDS:
        columns = {n: t for n, t in COLUMNS.items() if n != "m" or kind != "avro"}  # pypaimon writes no map to Avro
        key = ["k"] if keyed else []
        options = options_of(kind, keyed)
        ours, theirs, altered = (f"db.{side}_{kind}_{keyed}".lower() for side in ("ours", "theirs", "altered"))
        tables.append((theirs, {"columns": list(columns), "keys": key, "options": options}))
        for name in (ours, altered):
            catalog.create_table(name, columns, primary_key=key, options=options)
        tables.append((ours, None))
        changes = CHANGES if "m" in columns else CHANGES.replace("ALTER COLUMN m.value TYPE BIGINT,", "")
        reference[ours] = reference[theirs] = catalog.table(altered).alter(changes).schema
    row = FIRST | {"b": "x"}
    for avro in (False, True):
        some = [entry for entry in tables if ("avro" in entry[0]) == avro]
        changes = [change for change in SAME_CHANGES if not avro or change[1] != ["m", "value"]]
        pypaimon.ask(PYPAIMON_ALTERS, [warehouse, some, changes, row, LAST])
    for name, _ in tables:
        table = catalog.table(name)
        assert table.schema.fields == reference[name].fields, name
        assert table.schema.highest_field_id == reference[name].highest_field_id
        assert table.schema.comment == "a table"
        expected = expected_rows(table.schema.names, FIRST, LAST)
        assert plain(table.scan().to_arrow().to_pylist()) == expected, name
        for key, keys in [(col("i") > 2**39, [3]), (col("gone").is_null(), [1, 2]), (col("text") == "a", [1])]:
            assert sorted(table.scan(["k"], key).to_arrow()["k"].to_pylist()) == keys, name
        assert not table.maintenance.check(deep=True).findings
        table = table.alter("ADD COLUMN last INT, ALTER COLUMN ts TYPE STRING")
        table.write([{"k": 4, "last": 9, "ts": "now"}])
        table.compact(full=True)
    for (name, _), rows in zip(tables, pypaimon.reads(warehouse, [(n, None, None) for n, _ in tables]), strict=True):
        ours = plain(catalog.table(name).scan().to_arrow().to_pylist())
        assert [row["k"] for row in ours] == [1, 2, 3, 4]
        assert ours[3] | {"k": 4, "last": 9, "ts": "now"} == ours[3]
        assert plain(rows) == ours, name


D = decimal.Decimal
NOON = datetime.datetime(2024, 2, 29, 10, 20, 30, 5)
CASTS: list[tuple[str, Any, str, Any]] = [
    ("INT", 7, "STRING", "7"),
    ("BIGINT", 2**33 + 5, "INT", 5),
    ("INT", 3, "DECIMAL(12, 2)", D("3.00")),
    ("DOUBLE", -1.75, "INT", -1),
    ("FLOAT", 0.1, "STRING", "0.1"),
    ("DECIMAL(10, 2)", D("-1.55"), "INT", -1),
    ("DECIMAL(10, 2)", D("1.55"), "DECIMAL(10, 1)", D("1.6")),
    ("BOOLEAN", True, "STRING", "true"),
    ("INT", 3, "BOOLEAN", True),
    ("STRING", "12", "INT", 12),
    ("STRING", "2024-02-29", "DATE", datetime.date(2024, 2, 29)),
    ("STRING", "1.5", "DECIMAL(10, 2)", D("1.50")),
    ("DATE", datetime.date(2024, 2, 29), "TIMESTAMP(3)", datetime.datetime(2024, 2, 29)),
    ("TIMESTAMP(6)", NOON, "DATE", datetime.date(2024, 2, 29)),
    ("TIME(3)", datetime.time(10, 20, 30, 5000), "STRING", "10:20:30.005"),
    ("ARRAY<INT>", [1, None], "STRING", "[1, null]"),
    ("MAP<STRING NOT NULL, INT>", [("a", 1)], "STRING", "{a -> 1}"),
    ("ROW<a INT, b STRING>", {"a": 1, "b": "x"}, "STRING", "{1, x}"),
    # Here the others differ from Java and from us (see WRONG).
    ("DOUBLE", 1e20, "STRING", "1.0E20"),
    ("STRING", "abcd", "VARCHAR(2)", "ab"),
    ("STRING", "ab", "CHAR(5)", "ab   "),
    ("BYTES", b"ab", "BINARY(4)", b"ab\x00\x00"),
    ("TIMESTAMP(3)", NOON.replace(microsecond=0), "BIGINT", 1709202030),
    ("TIMESTAMP(6)", NOON, "STRING", "2024-02-29 10:20:30.000005"),
]
WRONG_IN_BOTH = {"VARCHAR(2)": "abcd", "CHAR(5)": "ab", "BINARY(4)": "b'ab'", "BIGINT": 1709202030000}
"""By the new type: no truncation, no padding, and milliseconds instead of seconds."""
WRONG = {
    "pypaimon": {("DOUBLE", "STRING"): "1e+20"},
    "pypaimon_rust": {
        ("DOUBLE", "STRING"): "1e20",
        ("TIMESTAMP(6)", "STRING"): "2024-02-29T10:20:30.000005",
        ("BIGINT", "INT"): None,
    },
}
"""By the old and the new type; the matrix of casts in test_alterations has Java's results."""


def test_others_cast_old_files(pypaimon, pypaimon_rust, warehouse):
    """Values of columns whose type we changed; what differs there, though Java agrees with us, is listed above."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    names = [f"c{at}" for at in range(len(CASTS))]
    table = catalog.create_table("db.t", {n: cast[0] for n, cast in zip(names, CASTS, strict=True)})
    table.write([{n: cast[1] for n, cast in zip(names, CASTS, strict=True)}])
    table = table.alter(*(UpdateType(n, cast[2], lossy=True) for n, cast in zip(names, CASTS, strict=True)))
    assert list(table.scan().to_arrow().to_pylist()[0].values()) == [cast[3] for cast in CASTS]
    read = {
        "pypaimon": pypaimon.rows(warehouse, "db.t"),
        "pypaimon_rust": pypaimon_rust.queries(warehouse, ["SELECT * FROM paimon.db.t"])[0],
    }
    for reader, rows in read.items():
        expected = {}
        for name, (old, _, new, value) in zip(names, CASTS, strict=True):
            (text,) = json.loads(json.dumps([value], default=str))
            expected[name] = WRONG[reader].get((old, new), WRONG_IN_BOTH.get(new, text))
        assert rows == [expected], reader


PYPAIMON_KINDS = """
import json, sys
import pyarrow as pa, pypaimon
warehouse, tables, commits = json.load(sys.stdin)
catalog = pypaimon.CatalogFactory.create({"warehouse": warehouse})
for name, extra in tables:
    table = catalog.get_table(name).copy(extra)
    for rows in commits:
        builder = table.new_batch_write_builder()
        write = builder.new_write()
        kind = pa.schema([pa.field("k", pa.int32(), False), ("v", pa.int32()), ("op", pa.string())])
        write.write_arrow(pa.Table.from_pylist(rows, kind))
        builder.new_commit().commit(write.prepare_commit())
        write.close()
print("ANSWER" + json.dumps(None))
"""
KINDS_OF_PYPAIMON = [
    [{"k": k, "v": k, "op": "+I"} for k in range(6)],
    [{"k": 1, "v": 1, "op": "-D"}, {"k": 2, "v": 20, "op": "+U"}, {"k": 3, "v": 3, "op": "-U"}],
    [{"k": 9, "v": 900, "op": "-D"}],  # a key that never was, in a file whose keys no other file has
    [{"k": 8, "v": 8, "op": "+I"}],
]
LEFT = [(0, 0), (2, 20), (4, 4), (5, 5), (8, 8)]


def test_rows_that_pypaimon_deleted_stay_deleted(oracle, pypaimon, warehouse):
    """pypaimon 2.1 records 0 deletes for each file, whatever kinds the column rowkind.field gave its rows."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    engines = {
        "keyed": {},
        "vectors": {"deletion-vectors.enabled": "true"},
        "looked_up": {"changelog-producer": "lookup"},
        "levels": {"num-levels": "3", "compaction.force-up-level-0": "true"},
    }
    for name, options in engines.items():
        options = {"bucket": "1", "rowkind.field": "op"} | options
        columns = {"k": "INT NOT NULL", "v": "INT", "op": "STRING"}
        catalog.create_table(f"db.{name}", columns, primary_key=["k"], options=options)
    pypaimon.ask(PYPAIMON_KINDS, [warehouse, [(f"db.{name}", {}) for name in engines], KINDS_OF_PYPAIMON])
    for name in engines:
        table = catalog.table(f"db.{name}")
        if name != "vectors":  # deletion vectors leave out what no compaction has merged
            _check_left(table)
            assert _java_rows(oracle, warehouse, table) == LEFT, name
        assert table.compact(full=name == "keyed")
        _check_left(table)
        assert _java_rows(oracle, warehouse, table) == LEFT, name
        table.compact(full=True)
        _check_left(table)


def _java_rows(oracle, warehouse, table):
    return sorted(tuple(row[1:3]) for row in oracle.dump(warehouse, table.name))


def _check_left(table):
    scan = table.scan(["k", "v"])
    assert sorted(zip(*scan.to_arrow().to_pydict().values(), strict=True)) == LEFT
    assert scan.count() == len(LEFT)
    assert table.scan(where=col("v") > 100).count() == 0
