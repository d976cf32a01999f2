import pyarrow as pa
import pytest

from paimon_core.lsm.merge_order import MergeOrder, is_add, sequence_numbers
from paimon_core.options import TableOptions


def rows(**columns):
    count = len(next(iter(columns.values())))
    return pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array(columns.pop("seq", [0] * count), pa.int64()),
            "_VALUE_KIND": pa.array(columns.pop("kind", [0] * count), pa.int8()),
            **columns,
        }
    )


def test_kinds_and_numbers():
    table = rows(seq=[4, 5, 6, 7], kind=[0, 1, 2, 3])
    assert is_add(table).tolist() == [True, False, True, False]
    assert sequence_numbers(table).tolist() == [4, 5, 6, 7]


def ranking(order, table):
    ranks = list(zip(*(part.tolist() for part in order.ranks(table)), strict=True))
    return [[i for i, r in enumerate(ranks) if r == value] for value in sorted(set(ranks))]


def test_sequence_number_then_retract_before_add():
    table = rows(seq=[1, 0, 1, 1], kind=[3, 0, 2, 1])
    assert ranking(MergeOrder(), table) == [[1], [0, 3], [2]]


@pytest.mark.parametrize(("descending", "expected"), [(False, [[2], [0], [3], [1]]), (True, [[2], [1], [0], [3]])])
def test_sequence_fields_come_first_and_null_is_smallest_in_both_directions(descending, expected):
    table = rows(seq=[0, 1, 9, 2], s=pa.array([5, 7, None, 5]))
    assert ranking(MergeOrder(("s",), descending), table) == expected


def test_several_sequence_fields():
    table = rows(seq=[0, 1, 2], a=pa.array([1, 1, 0]), b=pa.array(["y", "x", "z"]))
    assert ranking(MergeOrder(("a", "b")), table) == [[2], [1], [0]]
    assert ranking(MergeOrder(("a", "b"), descending=True), table) == [[0], [1], [2]]


def test_of_options():
    assert MergeOrder.of(TableOptions.parse({})) == MergeOrder()
    given = TableOptions.parse({"sequence.field": "a,b", "sequence.field.sort-order": "descending"})
    assert MergeOrder.of(given) == MergeOrder(("a", "b"), descending=True)
