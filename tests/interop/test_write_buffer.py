"""What a full write buffer makes, beside Java's: the input changelog row by row, and tables whose rows were spilled.

sequence.field.sort-order = descending is left out: Java's buffer obeys it from 2.1 on, this Java is older.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon

T = "db.t"
FIELDS = [
    {"name": "k", "type": "STRING NOT NULL"},
    {"name": "s", "type": "INT"},
    {"name": "n", "type": "BIGINT"},
    {"name": "v", "type": "STRING"},
]
ENGINES = [
    {},
    {"ignore-delete": "true"},
    {"sequence.field": "s"},
    {"sequence.field": "s,n"},
    {"merge-engine": "partial-update", "ignore-delete": "true"},
    {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "fields.v.aggregate-function": "listagg"},
]


def create(options):
    fixed = {"bucket": "1", "write-only": "true", "changelog-producer": "input"}
    return {"op": "create", "table": T, "fields": FIELDS, "primaryKeys": ["k"], "options": fixed | options}


def random_rows(options):
    random.seed(str(options))
    kinds = ["+I", "+U"] if "fields.v.aggregate-function" in options else ["+I", "+U", "-U", "-D"]
    orders, numbers = [None, 0, 1, 2], [None, *range(5)]
    return [
        [random.choice(kinds), random.choice("abcdé"), random.choice(orders), random.choice(numbers), f"{n}"]
        for n in range(60)
    ]


def write(warehouse, rows, parts, **options):
    """Our write of the rows, in parts, with ``options`` for this write only."""
    table = paimon.open_catalog(str(warehouse)).table(T)
    table.context.options.values.update(options)
    with table.writer() as writer:
        for start in range(0, len(rows), len(rows) // parts):
            kinds, *columns = zip(*rows[start : start + len(rows) // parts], strict=True)
            writer.write(pa.table([list(c) for c in columns], schema=table.arrow_schema), pa.array(kinds))
        table.commit(writer.flush())


def files(warehouse, pattern):
    """The rows of the bucket's files of one kind."""
    found = sorted(Path(warehouse).rglob(f"bucket-0/{pattern}"))
    return [pq.read_table(path).to_pylist() for path in found]


@pytest.mark.parametrize("memory", [1, 1 << 20], ids=["spilled", "in memory"])
@pytest.mark.parametrize("options", ENGINES, ids=[" ".join(o.values()) or "deduplicate" for o in ENGINES])
def test_data_and_changelog_files_have_javas_rows(oracle, warehouse, tmp_path, options, memory):
    oracle.run(warehouse, [create(options)])
    javas = tmp_path / "java"
    shutil.copytree(warehouse, javas)
    rows = random_rows(options)
    write(warehouse, rows, 5, **{"write-buffer-size": memory})
    oracle.run(javas, [{"op": "write", "table": T, "rows": rows}])
    for pattern in ("changelog-*", "data-*"):
        assert files(warehouse, pattern) == files(javas, pattern)
        assert len(files(warehouse, pattern)) == 1
    assert oracle.dump(warehouse, T) == oracle.dump(javas, T)
