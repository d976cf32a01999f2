"""Forecasts of maintenance beside outcomes, on random tables in fresh processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is read from Linux's /proc")
def test_bytes_are_within_ten_percent_and_no_peak_exceeds_its_forecast():
    command = [sys.executable, "-m", "benchmarks.forecast", "--runs", "8", "--rounds", "2", "--most-rows", "10000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False, env=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "later rounds: " in done.stdout
    assert done.stdout.endswith("0 peaks above the forecast\n")
