"""Cross-partition upsert: Java and we write in turn, and a key has the partition and the values that Java gives it."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import paimon_core as paimon

FIELDS = [
    {"name": "p", "type": "INT NOT NULL"},
    {"name": "k", "type": "STRING NOT NULL"},
    {"name": "v", "type": "INT"},
]
SCHEMA = pa.schema([pa.field("p", pa.int32(), False), pa.field("k", pa.string(), False), ("v", pa.int32())])
ENGINES = {
    "deduplicate": ["+I", "+U", "-D"],
    "partial-update": ["+I"],
    "aggregation": ["+I"],
    "first-row": ["+I"],
}


@pytest.mark.parametrize("commits", [2, pytest.param(6, marks=pytest.mark.long)])
def test_java_and_we_place_random_rows_alike_and_continue_each_other(oracle, warehouse, commits):
    catalog, chance, steps = paimon.open_catalog(warehouse), random.Random(14), []
    for engine in ENGINES:
        options = {"bucket": "-1", "merge-engine": engine, "dynamic-bucket.target-row-num": "8"}
        if engine == "aggregation":
            options["fields.v.aggregate-function"] = "sum"
        shape = {"fields": FIELDS, "primaryKeys": ["k"], "partitionKeys": ["p"], "options": options}
        steps += [{"op": "create", "table": f"db.{name}_{engine}", **shape} for name in ("both", "java")]
    oracle.run(warehouse, steps)
    for commit in range(commits):
        steps = []
        for engine, kinds in ENGINES.items():
            rows = [
                [
                    chance.choice(kinds),
                    chance.randrange(3),
                    f"k{chance.randrange(30)}",
                    chance.choice([None, commit]),
                ]
                for _ in range(25)
            ]
            written = {"op": "write", "rows": rows}
            steps.append(written | {"table": f"db.java_{engine}"})
            if commit % 2:
                kind, *columns = zip(*rows, strict=True)
                table = catalog.table(f"db.both_{engine}")
                table.write(pa.table([list(c) for c in columns], schema=SCHEMA), pa.array(kind))
            else:
                steps.append(written | {"table": f"db.both_{engine}"})
            steps += [{"op": "compact", "table": f"db.{name}_{engine}"} for name in ("both", "java")]
        oracle.run(warehouse, steps)
    for engine in ENGINES:
        table = catalog.table(f"db.both_{engine}")
        expected = oracle.dump(warehouse, f"db.java_{engine}")
        assert oracle.dump(warehouse, f"db.both_{engine}") == expected
        assert sorted(tuple(r.values()) for r in table.scan().to_arrow().to_pylist()) == sorted(
            tuple(r[1:]) for r in expected
        )
        assert len({r[2] for r in expected}) == len(expected) > 10
        assert not table.maintenance.check(deep=True).findings
