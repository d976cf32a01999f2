"""Retries: the waiting times double up to a maximum, and attempts end with the count or the time."""

import itertools

import pytest

from paimon_core.commit import retry
from paimon_core.commit.retry import pauses, tries
from paimon_core.options import TableOptions

WAITS = {"commit.min-retry-wait": "125 ms", "commit.max-retry-wait": "750 ms"}


@pytest.mark.parametrize(("random", "seconds"), [(0, [0.125, 0.25, 0.5, 0.75, 0.75]), (1, [0.15, 0.3])])
def test_pauses_double_up_to_the_maximum(monkeypatch, random, seconds):
    monkeypatch.setattr(retry.random, "random", lambda: random)
    assert list(pauses(TableOptions.parse(WAITS), len(seconds))) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("timeout", "slept"), [("375 ms", [0.125, 0.25]), ("374 ms", [0.125]), ("1 d", [0.125, 0.25, 0.5])]
)
def test_no_attempt_starts_after_the_timeout(monkeypatch, timeout, slept):
    sleeps = []
    monkeypatch.setattr(retry.random, "random", lambda: 0)
    monkeypatch.setattr(retry.time, "monotonic", lambda: 64 + sum(sleeps))
    monkeypatch.setattr(retry.time, "sleep", sleeps.append)
    options = TableOptions.parse({**WAITS, "commit.max-retries": "3", "commit.timeout": timeout})
    assert len(list(itertools.islice(tries(options), 9))) == len(slept) + 1
    assert sleeps == slept
