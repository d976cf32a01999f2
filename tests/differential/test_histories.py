"""The same random histories here and in Java leave the same rows after every step, and the same changelog.

Some of each engine in each run; ``python -m tests.differential`` plays any number, and one seed again.
"""

from __future__ import annotations

import pytest

from tests.differential.histories import ENGINES, history
from tests.differential.play import differences

PRODUCERS = ("input", "lookup", "full-compaction")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_rows_are_those_of_java(oracle, warehouse, engine):
    histories = [history(seed, engine) for seed in range(10)]
    found = differences(histories, oracle, warehouse)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("engine", "producer"),
    [(e, p) for e in ENGINES for p in PRODUCERS if e != "first-row" or p == "lookup"],
)
def test_the_changelog_is_that_of_java(oracle, warehouse, engine, producer):
    histories = [history(seed, engine, producer) for seed in range(3)]
    found = differences(histories, oracle, warehouse)
    assert not found, "\n".join(found)
