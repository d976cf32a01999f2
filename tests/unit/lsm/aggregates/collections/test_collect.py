import math

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.errors import InvalidOption
from paimon_core.lsm.aggregates.collections.collect import Collect, collect
from paimon_core.lsm.aggregates.function_choice import aggregate
from paimon_core.lsm.key_groups import Groups
from paimon_core.options import FieldOptions
from tests.support.collection_columns import Back, field_of, folded

INTS = pa.list_(pa.field("element", pa.int32(), nullable=True))
FLOATS = pa.list_(pa.float64())
ALL, ONCE = Collect(), Collect(distinct=True)


def test_arrays_are_put_one_after_the_other():
    assert folded(ALL, INTS, [[1, None], None, [], [1]], [None, []], [None], [[2]]) == [[1, None, 1], [], None, [2]]


def test_the_type_keeps_its_names_and_nullability():
    kind = pa.list_(pa.field("element", pa.struct([pa.field("a", pa.int8(), nullable=False)]), nullable=False))
    assert folded(ALL, kind, [[{"a": 1}], [{"a": 2}]]) == [[{"a": 1}, {"a": 2}]]


def test_empty_groups_and_null_arrays_with_elements_beneath():
    arrays = pa.ListArray.from_arrays(pa.array([0, 1, 3, 4], pa.int32()), pa.array([1, 2, 3, 4], pa.int32()))
    hidden = pa.ListArray.from_arrays(arrays.offsets, arrays.values, mask=pa.array([False, True, False]))
    groups = Groups(np.array([2, 1, 0]), np.array([0, 0]), np.array([0, 3]))
    assert ALL(pa.chunked_array([hidden]), groups, None).to_pylist() == [None, [4, 1]]


def test_distinct_elements_in_the_order_first_seen():
    assert folded(ONCE, INTS, [[3, 1, 3], [None, 1, None, 2]], [[1, 1]], [None]) == [[3, 1, None, 2], [1], None]


def test_single_floats_are_equal_as_objects():
    (found,) = folded(ONCE, FLOATS, [[math.nan, 0.0], [-0.0, math.nan]])
    assert str(found) == "[nan, 0.0, -0.0]"


def test_floats_within_rows_are_equal_as_numbers():
    rows = pa.list_(pa.struct([("a", pa.float64())]))
    (found,) = folded(ONCE, rows, [[{"a": math.nan}, {"a": 0.0}], [{"a": -0.0}, {"a": math.nan}, {"a": None}]])
    assert str([row["a"] for row in found]) == "[nan, 0.0, nan, None]"


def test_a_retract_removes_one_of_each_element_the_earliest_first():
    assert folded(ALL, INTS, [[1, 2, 1], [None, None], Back([1, None, 7])]) == [[2, 1, None]]


def test_an_absent_element_cannot_be_retracted():
    assert folded(ALL, INTS, [Back([1]), [1]], [[1], Back([1, 1]), [1]]) == [[1], [1]]


def test_retracting_all_leaves_an_empty_array_and_retracts_alone_leave_null():
    assert folded(ALL, INTS, [[1], Back([1])], [Back([1]), Back(None)], [[1], Back(None)]) == [[], None, [1]]


def test_distinct_retracts():
    assert folded(ONCE, INTS, [[1, 2], [1], Back([1]), [3], [1]], [[1], Back([1])]) == [[2, 3, 1], []]


def test_byte_strings_are_retracted_only_when_distinct():
    kind = pa.list_(pa.binary())
    assert folded(ALL, kind, [[b"a", None], Back([b"a", None])]) == [[b"a"]]
    assert folded(ONCE, kind, [[b"a", b"a"], Back([b"a"])]) == [[]]


def test_rows_of_the_table_without_order():
    column = pa.chunked_array([pa.array([[1], [2]], INTS), pa.array([[3]], INTS)])
    groups = Groups(np.array([2, 0, 1]), np.array([1]), np.array([3]))
    assert ALL(column, groups, np.array([False, False, True])).to_pylist() == [[1, 2]]


def test_the_type_and_the_options():
    assert collect(field_of(INTS), FieldOptions(distinct=True)) == ONCE
    with pytest.raises(InvalidOption, match="column 'v': aggregate function 'collect' takes ARRAY, not INT"):
        aggregate("collect", field_of("INT"), FieldOptions())
    with pytest.raises(InvalidOption, match=r"fields.v.list-agg-delimiter = ',' is refused"):
        collect(field_of(INTS), FieldOptions(list_agg_delimiter=","))
