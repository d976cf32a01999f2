"""Sketch columns: Java and we unite the same sketches, and each goes on with what the other has united."""

from __future__ import annotations

import datasketches
import pyarrow as pa
import pyroaring
import pytest

import paimon_core as paimon
from paimon_core.lsm.aggregates.bitmaps.bitmap64 import from_portable, to_portable
from paimon_core.lsm.aggregates.bitmaps.bitmap64_tree import read_tree, write_tree

BLOCK = 1 << 16
SCHEMA = pa.schema([("k", pa.int32()), *((name, pa.binary()) for name in ("hll", "theta", "r32", "r64"))])
FUNCTIONS = {"hll": "hll_sketch", "theta": "theta_sketch", "r32": "rbm32", "r64": "rbm64"}
OPTIONS = {"bucket": "1", "write-only": "true", "merge-engine": "aggregation"} | {
    f"fields.{column}.aggregate-function": function for column, function in FUNCTIONS.items()
}
PARTS = {
    1: [[1, 2, 3], [3, 4], [5]],
    2: [range(5000), range(4000, 30_000), range(0, 90_000, 3)],
    3: [range(20), [7], range(10, 3000)],
    4: [[9], range(40_000), [40_000]],
    5: [range(70_000), range(30_000, 130_000, 2), range(65_536)],
}
WIDE = {  # values of 64 bits: radix trees of every kind of node
    1: [[1, 2**40], [2**63, 2**64 - 1], [5]],
    2: [range(0, 5 * BLOCK, BLOCK), range(0, 17 * BLOCK, BLOCK), [2**50]],
    3: [range(0, 49 * BLOCK, BLOCK), range(BLOCK, 200 * BLOCK, BLOCK), range(2**56, 2**56 + 70_000)],
    4: [range(0, 60 << 40, 1 << 40), [0], [n << 56 for n in range(256)]],
    5: [range(10_000), range(2**32, 2**32 + 30_000, 3), range(2**33 - 10, 2**33 + 10)],
}


def hll(values):
    sketch = datasketches.hll_sketch(12)
    for value in values:
        sketch.update(value)
    return sketch.serialize_compact()


def theta(values):
    sketch = datasketches.update_theta_sketch()
    for value in values:
        sketch.update(value)
    return sketch.compact().serialize()


def r32(values):
    bitmap = pyroaring.BitMap(values)
    bitmap.run_optimize()
    return bitmap.serialize()


def r64(values):
    bitmap = pyroaring.BitMap64(values)
    bitmap.run_optimize()
    return write_tree(from_portable(bitmap.serialize()))


def estimate(data):
    return datasketches.hll_sketch.deserialize(data).get_estimate()


def set64(data):
    return pyroaring.BitMap64.deserialize(to_portable(read_tree(data)))


def rows(number: int) -> pa.Table:
    """The sketches of part ``number`` of every key."""
    columns = [[make(part[number]) for part in PARTS.values()] for make in (hll, theta, r32)]
    return pa.table([list(PARTS), *columns, [r64(part[number]) for part in WIDE.values()]], schema=SCHEMA)


def ours(table) -> dict[int, tuple[bytes, ...]]:
    return {row["k"]: tuple(row[c] for c in FUNCTIONS) for row in table.scan().to_arrow().to_pylist()}


def javas(oracle, warehouse, name) -> dict[int, tuple[bytes, ...]]:
    return {row[1]: tuple(bytes.fromhex(v) for v in row[2:]) for row in oracle.dump(warehouse, name)}


def agree(one, other, numbers):
    """The same bytes, but where HyperLogLog and 64-bit bitmaps remember an order; and the right values."""
    assert one.keys() == other.keys() == PARTS.keys()
    for key in PARTS:
        assert one[key][1:3] == other[key][1:3]
        assert estimate(one[key][0]) == pytest.approx(estimate(other[key][0]), rel=1e-3)
        assert set64(one[key][3]) == set64(other[key][3])
        values = set().union(*(PARTS[key][n] for n in numbers))
        assert estimate(one[key][0]) == pytest.approx(len(values), rel=0.05)
        assert datasketches.compact_theta_sketch.deserialize(one[key][1]).get_estimate() == pytest.approx(
            len(values), rel=0.05
        )
        assert set(pyroaring.BitMap.deserialize(one[key][2])) == values
        assert set(set64(one[key][3])) == set().union(*(WIDE[key][n] for n in numbers))


@pytest.fixture
def table(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog.create_table("db.t", SCHEMA, primary_key=["k"], options=OPTIONS)


def test_both_unite_the_same_sketches_alike(oracle, warehouse, table):
    for number in range(3):
        table.write(rows(number))
    agree(ours(table), javas(oracle, warehouse, "db.t"), range(3))


@pytest.mark.parametrize("first", ["ours", "java"])
def test_each_goes_on_with_what_the_other_has_united(oracle, warehouse, table, first):
    def compact(by):
        if by == "ours":
            table.compact(full=True)
        else:
            oracle.run(warehouse, [{"op": "compact", "table": "db.t"}])

    table.write(rows(0))
    table.write(rows(1))
    compact(first)
    agree(ours(table), javas(oracle, warehouse, "db.t"), range(2))
    table.write(rows(2))
    agree(ours(table), javas(oracle, warehouse, "db.t"), range(3))
    compact("java" if first == "ours" else "ours")
    agree(ours(table), javas(oracle, warehouse, "db.t"), range(3))


def test_java_refuses_the_bytes_that_we_refuse(oracle, warehouse, table):
    garbage = rows(0).set_column(3, "r32", pa.array([b"\x01\x02garbage"] * 5, pa.binary()))
    table.write(rows(0))
    table.write(garbage)
    with pytest.raises(paimon.InvalidRequest, match="column 'r32'"):
        table.scan().to_arrow()
    (failed,) = oracle.run(warehouse, [{"op": "dump", "table": "db.t"}], allow_errors=True)
    assert "error" in failed
