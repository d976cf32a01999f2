"""Mutants: the histories find every planted bug (tests/simulator/mutants.py)."""

import pytest

from tests.simulator.mutants import MUTANTS

MOST_SEEDS = 1_000


def test_there_are_enough():
    assert len(MUTANTS) >= 12


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_histories_notice(mutant):
    found = mutant.seeds_needed(MOST_SEEDS)
    assert found is not None, f"{MOST_SEEDS} histories did not notice that {mutant.name}"
    print(f"{mutant.name}: {found[0]} seeds, {found[1]}")
