import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.spark.packing import MOST_BYTES, OPEN_BYTES, balanced, packed


@given(st.lists(st.integers(0, 3 * MOST_BYTES), max_size=60), st.integers(1, 12))
def test_each_payload_is_in_one_task_and_tasks_are_about_equal(sizes, cores):
    groups = packed(sizes, cores)
    assert sorted(at for group in groups for at in group) == list(range(len(sizes)))
    assert all(group == sorted(group) and group for group in groups)
    weights = [sum(sizes[at] + OPEN_BYTES for at in group) for group in groups]
    assert weights == sorted(weights, reverse=True)
    if sizes:
        # The known bound of the rule "the largest first, into the lightest group".
        best = max(max(sizes) + OPEN_BYTES, sum(weights) / len(groups))
        assert max(weights) <= 4 / 3 * best + OPEN_BYTES


@pytest.mark.parametrize(
    ("sizes", "cores", "tasks"),
    [
        ([], 2, 0),
        ([0], 8, 1),
        ([5] * 2000, 2, 4),
        ([5] * 100, 8, 8),
        ([MOST_BYTES - OPEN_BYTES] * 5, 2, 5),
        ([MOST_BYTES * 4, 1, 1, 1], 2, 5 - 1),
    ],
)
def test_the_number_of_tasks_follows_from_bytes_and_cores(sizes, cores, tasks):
    assert len(packed(sizes, cores)) == tasks


def test_no_group_is_empty_when_nothing_has_a_weight():
    assert sorted(map(len, balanced([0] * 5, 3))) == [1, 2, 2]
