"""Versions: the rows of groups by their place, from the positions of groups and from chains of rows."""

import numpy as np
import pytest

from paimon_core.lsm.key_groups import Groups, group, group_runs
from paimon_core.lsm.key_words import KeyWords
from paimon_core.lsm.versions import MOST_STEPS, Versions


def rows_of(versions: Versions) -> list[list[int]]:
    """Return the rows of each group, in order."""
    found = [[row] for row in versions.first.tolist()]
    for numbers, rows in (*versions.steps, versions.rest):
        for number, row in zip(numbers.tolist(), rows.tolist(), strict=True):
            found[number].append(row)
    return found


def test_each_step_has_one_row_of_each_group_that_has_so_many():
    versions = group(np.array([7, 3, 7, 3, 7, 5]), None).versions
    assert versions.first.tolist() == [1, 5, 0]
    assert [(numbers.tolist(), rows.tolist()) for numbers, rows in versions.steps] == [([0, 2], [3, 2]), ([2], [4])]


@pytest.mark.parametrize("longest", [1, 2, MOST_STEPS + 1, MOST_STEPS + 2, 3 * MOST_STEPS])
def test_all_rows_of_long_groups_are_given_in_order(longest):
    keys = np.repeat([4, 1, 2, 9], [longest, 1, longest // 2, longest + 5])
    np.random.default_rng(longest).shuffle(keys)
    versions = group(keys, None).versions
    assert rows_of(versions) == [np.flatnonzero(keys == key).tolist() for key in np.unique(keys)]
    assert len(versions.steps) <= MOST_STEPS


def test_groups_need_not_be_compact():
    groups = group(np.array([1, 2, 1, 3, 2]), None).keep(np.array([True, False, True]))
    assert rows_of(groups.versions) == [[0, 2], [3]]


def test_no_groups():
    empty = np.zeros(0, np.int64)
    assert rows_of(Groups(empty, empty, empty).versions) == []
    assert rows_of(Versions.of_chains(empty, empty)) == []


@pytest.mark.parametrize("space", [1, 3, 50])
@pytest.mark.parametrize("runs", [1, 2, 40])
def test_chained_groups_are_those_of_a_sort(space, runs):
    chance = np.random.default_rng(space * runs)
    pieces = [np.flatnonzero(chance.random(space) < 0.6) + 1000 for _ in range(runs)]
    pieces = [piece for piece in pieces if len(piece)] or [np.array([1000])]
    keys = KeyWords(np.concatenate(pieces))
    plain = group(keys, None)

    def chained() -> Groups:
        return group_runs(keys, [len(piece) for piece in pieces], None)

    assert rows_of(chained().versions) == rows_of(plain.versions)
    for name in ("order", "starts", "ends", "first", "last", "lengths", "several", "numbers", "longest", "has_empty"):
        np.testing.assert_array_equal(getattr(chained(), name), getattr(plain, name), name)
    assert len(chained()) == len(plain)
