"""Peak memory of reads, writes, sorts and compactions of tables with long texts, each in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from paimon_core import open_catalog

MOST = 600 << 20
"""Bytes above the imports."""
# Each table has at least 1 GB of texts, so reading it whole is noticed; two have more than the 2 GiB of one array.
TABLES = {
    "shared": {"rows": 50_000, "width": 45_000, "shared": True, "commits": 1, "cases": ("scan", "count", "compact")},
    "wide": {"rows": 12_000, "width": 100_000, "shared": False, "commits": 3, "cases": ("filter", "top", "sort")},
    "keyed": {"rows": 50_000, "width": 45_000, "shared": True, "commits": 2, "cases": ("scan", "top", "compact")},
}
CASE = """
import json, sys
import pyarrow as pa
import pyarrow.dataset
from paimon_core import col, open_catalog

SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int32()), ("s", pa.string())])

def wide(rows):
    for start in range(0, rows, 500):
        ids = range(start, start + 500)
        texts = [f"{n:010}" * 10_000 for n in ids]
        yield pa.record_batch([ids, [n % 10 for n in ids], texts], schema=SCHEMA)

def status(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name + ":"))

def shared(rows):
    ids = pa.array(range(rows), pa.int64())
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * 45_000]))
    return pa.table({"id": ids, "n": ids.cast(pa.int32()), "s": texts})

table = open_catalog(sys.argv[1]).table(sys.argv[2])
before = status("VmRSS")
rows = lambda scan: sum(len(batch) for batch in scan.to_batches())
found = {
    "scan": lambda: rows(table.scan()),
    "filter": lambda: rows(table.scan(where=(col("n") >= 0) & (col("s") != ""))),
    "count": lambda: table.scan(where=col("n") >= 0).count(),
    "top": lambda: len(table.scan().top(10, by="s")),
    "sort": lambda: (table.sort_compact(["n"]), table.scan().count())[1],
    "compact": lambda: (table.compact(full=True), table.scan().count())[1],
    "wide": lambda: table.write(pa.RecordBatchReader.from_batches(SCHEMA, wide(12_000))) and table.scan().count(),
    "update": lambda: table.update(col("id") >= 0, {"s": "y" * 45_000}) and table.scan().count(),
    "renumber": lambda: table.update(col("id") >= 0, {"n": -1}) and table.scan().count(),
    "changes": lambda: rows(table.changes(1, 2)),
    "diff": lambda: table.diff(1, 2).summary().added,
    "prove": lambda: table.changes(1, 2).prove().check() is not None,
    "merge": lambda: table.merge(shared(50_000), ["id"]) and table.scan().count(),
    "write": lambda: table.write(shared(50_000)) and table.scan().count(),
}[sys.argv[3]]()
print(json.dumps([found, status("VmHWM") - before]))
"""
FILL = """
import sys
import pyarrow as pa
from paimon_core import open_catalog

folder, name, rows, width, shared, commits = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
schema = pa.schema([("id", pa.int64()), ("n", pa.int32()), ("s", pa.string())])
keys = {"primary_key": ["id"], "options": {"bucket": "1", "write-only": "true"}} if name == "keyed" else {}
catalog = open_catalog(folder)
catalog.create_database("db", ignore_if_exists=True)
table = catalog.create_table("db." + name, schema, **keys)
step = 500

def batches(first, last):
    for start in range(first, last, step):
        ids = range(start, start + step)
        texts = ["x" * width] * step if shared else [f"{n:010}" * (width // 10) for n in ids]
        yield pa.record_batch([ids, [n * 7919 % 1000 for n in ids], texts], schema=schema)

part = rows // commits
for commit in range(commits):
    first = 0 if name == "keyed" else commit * part
    table.write(pa.RecordBatchReader.from_batches(schema, batches(first, (commit + 1) * part)))
"""


def run(code, *arguments):
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, stdout=subprocess.PIPE)
    return done.stdout


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc of Linux")
@pytest.mark.parametrize("name", list(TABLES))
def test_peak_memory(tmp_path, name):
    shape = TABLES[name]
    run(FILL, tmp_path, name, shape["rows"], shape["width"], int(shape["shared"]), shape["commits"])
    for case in shape["cases"]:
        expected = 10 if case == "top" else shape["rows"]
        found, peak = json.loads(run(CASE, tmp_path, f"db.{name}", case))
        assert (case, found) == (case, expected)
        assert peak < MOST, f"{case}: {peak >> 20} MB"
    if name == "keyed":
        ids = open_catalog(tmp_path).table("db.keyed").scan(columns=["id"]).to_arrow()["id"].to_pylist()
        assert sorted(ids) == list(range(shape["rows"]))


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc of Linux")
def test_peak_memory_of_a_shared_text_that_is_written(tmp_path):
    run(FILL, tmp_path, "keyed", 1000, 10, 1, 1)
    found, peak = json.loads(run(CASE, tmp_path, "db.keyed", "write"))
    assert found == 50_000
    assert peak < MOST, f"{peak >> 20} MB"


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc of Linux")
@pytest.mark.parametrize(
    ("case", "rows", "expected"), [("wide", 1000, 12_000), ("update", 50_000, 50_000), ("merge", 25_000, 50_000)]
)
def test_peak_memory_of_long_rows_in_a_keyed_table(tmp_path, case, rows, expected):
    run(FILL, tmp_path, "keyed", rows, 10, 1, 1)
    found, peak = json.loads(run(CASE, tmp_path, "db.keyed", case))
    assert found == expected
    assert peak < MOST, f"{peak >> 20} MB"


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc of Linux")
@pytest.mark.parametrize(("count", "width"), [(2_000_000, 10), (3_000, 100_000)])
def test_peak_memory_of_changes_of_an_append_table(tmp_path, count, width):
    """One update changes all rows."""
    run(FILL, tmp_path, "changed", count, width, 0, 1)
    for case, expected in {"renumber": count, "changes": 2 * count, "diff": count, "prove": True}.items():
        found, peak = json.loads(run(CASE, tmp_path, "db.changed", case))
        assert (case, found) == (case, expected)
        assert peak < MOST, f"{case}: {peak >> 20} MB"
