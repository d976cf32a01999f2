"""Alterations and Java: the matrix of casts, Java's rules, and tables that one side alters and the other one uses."""

import json

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.alter import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SetOption,
    UpdateColumnComment,
    UpdateComment,
    UpdateDefault,
    UpdatePosition,
    UpdateType,
)
from paimon_core.alter.allowed_casts import is_allowed
from paimon_core.alter.rest_changes import rest_changes
from paimon_core.types import parse_type
from tests.support.java_rows import arrow_rows, as_set, json_rows

pytestmark = pytest.mark.java

VALUES = {
    "BOOLEAN": [True, False],
    "TINYINT": [0, 127, -128],
    "SMALLINT": [0, 300, -32768],
    "INT": [0, 70000, -(2**31)],
    "BIGINT": [0, 2**37 + 5, -(2**33)],
    "FLOAT": [0.0, 1.5, -0.1, 3.4e38, 1.0e-5],
    "DOUBLE": [0.0, 1.5, -0.1, 1.0e20, 123456789.25, 1.0e-7],
    "DECIMAL(10, 2)": ["0.00", "1.55", "-99999999.99"],
    "DECIMAL(30, 5)": ["0.00000", "-1234567890123456789.12345", "2.50000"],
    "CHAR(3)": ["1  ", "12 ", "-7 "],
    "VARCHAR(4)": ["1", "12", "-7", "0007"],
    "STRING": ["1", "12", "-7", "0007"],
    "BINARY(2)": ["6162"],
    "VARBINARY(4)": ["61", "61626364"],
    "BYTES": ["", "61626364"],
    "DATE": ["1970-01-01", "2024-02-29", "2001-09-09"],
    "TIME(0)": ["00:00", "10:20:30"],
    "TIME(3)": ["00:00", "10:20:30", "23:59:59.999"],
    "TIMESTAMP(0)": ["2024-02-29T10:20:30", "1970-01-01T00:00"],
    "TIMESTAMP(3)": ["2024-02-29T10:20:30.123", "1970-01-01T00:00"],
    "TIMESTAMP(6)": ["2024-02-29T10:20:30.123456", "1970-01-01T00:00"],
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": ["2024-02-29T10:20:30.123456Z", "1970-01-01T00:00:00Z"],
}
TYPES = list(VALUES)
NOT_NUMBERS = {"CHAR(3)": {"BOOLEAN"}, "STRING": {"BOOLEAN"}, "VARCHAR(4)": {"BOOLEAN"}}
TIMES = [t for t in TYPES if t.startswith(("DATE", "TIME"))]


def readable(stored, wanted):
    """Whether the values of ``stored`` have a result; a blank after a number is none in Java, and -7 is no time."""
    if stored in ("CHAR(3)", "VARCHAR(4)", "STRING"):
        numeric = wanted in ("TINYINT", "SMALLINT", "INT", "BIGINT") or wanted.startswith("DECIMAL")
        return wanted not in ("BOOLEAN", *TIMES) and not (stored == "CHAR(3)" and numeric)
    return True


def test_the_matrix_of_casts(oracle, warehouse):
    """Java allows exactly the casts that are allowed here, and both read the same values of the old files."""
    steps, tables = [], []
    for number, stored in enumerate(TYPES):
        name = f"db.t{number}"
        fields = [{"name": f"c{at}", "type": stored} for at in range(len(TYPES))]
        steps.append({"op": "create", "table": name, "fields": fields, "options": {"write-only": "true"}})
        rows = [["+I", *[value] * len(TYPES)] for value in [*VALUES[stored], None]]
        steps.append({"op": "write", "table": name, "rows": rows})
        for at, wanted in enumerate(TYPES):
            if wanted != stored:
                steps.append({"op": "alter", "table": name, "changes": rest_changes([UpdateType(f"c{at}", wanted)])})
        tables.append(name)
    results = oracle.run(warehouse, steps, allow_errors=True)
    answers = zip(steps, results, strict=True)
    alters = iter([("error" not in result) for step, result in answers if step["op"] == "alter"])
    pairs = [(stored, wanted) for stored in TYPES for wanted in TYPES if wanted != stored]
    found = {pair: next(alters) for pair in pairs}
    ours = {(s, w): is_allowed(parse_type(s), parse_type(w), explicit=True) for s, w in pairs}
    assert {p: (found[p], ours[p]) for p in pairs if found[p] != ours[p]} == {}
    catalog = paimon.open_catalog(warehouse)
    for number, stored in enumerate(TYPES):
        names = [f"c{at}" for at, w in enumerate(TYPES) if w == stored or (ours[stored, w] and readable(stored, w))]
        table = catalog.table(tables[number])
        (dump,) = oracle.run(warehouse, [{"op": "dump", "table": tables[number], "projection": names}])
        rows = json_rows(table.scan(names).to_arrow(), table.schema.select(names))
        assert as_set(rows) == as_set(dump["rows"]), (stored, [TYPES[int(n[1:])] for n in names])


CHANGES = [
    AddColumn("n", "DECIMAL(10, 2)", "a number", "1.50", after="k"),
    AddColumn(["r", "b"], "STRING"),
    AddColumn("x", {"type": "ARRAY", "element": "INT"}),
    RenameColumn("v", "w"),
    RenameColumn(["r", "a"], "aa"),
    UpdateType("w", "BIGINT"),
    UpdateType(["m", "value"], "DOUBLE"),
    DropColumn("gone"),
    UpdateColumnComment("k", "the key"),
    UpdateDefault("w", "3"),
    UpdatePosition("m", first=True),
    UpdateComment("a table"),
    SetOption("snapshot.num-retained.min", "3"),
    RemoveOption("sequence.field"),
]
FIELDS = [
    {"name": "k", "type": "INT NOT NULL"},
    {"name": "v", "type": "INT"},
    {"name": "gone", "type": "STRING"},
    {"name": "r", "type": {"type": "ROW", "fields": [{"id": 0, "name": "a", "type": "INT"}]}},
    {"name": "m", "type": {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}},
]
ROWS = [["+I", 1, 5, "g", [2], [["a", 1]]], ["+I", 2, None, None, None, None]]


