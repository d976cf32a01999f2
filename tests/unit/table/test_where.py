"""``where`` as text and as an Arrow expression in every call that takes it."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import paimon_core as paimon
from paimon_core import Delete, col

ROW = pa.struct([("city", pa.string())])
ROWS = [
    {"p": "x", "k": 1, "v": 5, "a": {"city": "rome"}, "a.b": 1},
    {"p": "x", "k": 2, "v": 1, "a": {"city": None}, "a.b": 2},
    {"p": "y", "k": 3, "v": None, "a": None, "a.b": 3},
]
SCHEMA = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        ("v", pa.int32()),
        ("a", ROW),
        ("a.b", pa.int32()),
    ]
)


@pytest.fixture(params=["keyed", "append", "vectors", "plain"])
def table(request, warehouse):
    keyed = request.param == "keyed"
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table(
        "db.t",
        SCHEMA,
        primary_key=["p", "k"] if keyed else [],
        partition_by=[] if request.param == "plain" else ["p"],
        options={"bucket": "1" if keyed else "-1", "deletion-vectors.enabled": str(request.param == "vectors").lower()},
    )
    table.write(pa.Table.from_pylist(ROWS, SCHEMA))
    return table


def keys(table, where=None):
    return sorted(table.scan(["k"], where).to_arrow()["k"].to_pylist())


def test_reads(table):
    assert keys(table, "v > k or a.city is null") == [1, 2, 3]
    assert keys(table, "v > k") == [1]
    assert keys(table, pc.field("a", "city") == "rome") == [1]
    assert keys(table, col("a.city") == "rome") == [1]
    assert keys(table, "`a.b` >= 2") == keys(table, col("a.b") >= 2) == [2, 3]
    assert keys(table, "true") == [1, 2, 3]
    assert keys(table, "false or k < 0") == []
    assert table.scan(["k"], "a.city like '%m%'").plan.where == col("a", "city").like("%m%")


def test_changes_of_rows(table):
    assert sorted(table.changes(where="a.city = 'rome' and true").to_arrow()["k"].to_pylist()) == [1]
    assert sorted(table.changes(where="true").to_arrow()["k"].to_pylist()) == [1, 2, 3]
    table.update("a.city = 'rome'", {"v": 7})
    assert keys(table, "v = 7") == [1]
    table.delete("v = 7 and not k > 5")
    assert keys(table) == [2, 3]
    table.delete(col("a.b") == 3)
    assert keys(table) == [2]
    assert table.delete("false") is None
    assert keys(table) == [2]
    table.delete("true")
    assert keys(table) == []


def test_partitions(table):
    if not table.schema.partition_keys:
        return
    table.overwrite(pa.Table.from_pylist(ROWS[:1], SCHEMA), "p like 'x%'")
    assert keys(table) == [1, 3]
    table.compact(True, "p in ('x')")
    prepared = table.prepare(pa.Table.from_pylist(ROWS[:1], SCHEMA), overwrite=True, where="p = 'x' or p = 'z'")
    assert prepared.where == (col("p") == "x") | (col("p") == "z")
    prepared.publish()
    assert keys(table) == [1, 3]
    with pytest.raises(paimon.InvalidRequest, match="'k', which is not a partition column"):
        table.compact(True, "k = 1")


def test_merges(table):
    source = pa.table({"p": ["x", "x"], "k": [1, 2], "op": ["del", "keep"]})
    table.merge(source, ["p", "k"], when_matched=Delete("a.city = 'rome'", "op like 'd%'"), when_not_matched=None)
    assert keys(table) == [2, 3]
    with pytest.raises(paimon.InvalidRequest, match="whole columns"):
        table.merge(source, ["p", "k"], when_matched=paimon.Update({"v": col("op", "x")}), when_not_matched=None)


@pytest.mark.parametrize("kind", ["parquet", "orc"])
@pytest.mark.parametrize("keyed", [True, False])
def test_names_that_arrow_would_take_for_paths(warehouse, keyed, kind):
    """ ".x" as a path is the member "x"; Arrow reads texts that start with a point as paths."""
    names = ["x", ".x", ".", "[0]", "x.y", ".[0]", "`"]
    inner = pa.struct([(name, pa.int32()) for name in names])
    kinds = {"k": pa.int32()} | dict.fromkeys(names, pa.int32()) | {"r": inner, "l": pa.list_(inner)}
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"file.format": kind} | ({"bucket": "1"} if keyed else {})
    key = ["k"] if keyed else []
    table = catalog.create_table("db.t", pa.schema(list(kinds.items())), primary_key=key, options=options)
    values = [{name: 10 * at + k for at, name in enumerate(names)} for k in range(2)]
    rows = [{"k": k, **value, "r": value, "l": [value, None]} for k, value in enumerate(values)]
    table.write(rows)
    assert table.scan().to_arrow().sort_by("k").to_pylist() == rows
    for at, name in enumerate(names):
        for column in (col(name), col("r", name)):
            assert table.scan(["k"], where=column == 10 * at + 1).to_arrow().to_pylist() == [{"k": 1}]
