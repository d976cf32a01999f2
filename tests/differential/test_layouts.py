"""Random histories of bucket modes, vectors, indexes and appends: both sides read and continue what the other wrote.

A few in each run; ``python -m tests.differential --layouts`` plays any number, and one seed again.
"""

from __future__ import annotations

import pytest

from tests.differential.layouts import LAYOUTS, layout_history
from tests.differential.play_layouts import layout_differences


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_and_places_are_the_same_after_every_step(oracle, warehouse, layout):
    for seed in range(2):
        found = layout_differences(layout_history(seed, layout), oracle, warehouse)
        assert found is None, found
