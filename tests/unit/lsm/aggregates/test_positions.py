import numpy as np
import pyarrow as pa
import pytest

from paimon_core.lsm.aggregates.positions import (
    by_nulls,
    first_where,
    last_where,
    take_or_null,
    valid_rows,
)
from paimon_core.lsm.key_groups import Groups

COLUMN = pa.chunked_array([[1, None, None], [4, None]])
# Four groups: no rows; rows 3 and 1; no rows; rows 0, 2 and 4. Row 5 of the order is in no group.
GROUPS = Groups(np.array([3, 1, 1, 0, 2, 4]), np.array([0, 0, 2, 3]), np.array([0, 2, 2, 6]))


def test_the_last_and_first_value_that_is_not_null():
    valid = valid_rows(COLUMN)
    assert last_where(valid, GROUPS).tolist() == first_where(valid, GROUPS).tolist() == [-1, 3, -1, 0]
    assert take_or_null(COLUMN, last_where(valid, GROUPS)).to_pylist() == [None, 4, None, 1]


def test_without_a_condition_every_row_counts():
    assert last_where(None, GROUPS).tolist() == [-1, 1, -1, 4]
    assert first_where(None, GROUPS).tolist() == [-1, 3, -1, 0]


def test_a_row_of_another_group_is_never_found():
    only_row_3 = np.arange(5) == 3
    assert last_where(only_row_3, GROUPS).tolist() == [-1, 3, -1, -1]
    assert first_where(only_row_3, GROUPS).tolist() == [-1, 3, -1, -1]
    only_row_4 = np.arange(5) == 4
    assert first_where(only_row_4, GROUPS).tolist() == [-1, -1, -1, 4]
    assert last_where(only_row_4, GROUPS).tolist() == [-1, -1, -1, 4]


def test_no_groups_and_no_nulls():
    none = Groups(*np.zeros((3, 0), np.int64))
    assert last_where(valid_rows(COLUMN), none).tolist() == first_where(valid_rows(COLUMN), none).tolist() == []
    assert valid_rows(pa.chunked_array([[1, 2]])) is None


@pytest.mark.parametrize("kind", [pa.list_(pa.int8()), pa.struct([("a", pa.int8())])])
def test_values_of_nested_types_are_taken(kind):
    value = [7] if pa.types.is_list(kind) else {"a": 7}
    column = pa.chunked_array([pa.array([value, None], kind)])
    assert take_or_null(column, np.array([-1, 0, 1])).to_pylist() == [None, value, None]


def test_columns_with_nulls_in_the_same_rows_are_grouped():
    rows = pa.table({"a": [1, None, 3], "b": ["x", None, None], "c": [None, 2, 3], "d": [4, None, 5], "e": [1, 2, 3]})
    rows = pa.concat_tables([rows.slice(1), rows])  # the chunks of one column have an offset, those of the other none
    found = [(valid.tolist(), names) for valid, names in by_nulls(rows, rows.column_names)]
    assert [names for _, names in found] == [["a", "d"], ["b"], ["c"]]
    assert [valid for valid, _ in found] == [rows[names[0]].is_valid().to_pylist() for _, names in found]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int64(), pa.float32(), pa.bool_(), pa.time64("us"), pa.decimal128(20, 1)]
)
@pytest.mark.parametrize("offset", [0, 1, 8, 13])
def test_values_or_null_are_those_of_arrow(kind, offset):
    numbers = np.random.default_rng(offset).integers(0, 2, 40)
    values = pa.array(numbers, pa.int32(), mask=numbers == 0).cast(pa.int64()).cast(kind).slice(offset)
    column = pa.chunked_array([values, values.slice(3, 0), values.slice(5)])
    positions = np.random.default_rng(offset).integers(-1, len(column), 50)
    expected = column.take(pa.array(positions, mask=positions < 0))
    assert take_or_null(column, positions).equals(expected)
    assert take_or_null(column.slice(0, 0), np.array([-1])).to_pylist() == [None]
