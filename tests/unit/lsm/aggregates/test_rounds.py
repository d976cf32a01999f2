import numpy as np

from paimon_core.lsm.aggregates.rounds import left_to_right, rounds
from paimon_core.lsm.key_groups import Groups

GROUPS = Groups(np.array([5, 0, 1, 2, 3, 4]), np.array([0, 0, 1, 4]), np.array([0, 1, 4, 6]))
"""No row; row 5; rows 0, 1, 2; rows 3, 4."""


def test_each_place_with_the_groups_that_reach_it():
    seen = [dict(zip(groups.tolist(), rows.tolist(), strict=True)) for groups, rows in rounds(GROUPS)]
    assert seen == [{1: 5, 2: 0, 3: 3}, {2: 1, 3: 4}, {2: 2}]


def test_no_groups_have_no_round():
    assert list(rounds(Groups(*np.zeros((3, 0), np.int64)))) == []


def test_a_null_on_the_way_lets_the_next_value_open_again():
    digits = np.array([1, 2, 3, 4, 5, 6])
    folded, known = left_to_right(
        digits,
        GROUPS,
        None,
        add=lambda a, b: (a * 10 + b, a * 10 + b != 12),
        take_back=lambda a, b: (a, None),
    )
    assert known.tolist() == [False, True, True, True]
    assert folded[1:].tolist() == [6, 3, 45]


def test_a_retract_opens_only_where_it_can():
    retracts = np.array([True, False, False, True, True, True])
    rules = {"add": lambda a, b: (a + b, None), "take_back": lambda a, b: (a - b, None)}
    values = np.array([1, 2, 3, 4, 5, 6])
    folded, known = left_to_right(values, GROUPS, retracts, **rules, open_with_retract=lambda v: -v)
    assert (folded.tolist()[1:], known.tolist()) == ([-6, 4, -9], [False, True, True, True])
    folded, known = left_to_right(values, GROUPS, retracts, **rules)
    assert (folded[2], known.tolist()) == (5, [False, False, True, False])
