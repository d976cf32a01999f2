"""Merges of a source into a table: what each clause does, what is refused, and what happens beside other commits."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paimon_core import Delete, Insert, Update, col
from tests.unit.table.test_row_changes import VECTORS, WAYS, content, make, rows

KEYED = {
    "keyed": {"keyed": True, "bucket": "1"},
    "keyed with vectors": {"keyed": True, "bucket": "1", **VECTORS, "write-only": "false"},
    "dynamic buckets": {"keyed": True, "bucket": "-1"},
    "postponed": {"keyed": True, "bucket": "-2", "write-only": "false"},
}


def keys(table):
    return sorted(k for _, k in content(table))


@pytest.mark.parametrize("options", (WAYS | KEYED).values(), ids=WAYS | KEYED)
def test_rows_are_updated_deleted_and_inserted(warehouse, options):
    table = make(warehouse, **options)
    for start in (0, 10, 20):
        table.write(rows(*range(start, start + 10)))
    table.write(rows(5, p="b"))
    on = ["p", "k"]
    table.merge(rows(3, 12, 40, v="y"), on)
    expected = {("a", k): f"x{k}" for k in range(30)} | {("b", 5): "x5"}
    expected |= {("a", 3): "y3", ("a", 12): "y12", ("a", 40): "y40"}
    assert content(table) == expected

    changes = rows(3, 5, 12, 25, 50, 51, v="z").append_column("op", pa.array(["D", "U", "F", "-", "I", "D"]))
    table.merge(
        changes,
        on,
        when_matched=[
            Delete(source_where=col("op") == "D"),
            Update({"v": lambda old, new: pc.binary_join_element_wise(old["v"], new["v"], "+")}, col("k") < 10),
            Update({"v": "literal"}, source_where=col("op") == "F"),
        ],
        when_not_matched=[
            Insert({"p": col("p"), "k": col("k"), "v": col("op")}, source_where=col("op") == "I"),
        ],
    )
    del expected["a", 3]
    expected |= {("a", 5): "x5+z5", ("a", 12): "literal", ("a", 50): "I"}
    assert content(table) == expected

    table.merge(
        rows(5, 12),
        on,
        when_matched=None,
        when_not_matched=None,
        when_not_matched_by_source=[Update({"v": "old"}, where=col("k") < 2), Delete(where=col("k") < 40)],
    )
    assert content(table) == {
        **{("a", k): "old" for k in (0, 1)},
        **{k: expected[k] for k in [("a", 5), ("a", 12), ("a", 40), ("a", 50)]},
    }
    before = table.latest_snapshot()
    assert table.merge(rows(100), on, when_not_matched=None) is None
    assert table.merge(rows(1), on, when_matched=Update(where=col("v") == "none")) is None
    assert table.merge([], on) is None
    assert table.latest_snapshot() == before
    assert not table.maintenance.check(deep=True).findings
