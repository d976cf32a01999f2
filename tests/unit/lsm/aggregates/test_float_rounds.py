"""Sums of floats: short groups are added in rounds, with the same bits as strictly from first to last."""

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.lsm.aggregates.floats import FloatProduct, FloatSum
from paimon_core.lsm.key_groups import group
from paimon_core.lsm.versions import MOST_STEPS


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("function", [FloatSum(), FloatProduct()])
@pytest.mark.parametrize("most", [1, 2, 5, MOST_STEPS + 1, MOST_STEPS + 2])
def test_rounds_give_the_bits_of_a_loop(kind, function, most):
    chance = np.random.default_rng(most)
    keys = np.repeat(np.arange(40), chance.integers(1, most + 1, 40))
    keys[: most + 1] = 0
    chance.shuffle(keys)
    values = (chance.standard_normal(len(keys)) * 10.0 ** chance.integers(-9, 9, len(keys))).astype(kind)
    values[chance.random(len(keys)) < 0.05] = [np.nan, np.inf, -0.0][most % 3]
    found = function(pa.chunked_array([pa.array(values)]), group(keys, None), None).to_numpy()
    expected = []
    with np.errstate(all="ignore"):
        for key in np.unique(keys):
            some = values[keys == key]
            total = some[0]
            for value in some[1:]:
                total = total + value if isinstance(function, FloatSum) else total * value
            expected.append(total)
    np.testing.assert_array_equal(found, np.array(expected, kind))
