import numpy as np
import pyarrow as pa
import pytest

from paimon_core.lsm import fold as module
from paimon_core.lsm.fold import fold, last
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
