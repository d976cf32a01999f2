"""The other readers that tests lean on do what the tests believe: the Java oracle, its benchmark rows, pypaimon."""

import json

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import workload
from benchmarks.java_side import JavaSide

CREATE = {
    "op": "create",
    "table": "db.t",
    "fields": [{"name": "id", "type": "BIGINT NOT NULL"}, {"name": "v", "type": "STRING"}],
    "primaryKeys": ["id"],
    "options": {"bucket": "2", "write-only": "true"},
}
TWO_RUNS = [
    CREATE,
    {"op": "write", "table": "db.t", "rows": [["+I", 1, "a"], ["+I", 2, "ü€"]]},
    {"op": "write", "table": "db.t", "rows": [["-D", 1, "a"], ["+I", 3, None]]},
]


def test_a_script_gives_one_result_a_step(oracle, warehouse):
    results = oracle.run(warehouse, [*TWO_RUNS, {"op": "dump", "table": "db.t"}])
    assert [r["op"] for r in results] == ["create", "write", "write", "dump"]
    assert [r.get("snapshot") for r in results] == [None, 1, 2, None]
    assert results[-1]["rows"] == [["+I", 2, "ü€"], ["+I", 3, None]]


def test_a_failed_step_is_an_assertion_that_names_it(oracle, warehouse):
    with pytest.raises(AssertionError, match=r"db\.nowhere.*TableNotExistException"):
        oracle.dump(warehouse, "db.nowhere")


def test_a_failed_step_may_be_allowed_and_the_rest_still_runs(oracle, warehouse):
    failed, created = oracle.run(warehouse, [{"op": "dump", "table": "db.t"}, CREATE], allow_errors=True)
    assert "TableNotExistException" in failed["error"]
    assert created == {"op": "create"}


def test_the_oracle_sees_what_changed_between_scripts(oracle, warehouse, tmp_path):
    oracle.run(warehouse, TWO_RUNS)
    assert len(oracle.dump(warehouse, "db.t")) == 2
    schema = tmp_path / "warehouse" / "db.db" / "t" / "schema"
    changed = json.loads((schema / "schema-0").read_text()) | {"id": 1}
    changed["fields"][1]["name"] = "renamed"
    (schema / "schema-1").write_text(json.dumps(changed))
    assert oracle.dump(warehouse, "db.t", projection=["renamed"]) == [["+I", "ü€"], ["+I", None]]


def test_pypaimon_reads_what_java_wrote(pypaimon, oracle, warehouse):
    oracle.run(warehouse, TWO_RUNS)
    assert pypaimon.counts(warehouse, ["db.t"]) == {"db.t": 2}
    assert sorted(pypaimon.rows(warehouse, "db.t"), key=str) == [{"id": 2, "v": "ü€"}, {"id": 3, "v": None}]


def test_both_sides_of_the_benchmark_make_the_same_rows(oracle, warehouse):
    rows, batches, keys = 1000, 3, 1500
    java = JavaSide()
    try:
        java.run("create", warehouse, "t", "pk", "bucket=2", "write-only=true")
        java.run("write", warehouse, "t", rows, batches, keys)
        read = java.run("read", warehouse, "t", 2)[-1]
    finally:
        java.close()
    ours = pa.concat_tables(workload.batch(k, rows, keys) for k in range(batches))
    ids = ours["id"].to_numpy()
    order = np.argsort(ids, kind="stable")
    newest = order[np.append(ids[order][1:] != ids[order][:-1], True)]
    assert read["rows"] == len(newest)
    assert read["checksum"] == workload.checksum(ours.take(newest))
