"""Speeds and corrections from outcomes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paimon_core.health.plan.candidates import Candidate
from paimon_core.health.plan.measured import BYTES_PER_SECOND, COMMIT_SECONDS, LEAST, Measured
from paimon_core.health.plan.outcome import Outcome

WORK = Candidate("db.t", "main", "compact", None, 0, 1.0, 100, 100, 1.0, 1, "test")


def outcome(size, seconds, **changes):
    return replace(Outcome(WORK, "run", "here", 0, "done", seconds, size // 2, size - size // 2), **changes)


def test_defaults_before_anything_was_measured():
    assert Measured().seconds("compact", 10**9) == pytest.approx(COMMIT_SECONDS + 10**9 / BYTES_PER_SECOND)
    few = [outcome(size, 1.0) for size in range(1, LEAST)]
    assert Measured.of(few, "here").seconds("compact", 10**9) == Measured().seconds("compact", 10**9)


def test_the_line_through_outcomes_of_this_machine():
    done = [outcome(size, 0.5 + size / 1e6) for size in (10**6, 2 * 10**6, 5 * 10**6, 7 * 10**6, 9 * 10**6)]
    other = [replace(one, host="there", seconds=999.0) for one in done]
    failed = [replace(one, status="failed", seconds=999.0) for one in done]
    measured = Measured.of([*done, *other, *failed], "here")
    assert measured.seconds("compact", 3 * 10**6) == pytest.approx(3.5)
    assert measured.seconds("rescale", 0) == COMMIT_SECONDS


@pytest.mark.parametrize("seconds", [[5.0, 4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
def test_a_line_that_falls_or_begins_below_zero_is_the_mean_speed(seconds):
    done = [
        outcome(size, s)
        for size, s in zip((10**6, 11 * 10**5, 12 * 10**5, 13 * 10**5, 14 * 10**5), seconds, strict=True)
    ]
    assert Measured.of(done, "here").seconds("compact", 6 * 10**6) == pytest.approx(15.0)


def test_outcomes_without_bytes_or_time():
    done = [outcome(0, 2.0) for _ in range(LEAST)]
    assert Measured.of(done, "here").seconds("compact", 0) == pytest.approx(2.0)
    assert Measured.of([outcome(10, 0.0) for _ in range(LEAST)], "here").seconds("compact", 0) == 0.0


def test_corrections_do_not_correct_themselves():
    """A table writes half of what the model says; a corrected forecast that was right confirms the correction."""
    half = outcome(150, 1.0, bytes_read=100, bytes_written=50)
    right = replace(half, candidate=replace(WORK, bytes_written=50), written_factor=0.5)
    key = ("db.t", "main", "compact")
    assert Measured.of([half], "here").written[key] == 0.5
    assert Measured.of([half, right, right], "elsewhere").written[key] == 0.5


def test_an_outcome_is_a_row_and_back():
    one = outcome(150, 1.0, error="x", snapshot=7, peak_memory=None)
    assert Outcome.of_row(one.row()) == one
    assert one.prediction_error == pytest.approx(200 / 150 - 1, abs=1e-3)
    assert replace(one, status="conflict").prediction_error is None
