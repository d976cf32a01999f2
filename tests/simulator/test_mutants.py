"""Mutants: the histories find every planted bug (tests/simulator/mutants.py)."""

import pytest

from tests.simulator.mutants import MUTANTS

MOST_SEEDS = 1_000
FIRST = {
    "orphans of any age are removed": 239,
    "orphans: branches are not read": 64,
    "an orphaned snapshot is kept": 103,
    "a delete does not see what was committed since it read": 57,
    "a snapshot that expires during a read is an error": 92,
    "rows that a compaction marks are not added to older marks": 27,
    "an incompletely dropped table does not exist": 26,
}
"""By mutant, the first seed that notices it, where earlier ones take long; if it does not any more, later ones may."""


def test_there_are_enough():
    assert len(MUTANTS) >= 12
    assert FIRST.keys() <= {mutant.name for mutant in MUTANTS}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_histories_notice(mutant):
    first = FIRST.get(mutant.name, 0)
    found = mutant.noticed(MOST_SEEDS, first)
    assert found is not None, f"{MOST_SEEDS} histories from seed {first} did not notice that {mutant.name}"
    print(f"{mutant.name}: seed {found[0]}, {found[1]}")
