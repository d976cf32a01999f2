import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_step_has_a_line():
    command = [sys.executable, "-W", "error", "-m", "benchmarks.deletion_vectors", "--skip-java"]
    command += ["--rows", "2000", "--batches", "2", "--keys", "4000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    made, _, *lines = done.stdout.splitlines()
    assert [line.rsplit(maxsplit=1)[0] for line in lines] == [
        "write batch 1",
        "write batch 2",
        "read all",
        "compact fully",
    ]
    assert made.split()[0] == "2,524"
