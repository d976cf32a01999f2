"""Tables with deletion vectors against a dictionary: random writes, deletes, updates and compactions from a seed.

The files are large enough that compactions leave the last level in place and mark rows in it.
"""

from __future__ import annotations

import itertools
import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from tests.support.long_cases import long_cases

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("w", pa.string())])
KEYS = 2000
SUM = {"fields.v.aggregate-function": "sum", "fields.w.aggregate-function": "last_non_null_value"}
FORMATS = ("parquet", "orc", "avro")
_numbers = itertools.count()


def a_catalog():
    catalog = paimon.open_catalog(f"memory://vectors-{next(_numbers)}")
    catalog.create_database("db")
    return catalog


def rows_of(data):
    return pa.table([list(column) for column in zip(*data, strict=True)], schema=SCHEMA)


def check(table, model):
    found = table.scan().to_arrow().to_pylist()
    assert len(found) == len(model) == table.scan().count()
    assert {r["k"]: (r["v"], r["w"]) for r in found} == model


@pytest.mark.parametrize("seed", [*range(3), *long_cases(range(3, 12))])
def test_a_table_with_a_primary_key(seed):
    chance = random.Random(seed)
    engine = ("deduplicate", "partial-update", "aggregation")[seed % 3]
    options = {
        "bucket": chance.choice(["1", "2"]),
        "target-file-size": chance.choice(["128 mb", "2 kb"]),
        "file.format": FORMATS[seed // 3 % 3],
        "num-levels": chance.choice(["3", "6"]),
        "deletion-vectors.enabled": "true",
        "deletion-vectors.bitmap64": chance.choice(["true", "false"]),
        "changelog-producer": chance.choice(["none", "lookup", "input"]),
        "merge-engine": engine,
        **(SUM if engine == "aggregation" else {}),
    }
    ordered = engine == "deduplicate" and chance.random() < 0.3
    if ordered:
        options["sequence.field"] = "v"
    grouped = engine == "partial-update" and chance.random() < 0.5
    if grouped:
        options["fields.v.sequence-group"] = "w"
    table = a_catalog().create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    model: dict[int, tuple] = {}

    def merged(old, new):
        if old is None or (engine == "deduplicate" and (not ordered or new[0] >= old[0])):
            return new
        if engine == "deduplicate":
            return old
        if grouped:
            return new if new[0] >= old[0] else old
        v = old[0] + new[0] if engine == "aggregation" else new[0]
        return v, old[1] if new[1] is None else new[1]

    for _ in range(10):
        step = chance.random()
        if step < 0.7:
            keys = chance.sample(range(KEYS), chance.choice([3, 30, 1000]))
            data = [(k, chance.randrange(100), chance.choice([None, "a", "b"])) for k in keys]
            table.write(rows_of(data))
            for k, *new in data:
                model[k] = merged(model.get(k), tuple(new))
        elif step < 0.85 and engine == "deduplicate" and not ordered:
            low = chance.randrange(KEYS)
            table.delete((col("k") >= low) & (col("k") < low + 50))
            model = {k: row for k, row in model.items() if not low <= k < low + 50}
        else:
            table.compact(full=chance.random() < 0.3)
        check(table, model)
    report = table.maintenance.check(deep=True)
    assert not report.findings, report.text()


@pytest.mark.parametrize("seed", [*range(3), *long_cases(range(3, 12))])
def test_an_append_table(seed):
    chance = random.Random(seed)
    options = {
        "deletion-vectors.enabled": chance.choice(["true", "true", "false"]),
        "deletion-vectors.bitmap64" if seed % 2 else "write-only": "true",
        "file.format": FORMATS[seed % 3],
        "deletion-vector.index-file.target-size": chance.choice(["1 kb", "2 mb"]),
        **chance.choice([{}, {"bucket": "2", "bucket-key": "k"}]),
    }
    if options["deletion-vectors.enabled"] == "false":
        options = {k: v for k, v in options.items() if not k.startswith("deletion-vector")}
    table = a_catalog().create_table("db.t", SCHEMA, options=options)
    model: dict[int, tuple] = {}
    for _ in range(12):
        step, low = chance.random(), chance.randrange(max(1, len(model)))
        some = (col("k") >= low) & (col("k") < low + chance.choice([1, 40, 400]))
        if step < 0.4:
            start = max(model, default=-1) + 1
            data = [(k, chance.randrange(100), chance.choice([None, "a"])) for k in range(start, start + 300)]
            table.write(rows_of(data))
            model |= {k: tuple(rest) for k, *rest in data}
        elif step < 0.65:
            found = set(table.scan(where=some).to_arrow()["k"].to_pylist())
            table.delete(some)
            model = {k: row for k, row in model.items() if k not in found}
        elif step < 0.85:
            found = set(table.scan(where=some).to_arrow()["k"].to_pylist())
            table.update(some, {"w": "new"})
            model = {k: (row[0], "new") if k in found else row for k, row in model.items()}
        else:
            table.compact(full=chance.random() < 0.5)
        check(table, model)
    report = table.maintenance.check(deep=True)
    assert not report.findings, report.text()
