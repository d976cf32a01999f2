import numpy as np
import pyarrow as pa
import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.engines.first_row import FirstRow
from paimon_core.lsm.key_groups import group
from paimon_core.options import TableOptions

INSERT, BEFORE, AFTER, DELETE = 0, 1, 2, 3


def merged(keys, kinds, *, engine=FirstRow(), drop_deletes=False):  # noqa: B008
    """Return the numbers of the remaining rows."""
    rows = pa.table({"_VALUE_KIND": pa.array(kinds, pa.int8()), "number": np.arange(len(keys))})
    groups = engine.survivors(rows, group(np.array(keys), None), drop_deletes=drop_deletes)
    return engine.fold(rows, groups, ["number"])["number"].to_pylist()


def test_the_first_row_stays():
    assert merged([2, 1, 2, 1], [INSERT, AFTER, AFTER, INSERT]) == [1, 0]


def test_rows_without_kinds_are_no_retracts():
    rows = pa.table({"v": [7, 8]})
    groups = FirstRow().survivors(rows, group(np.array([1, 1]), None), drop_deletes=True)
    assert FirstRow().fold(rows, groups, ["v"])["v"].to_pylist() == [7]


def test_retracts_are_refused():
    with pytest.raises(InvalidRequest, match="ignore-delete"):
        merged([1, 1], [INSERT, DELETE])
    with pytest.raises(InvalidRequest, match="ignore-delete"):
        FirstRow().check_retract({BEFORE})
    FirstRow(ignore_delete=True).check_retract({BEFORE, DELETE})


def test_ignored_retracts_do_not_count():
    ignoring = FirstRow(ignore_delete=True)
    assert merged([1, 1, 2, 2], [DELETE, INSERT, DELETE, BEFORE], engine=ignoring) == [1]


def test_a_lone_retract_is_kept_as_it_is_and_may_be_dropped():
    assert merged([1, 2], [DELETE, INSERT]) == [0, 1]
    assert merged([1, 2], [DELETE, INSERT], drop_deletes=True) == [1]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"sequence.field": "v"}, "sequence.field"),
        ({"changelog-producer": "input"}, "changelog-producer = input"),
        ({"changelog-producer": "full-compaction"}, "changelog-producer = full-compaction"),
    ],
)
def test_options_that_first_row_refuses(options, named):
    with pytest.raises(InvalidRequest, match=named):
        FirstRow.of(TableOptions.parse(options))


def test_options_that_first_row_accepts():
    assert FirstRow.of(TableOptions.parse({"ignore-delete": "true", "changelog-producer": "lookup"})) == FirstRow(True)
