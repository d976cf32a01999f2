"""Random histories of alterations: each side reads what the other has altered, written and compacted.

A few in each run; ``python -m tests.differential --alterations`` plays any number, and one seed again.
"""

from __future__ import annotations

import pytest

from tests.differential.evolution import evolution
from tests.differential.play_evolution import evolution_differences


@pytest.mark.parametrize("seed", range(4))
def test_both_sides_read_the_same_after_every_step(oracle, warehouse, seed):
    found = evolution_differences(evolution(seed), oracle, warehouse)
    assert found is None, found
