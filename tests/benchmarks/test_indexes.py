import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("module", "arguments", "lines"),
    [
        ("bucket_assignment", ["--keys", "2000", "--batch", "500"], ["fixed, mod, known", "cross-partition, new"]),
        (
            "indexes",
            ["--files", "3", "--file-rows", "50", "--rows", "1000"],
            ["bloom filter beside", "deletion vectors"],
        ),
    ],
)
def test_a_small_run_measures_each_mode(module, arguments, lines):
    command = [sys.executable, "-W", "error", "-m", f"benchmarks.{module}", "--skip-java", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert all(line in done.stdout for line in lines), done.stdout
