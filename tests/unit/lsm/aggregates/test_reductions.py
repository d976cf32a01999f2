"""Reductions: every group is combined from its first to its last row, without nulls, however long it is."""

import numpy as np
import pytest

from paimon_core.lsm.aggregates.reductions import reduced
from paimon_core.lsm.key_groups import group
from paimon_core.lsm.versions import MOST_STEPS

LONG = 2 * MOST_STEPS


@pytest.mark.parametrize("operation", [np.add, np.maximum, np.multiply, np.subtract])
@pytest.mark.parametrize("nulls", [None, 0.0, 0.3, 0.97])
@pytest.mark.parametrize("longest", [2, LONG])
def test_rows_are_combined_one_after_the_other(operation, nulls, longest):
    chance = np.random.default_rng(longest)
    keys = np.repeat(np.arange(30), chance.integers(1, longest + 1, 30))
    keys[:longest] = 0
    chance.shuffle(keys)
    values = chance.standard_normal(len(keys)) * 10.0 ** chance.integers(-9, 9, len(keys))
    valid = None if nulls is None else chance.random(len(keys)) >= nulls
    results, known = reduced(operation, values.__getitem__, group(keys, None), valid)
    for number, key in enumerate(np.unique(keys)):
        some = values[(keys == key) if valid is None else (keys == key) & valid]
        assert known is None or known[number] == (len(some) > 0)
        if len(some):
            total = some[0]
            for value in some[1:]:
                total = operation(total, value)
            assert results[number] == total or np.isnan(total)
    assert (known is None) == (valid is None)


def test_empty_groups_are_null():
    groups = group(np.array([1, 2, 1, 3]), None).where(np.array([True, False, True, True]))
    results, known = reduced(np.add, np.array([1, 2, 4, 8]).__getitem__, groups, None)
    assert (results[known].tolist(), known.tolist()) == ([5, 8], [True, False, True])
    results, known = reduced(np.add, np.array([1, 2, 4, 8]).__getitem__, groups, np.array([True, True, True, False]))
    assert (results[known].tolist(), known.tolist()) == ([5], [True, False, False])


def test_a_single_value_keeps_its_bits():
    bits = np.array([0x7FF0000000000001, 0x7FF0000000000001, 1], np.int64)
    valid = np.array([True, True, False])
    results, _ = reduced(np.add, bits.view(np.float64).__getitem__, group(np.array([1, 2, 2]), None), valid)
    assert results.view(np.int64).tolist() == bits[:2].tolist()
