"""The same history here and in Java, by turns on either's table: every snapshot has the same changelog rows."""

from __future__ import annotations

import math
import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.read.bucket_reader import BucketReader

FIELDS = {
    "k": ("INT", pa.int32()),
    "a": ("INT", pa.int32()),
    "b": ("STRING", pa.string()),
    "c": ("DOUBLE", pa.float64()),
}
ADDS, ALL = ("+I", "+U"), ("+I", "-U", "+U", "-D")
LOOKUP = {"changelog-producer": "lookup"}
FULL = {"changelog-producer": "full-compaction", "write-only": "true"}
DEDUPLICATED = {"changelog-producer.row-deduplicate": "true"}
SUMS = {
    "merge-engine": "aggregation",
    "fields.a.aggregate-function": "sum",
    "fields.b.aggregate-function": "last_value",
    "fields.c.aggregate-function": "sum",
}
CASES = {
    "deduplicate": (LOOKUP, ALL),
    "same rows are not told": (LOOKUP | DEDUPLICATED, ALL),
    "some columns are not compared": (
        LOOKUP | DEDUPLICATED | {"changelog-producer.row-deduplicate-ignore-fields": "b,c"},
        ALL,
    ),
    "sequence field": (LOOKUP | {"sequence.field": "a"}, ALL),
    "partial-update": (LOOKUP | {"merge-engine": "partial-update"}, ADDS),
    "partial-update, removing": (
        LOOKUP | {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
        ALL,
    ),
    "sequence group": (LOOKUP | {"merge-engine": "partial-update", "fields.a.sequence-group": "b"}, ADDS),
    "aggregation": (LOOKUP | SUMS, ALL),
    "forced lookup": ({"force-lookup": "true"} | SUMS, ADDS),
    "first-row": (LOOKUP | {"merge-engine": "first-row", "ignore-delete": "true"}, ALL),
    "first-row, untold": ({"merge-engine": "first-row"}, ADDS),
    "full": (FULL, ALL),
    "full, same rows are not told": (FULL | DEDUPLICATED, ALL),
    "full partial-update": (FULL | {"merge-engine": "partial-update"}, ADDS),
}


def base_rows(letters):
    """So many bytes that the small compactions after it leave them alone, and a few keys of what follows."""
    rows = [["+I", k, k % 5, f"{letters.getrandbits(256):064x}", k / 7] for k in range(100, 700)]
    return rows + [["+I", k, 2, "x", 1.5] for k in range(0, 8, 3)]


def random_rows(choices, kinds):
    def one(values):
        return None if choices.random() < 0.3 else choices.choice(values)

    numbers = [0.0, 1.5, "NaN"]
    return [
        [choices.choice(kinds), choices.randrange(8), one(range(4)), one("xy"), one(numbers)]
        for _ in range(choices.randrange(1, 6))
    ]


def write(table, rows):
    kinds, *columns = zip(*rows, strict=True)
    columns[3] = [None if value is None else float(value) for value in columns[3]]
    arrays = [pa.array(values, kind) for values, (_, kind) in zip(columns, FIELDS.values(), strict=True)]
    table.write(pa.table(arrays, names=list(FIELDS)), pa.array(kinds))


def changelogs(table):
    """For each snapshot with changelog files their rows in order: all columns of the files."""
    context, told = table.context, []
    for snapshot_id in context.snapshots.ids():
        snapshot = context.snapshots.read(snapshot_id)
        if snapshot.changelog_manifest_list is None:
            continue
        rows = []
        for manifest in context.manifests.read_list(snapshot.changelog_manifest_list):
            for entry in context.manifests.read_manifest(manifest.file_name):
                batches = BucketReader(context, entry.partition, entry.bucket).file(
                    entry.file, context.schema.file_fields
                )
                rows += [tuple(map(plain, row.values())) for batch in batches for row in batch.to_pylist()]
        told.append(rows)
    return told


def plain(value):
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize("case", CASES)
def test_both_sides_tell_the_same_changes(oracle, warehouse, case):
    options, kinds = CASES[case]
    choices = random.Random(case)
    options = {"bucket": "1"} | options
    names = ["db.ours", "db.java"]
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    arrow = pa.schema([(name, kind) for name, (_, kind) in FIELDS.items()])
    catalog.create_table("db.ours", arrow, primary_key=["k"], options=options)
    fields = [{"name": name, "type": text} for name, (text, _) in FIELDS.items()]
    place = {"table": "db.java", "primaryKeys": ["k"], "partitionKeys": []}
    oracle.run(warehouse, [{"op": "create", **place, "fields": fields, "options": options}])
    for step in range(9):
        compacts = step in (0, 5, 8)
        rows = base_rows(choices) if step == 0 else random_rows(choices, kinds)
        ours, java = names if step % 3 else names[::-1]
        write(catalog.table(ours), rows)
        steps = [{"op": "write", "table": java, "rows": rows}]
        if compacts:
            catalog.table(ours).compact(full=True)
            steps.append({"op": "compact", "table": java, "options": {"write-only": "false"}})
        oracle.run(warehouse, steps)
    tables = [catalog.table(name) for name in names]
    assert changelogs(tables[0]) == changelogs(tables[1])
    assert any(changelogs(tables[0])) == ("changelog-producer" in options)
    rows = [sorted((tuple(map(plain, r.values())) for r in t.scan().to_arrow().to_pylist()), key=repr) for t in tables]
    assert rows[0] == rows[1]
    for name in names:
        assert sorted((tuple(row[1:]) for row in oracle.dump(warehouse, name)), key=repr) == rows[0]


def test_both_sides_find_the_same_values_equal(oracle, warehouse):
    """NaN is no NaN, -0.0 is 0.0, the entries of a map have no order; null inside an array or a map equals nothing."""
    types = {
        "k": ("INT", pa.int32()),
        "d": ("DOUBLE", pa.float64()),
        "f": ("FLOAT", pa.float32()),
        "l": ({"type": "ARRAY", "element": "DOUBLE"}, pa.list_(pa.float64())),
        "m": ({"type": "MAP", "key": "INT", "value": "INT"}, pa.map_(pa.int32(), pa.int32())),
    }
    nan = math.nan
    pairs = [
        ([1.0, 1.0, [1.0, 2.0], [(1, 1), (2, 2)]], [1.0, 1.0, [1.0, 2.0], [(2, 2), (1, 1)]]),
        ([nan, None, None, None], [nan, None, None, None]),
        ([None, nan, None, None], [None, nan, None, None]),
        ([-0.0, -0.0, [-0.0], None], [0.0, 0.0, [0.0], None]),
        ([None, None, [nan], None], [None, None, [nan], None]),
        ([None, None, [1.0, 2.0], None], [None, None, [1.0, 3.0], None]),
        ([None, None, None, [(1, 1), (2, 2)]], [None, None, None, [(2, 1), (1, 2)]]),
        ([None, None, None, None], [None, None, None, None]),
        ([None, None, [1.0, None], None], [None, None, [1.0, None], None]),
        ([None, None, None, [(1, None)]], [None, None, None, [(1, None)]]),
    ]
    fields = [{"name": name, "type": text} for name, (text, _) in types.items()]
    place = {"op": "create", "primaryKeys": ["k"], "partitionKeys": [], "fields": fields}
    options = {"bucket": "1", **LOOKUP, **DEDUPLICATED}
    oracle.run(warehouse, [{**place, "table": name, "options": options} for name in ("db.ours", "db.java")])
    for at in (0, 1):
        rows = [[k, *pair[at]] for k, pair in enumerate(pairs)]
        arrays = [pa.array([r[n] for r in rows], kind) for n, (_, kind) in enumerate(types.values())]
        paimon.open_catalog(warehouse).table("db.ours").write(pa.table(arrays, names=list(types)))
        steps = [["+I", *json_form(row)] for row in rows]
        oracle.run(warehouse, [{"op": "write", "table": "db.java", "rows": steps}])
    told = [
        [(r[0], r[2]) for r in changelogs(paimon.open_catalog(warehouse).table(n))[1]] for n in ("db.ours", "db.java")
    ]
    assert told[0] == told[1] == [(k, kind) for k in (1, 2, 4, 5, 6, 8, 9) for kind in (1, 2)]


def json_form(value):
    if isinstance(value, list | tuple):
        return [json_form(v) for v in value]
    return plain(value)
