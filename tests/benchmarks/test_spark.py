import subprocess
import sys
from pathlib import Path

from benchmarks.spark import CASES

ROOT = Path(__file__).resolve().parents[2]


def test_each_case_has_a_line_with_its_seconds():
    command = [sys.executable, "-m", "benchmarks.spark", "--scale", "0.001", "--repeats", "1", "--partitions", "4"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    head, *lines = [line for line in done.stdout.splitlines() if line][-1 - len(CASES) :]
    assert head.split()[:3] == ["shuffle", "partitions", "4"]
    assert [line[:49].strip() for line in lines] == [case.name for case in CASES]


def test_an_unknown_case_is_refused_with_the_names():
    command = [sys.executable, "-m", "benchmarks.spark", "--cases", "order of"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert CASES[0].name in done.stderr
