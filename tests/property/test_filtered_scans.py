"""A filtered scan returns the rows of the full scan that the model selects; nothing is left out wrongly."""

import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from tests.support.predicate_model import BUILD, COLUMNS, FIELDS, PAIRS, PARTS, PATTERNS, build, evaluate

_INDEXES = {f"file-index.{kind}.columns": "i,s,ts,i8" for kind in ("bloom-filter", "bitmap")}
TABLES = {
    "append": {"bucket": "-1", "file-index.range-bitmap.columns": "i,ts,s9", "file-index.bsi.columns": "i8,d"},
    "indexed": {"bucket": "2", "bucket-key": "id", "file-index.in-manifest-threshold": "1b", **_INDEXES},
    "keyed": {"bucket": "2", "write-only": "true", **_INDEXES},
    "vectors": {"bucket": "1", "deletion-vectors.enabled": "true", "write-only": "true"},
}
PARTITIONED = {"indexed": ["o"]}
FILES = 4
LONG = {"append": 350, "indexed": 60, "keyed": 120, "vectors": 800}
"""The filters of one of two long tests; a filter of the tables with many small files takes longest."""
ROWS = 12


def a_tree(rng, depth=3):
    if depth and rng.random() < 0.6:
        kind = rng.choice(["not", "and", "or"])
        return (kind, *(a_tree(rng, depth - 1) for _ in range(1 if kind == "not" else 2)))
    if rng.random() < 0.15:
        return ("pair", rng.choice(sorted(BUILD)), *rng.sample(rng.choice(PAIRS), 2))
    name = rng.choice(sorted(COLUMNS))
    literals = COLUMNS[name][2]
    kind = rng.choice([*BUILD, "in", "null"] + PARTS * (name in "sb") + ["like"] * 2 * (name in ("s", "s9")))
    if kind == "null":
        return (kind, name, None)
    if kind == "like":
        return (kind, name, rng.choice(PATTERNS))
    return (kind, name, rng.sample(literals, rng.randint(0, len(literals))) if kind == "in" else rng.choice(literals))


def a_table(name, warehouse, rng):
    """Return a table of several files, each with few values per column, so that many of them can be left out."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    fields = [pa.field("id", pa.int64(), nullable=False), *(f.annotated for f in FIELDS)]
    partitions = PARTITIONED.get(name, [])
    key = ["id"] if name in ("keyed", "vectors") else []
    options = {"file.format": "parquet", **TABLES[name]}
    table = catalog.create_table(
        "db." + name, pa.schema(fields), primary_key=key, partition_by=partitions, options=options
    )
    for at in range(FILES):
        few = {n: rng.sample([None, *values], 2) for n, (_, values, _) in COLUMNS.items()}
        ids = rng.sample(range(30), ROWS) if key else range(at * ROWS, at * ROWS + ROWS)
        rows = [{"id": i, **{n: rng.choice(values) for n, values in few.items()}} for i in ids]
        columns = {f.name: pa.array([row[f.name] for row in rows], f.type.to_arrow()) for f in FIELDS}
        table.write(pa.table({"id": pa.array(ids, pa.int64()), **columns}))
        if key and at == 1:
            table.compact(full=True)
    return table


def check(name, warehouse, seed, count):
    rng = random.Random(seed)
    table = a_table(name, warehouse, rng)
    rows = table.scan().to_arrow().to_pylist()
    found = 0
    for _ in range(count):
        tree = a_tree(rng)
        where = build(tree)
        selected = table.scan(["id"], rng.choice([where, str(where)])).to_arrow()["id"].to_pylist()
        assert sorted(selected) == sorted(row["id"] for row in rows if evaluate(tree, row) is True), (seed, where)
        found += bool(selected)
    assert 0 < found < count


@pytest.mark.parametrize("name", TABLES)
def test_a_filtered_scan_returns_what_the_model_selects(name, warehouse):
    check(name, warehouse, 15, 50)


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("seed", range(2))
def test_many_filters(name, seed, warehouse):
    check(name, warehouse, seed, LONG[name])
