import numpy as np
import pyarrow as pa
import pytest

from paimon_core.lsm import fold as module
from paimon_core.lsm.fold import first, fold, last
from paimon_core.lsm.key_groups import Groups

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("s", pa.string()), ("l", pa.list_(pa.int32()))])
ROWS = pa.concat_tables(
    [
        pa.table([[1, 2], ["a", None], [[1], None]], schema=SCHEMA),
        pa.table([[1, 3], ["c", "d"], [[], [None, 4]]], schema=SCHEMA),
    ]
)
GROUPS = Groups(np.array([0, 2, 1, 3]), np.array([0, 2, 3]), np.array([2, 3, 4]))


@pytest.mark.parametrize("few", [0, 4])
def test_the_last_rows_are_the_same_taken_as_rows_and_by_columns(monkeypatch, few):
    monkeypatch.setattr(module, "FEW_ROWS", few)
    wanted = pa.table([["c", None, "d"], [1, 2, 3]], schema=pa.schema([SCHEMA.field(1), SCHEMA.field(0)]))
    assert fold(ROWS, GROUPS, {"s": last, "k": last}).combine_chunks().equals(wanted, check_metadata=True)
    assert fold(ROWS, GROUPS, {"l": last})["l"].to_pylist() == [[], None, [None, 4]]
    assert len(fold(ROWS, Groups(GROUPS.order[:0], GROUPS.starts[:0], GROUPS.ends[:0]), {"k": last})) == 0


def test_no_rows_stay_no_rows():
    none = ROWS.slice(0, 0)
    groups = Groups(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert fold(none, groups, {"k": last}).schema == pa.schema([SCHEMA.field(0)])


def test_a_value_column_that_is_its_key_column_is_taken_once(monkeypatch):
    monkeypatch.setattr(module, "FEW_ROWS", 0)
    taken = []

    def counted(column, groups):
        taken.append(column)
        return last(column, groups)

    keys, others = ROWS["s"], pa.chunked_array([["x", "y"], ["z", "v"]])
    shifted = pa.chunked_array([pa.array(["?", *keys.to_pylist(), "!"]).slice(1, 4)])
    for values, times in ((keys, 1), (others, 2), (shifted, 2)):
        rows = pa.table({"_KEY_s": keys, "s": values})
        taken.clear()
        found = fold(rows, GROUPS, {"_KEY_s": counted, "s": counted})
        assert len(taken) == times
        assert found["_KEY_s"].to_pylist() == ["c", None, "d"]
        assert found["s"].to_pylist() == [values[2].as_py(), values[1].as_py(), values[3].as_py()]
    found = fold(pa.table({"_KEY_s": keys, "s": keys}), GROUPS, {"_KEY_s": last, "s": first})
    assert found["s"].to_pylist() == ["a", None, "d"]
    halves = {"_KEY_s": shifted.slice(0, 3), "s": shifted.slice(1, 3)}
    few = Groups(np.arange(3), np.arange(3), np.arange(1, 4))
    assert fold(pa.table(halves), few, {"_KEY_s": last, "s": last})["s"].to_pylist() == halves["s"].to_pylist()
