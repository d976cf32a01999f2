import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from Linux's /proc")
def test_each_case_has_a_line_with_its_peak(tmp_path):
    command = [sys.executable, "-W", "error", "-m", "benchmarks.memory", "--rows", "4000", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    head, *lines = [line.split() for line in done.stdout.splitlines()]
    assert head == ["rows", "peak", "MB", "Arrow", "MB", "seconds"]
    assert [(line[0], line[1]) for line in lines] == [("write", "4,000"), ("compact", "4,000")]
    assert all(0 < int(line[2]) < 500 for line in lines)
    assert list(tmp_path.iterdir()) == []
