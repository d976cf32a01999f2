"""Row tracking and data evolution: both sides write, and each reads the ids and columns that the other one reads."""

from __future__ import annotations

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import UnsupportedFeature, col

SCHEMA = pa.schema([("k", pa.int32()), ("p", pa.string()), ("v", pa.string())])
TRACKED = ["k", "p", "v", "_ROW_ID", "_SEQUENCE_NUMBER"]
FIELDS = [
    {"name": "k", "type": "INT"},
    {"name": "a", "type": "STRING"},
    {"name": "b", "type": "INT"},
]


def catalog_in(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    return catalog


def run(oracle, warehouse, *steps):
    results = oracle.run(warehouse, [{"table": "db.t", **step} for step in steps])
    assert not [r for r in results if "error" in r], results
    return results


def rows(*keys):
    return pa.table({"k": list(keys), "p": ["ab"[k % 2] for k in keys], "v": [f"x{k}" for k in keys]}, schema=SCHEMA)


def java_rows(*keys):
    return [["+I", k, "ab"[k % 2], f"x{k}"] for k in keys]


def sorted_rows(table, **scan):
    return sorted(map(list, zip(*table.scan(**scan).to_arrow().to_pydict().values(), strict=True)))


@pytest.mark.parametrize(
    "options",
    [{}, {"deletion-vectors.enabled": "true", "file.format": "orc"}],
    ids=["parquet", "vectors, orc"],
)
def test_rows_have_the_same_ids_after_commits_of_both_sides(oracle, warehouse, options):
    """Not in Avro: Java 1.4.2 fails when it reads the ids of rows in its own Avro files."""
    catalog = catalog_in(warehouse)
    vectors = "deletion-vectors.enabled" in options
    options = {"row-tracking.enabled": "true", "compaction.min.file-num": "2", "write-only": "true"} | options
    catalog.create_table("db.t", SCHEMA, partition_by=["p"], options=options)
    ours, java = catalog.table, lambda **step: run(oracle, warehouse, step)

    def changed():
        if not vectors:
            return {"op": "update", "keys": [4, 5, 15], "value": "java"}
        files = ours("db.t").inspect.files().to_pylist()
        (name,) = (f["file_name"] for f in files if f["partition"] == "{b}" and f["min_sequence_number"] == 2)
        return {"op": "deleteRows", "files": {name: [0, 2]}}

    steps = [
        lambda: ours("db.t").write(rows(*range(10))),
        lambda: java(op="write", rows=java_rows(*range(10, 20))),
        lambda: ours("db.t").update(col("k").is_in([3, 14]), {"v": "ours"}),
        lambda: java(**changed()),
        lambda: ours("db.t").delete(col("k").is_in([0, 5, 16])),
        lambda: java(op="pack"),
        lambda: ours("db.t").write(rows(*range(20, 25))),
        lambda: java(op="write", rows=java_rows(*range(25, 30))),
        lambda: ours("db.t").compact(full=True),
        lambda: java(op="write", rows=java_rows(30, 31)),
        lambda: ours("db.t").sort_compact(["v"]),
        lambda: java(op="write", rows=java_rows(40, 41, 42), overwrite={"p": "a"}),
    ]
    ids = {}
    for number, step in enumerate(steps):
        step()
        table = catalog.table("db.t")
        found = sorted_rows(table, columns=TRACKED)
        assert found == sorted(r[1:] for r in oracle.dump(warehouse, "db.t$row_tracking")), number
        early = [r for r in found if r[4] <= 2 and r[3] != 3]
        assert (
            sorted_rows(table, columns=TRACKED, where=(col("_SEQUENCE_NUMBER") <= 2) & (col("_ROW_ID") != 3)) == early
        )
        now = {r[0]: r[3] for r in found}
        assert all(ids.get(k, i) == i for k, i in now.items()), number
        ids |= now
    assert len(set(ids.values())) == len(ids) == 35
    assert table.latest_snapshot().next_row_id == max(ids.values()) + 1
    assert table.maintenance.check(deep=True).errors == ()


def test_columns_that_java_updated_are_read_from_their_files(oracle, warehouse):
    options = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    run(
        oracle,
        warehouse,
        {"op": "create", "fields": FIELDS, "options": options},
        {"op": "write", "rows": [["+I", k, f"a{k}", k] for k in range(6)]},
        {"op": "write", "rows": [["+I", k, f"a{k}", k] for k in range(6, 9)]},
        {"op": "setColumns", "columns": ["b"], "firstRowId": 0, "rows": [[k * 10] for k in range(6)]},
        {"op": "setColumns", "columns": ["b", "a"], "firstRowId": 0, "rows": [[-k, f"n{k}"] for k in range(6)]},
        {"op": "setColumns", "columns": ["a"], "firstRowId": 6, "rows": [["x"], ["y"], [None]]},
        {"op": "alter", "changes": [{"change": "add", "name": "c", "type": "INT"}]},
        {"op": "setColumns", "columns": ["c"], "firstRowId": 6, "rows": [[1], [2], [3]]},
    )
    catalog = catalog_in(warehouse)
    for compacted in (False, True):
        if compacted:
            run(oracle, warehouse, {"op": "packColumns", "options": {"compaction.min.file-num": "2"}})
        table = catalog.table("db.t")
        java = sorted(r[1:] for r in oracle.dump(warehouse, "db.t$row_tracking"))
        columns = ["k", "a", "b", "c", "_ROW_ID", "_SEQUENCE_NUMBER"]
        assert sorted_rows(table, columns=columns, where=col("k") >= 0) == java
        assert [r[:4] for r in java] == [[k, f"n{k}", -k, None] for k in range(6)] + [
            [6, "x", 6, 1],
            [7, "y", 7, 2],
            [8, None, 8, 3],
        ]
        for projection, name, value in ((["a", "c"], "c", 2), (["k"], "b", -3), (["b"], "a", "x")):
            found = oracle.dump(warehouse, "db.t", projection=sorted({*projection, name}), filter=[[name, "=", value]])
            assert sorted_rows(table, columns=sorted({*projection, name}), where=col(name) == value) == [
                r[1:] for r in found
            ]
        assert table.scan().count() == 9
        assert table.maintenance.check(deep=True).errors == ()
        with pytest.raises(UnsupportedFeature, match=r"data-evolution\.enabled=true"):
            table.write([{"k": 1}])


def test_large_objects_are_refused_by_name(oracle, warehouse):
    options = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    fields = [{"name": "k", "type": "INT"}, {"name": "b", "type": "BLOB"}]
    run(oracle, warehouse, {"op": "create", "fields": fields, "options": options})
    with pytest.raises(UnsupportedFeature, match=r"'b'.*BLOB"):
        catalog_in(warehouse).table("db.t")