def created(name):
    options = {"bucket": "1", "sequence.field": "v", "write-only": "true"}
    return [
        {"op": "create", "table": name, "fields": FIELDS, "primaryKeys": ["k"], "options": options},
        {"op": "write", "table": name, "rows": ROWS},
    ]


def members(table):
    found = json.loads(table.schema.to_json())
    return {key: value for key, value in found.items() if key != "timeMillis"}


def test_both_sides_make_the_same_schema(oracle, warehouse):
    """All kinds of changes, in one call each; then each side writes to and reads the table that the other altered."""
    names = ["db.here", "db.java"]
    oracle.run(warehouse, [step for name in names for step in created(name)])
    catalog = paimon.open_catalog(warehouse)
    here = catalog.table("db.here").alter(*CHANGES)
    oracle.run(warehouse, [{"op": "alter", "table": "db.java", "changes": rest_changes(CHANGES)}])
    java = catalog.table("db.java")
    assert members(here) == members(java)
    new = [["+I", [["b", 0.5]], 3, None, None, [7, "x"], [1]]]
    java.write(arrow_rows(new, java.schema.fields))
    oracle.run(warehouse, [{"op": "write", "table": "db.here", "rows": new}])
    for name in names:
        dump, _, compacted = oracle.run(
            warehouse,
            [{"op": "dump", "table": name}, {"op": "compact", "table": name}, {"op": "dump", "table": name}],
        )
        expected = [
            {"m": [("a", 1.0)], "k": 1, "n": None, "w": 5, "r": {"aa": 2, "b": None}, "x": None},
            {"m": None, "k": 2, "n": None, "w": None, "r": None, "x": None},
            {"m": [("b", 0.5)], "k": 3, "n": 1.5, "w": 3, "r": {"aa": 7, "b": "x"}, "x": [1]},
        ]
        found = catalog.table(name).scan().to_arrow().to_pylist()
        assert sorted(found, key=lambda row: row["k"]) == expected
        assert as_set(dump["rows"]) == as_set(compacted["rows"])
        assert [row[2:5] for row in sorted(dump["rows"], key=lambda row: row[2])] == [
            [1, None, 5],
            [2, None, None],
            [3, "1.50", 3],
        ]


@pytest.mark.parametrize(
    "change",
    [
        AddColumn("v", "INT"),
        AddColumn("x", "INT NOT NULL"),
        DropColumn("k"),
        DropColumn("v"),
        DropColumn(["r", "a"]),
        DropColumn("nope"),
        RenameColumn("v", "k"),
        UpdateType("k", "BIGINT"),
        UpdateType("v", "DATE"),
        UpdateDefault("v", "x"),
        SetOption("merge-engine", "aggregation"),
        SetOption("bucket", "-1"),
        SetOption("sequence.field", "nope"),
        RemoveOption("bucket"),
    ],
    ids=str,
)
def test_both_sides_refuse(oracle, warehouse, change):
    oracle.run(warehouse, created("db.t"))
    table = paimon.open_catalog(warehouse).table("db.t")
    with pytest.raises(paimon.InvalidRequest):
        table.alter(change)
    body = [{"action": "addColumn", "fieldNames": ["x"], "dataType": "INT NOT NULL"}]
    changes = body if "NOT NULL" in str(change) else rest_changes([change])
    (result,) = oracle.run(warehouse, [{"op": "alter", "table": "db.t", "changes": changes}], allow_errors=True)
    assert "error" in result
    assert table.context.schemas.ids() == [0]


def test_defaults_of_nested_types_are_those_of_java(oracle, warehouse):
    defaults = {
        "a ARRAY<STRING>": '["x, y", null,,z]',
        "m MAP<STRING, ARRAY<INT>>": '{"k" -> [1, 2], l -> null}',
        "f MAP<INT, DATE>": "MAP(1, 2024-02-29)",
        "r ROW<a INT, b ARRAY<DECIMAL(3, 1)>>": "STRUCT(5, [1.5])",
        "e ROW<a INT>": "{}",
    }
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", ", ".join(["k INT", *defaults]))
    table = table.alter(*(UpdateDefault(name.split()[0], text) for name, text in defaults.items()))
    table.write([{"k": 1}])
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["+I", 1, None, None, None, None, None]]}])
    ours, theirs = table.scan().to_arrow().to_pylist()
    assert {name: sorted(v) if name in "mf" else v for name, v in theirs.items()} == ours
    assert ours["a"] == ['"x, y"', None, "z"]


def test_java_reads_a_snapshot_of_before_and_we_do(oracle, warehouse):
    oracle.run(warehouse, created("db.t"))
    table = paimon.open_catalog(warehouse).table("db.t").alter(DropColumn("gone"), AddColumn("gone", "INT"))
    table.write(pa.table({"k": pa.array([9], pa.int32()), "v": pa.array([1], pa.int32())}))
    old = table.at(snapshot=1)
    (dump,) = oracle.run(warehouse, [{"op": "dump", "table": "db.t", "options": {"scan.snapshot-id": "1"}}])
    assert [row[3] for row in sorted(dump["rows"], key=lambda row: row[1])] == ["g", None]
    found = sorted(old.scan().to_arrow().to_pylist(), key=lambda row: row["k"])
    assert [row["gone"] for row in found] == ["g", None]
