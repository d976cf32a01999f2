import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_measure_of_a_shape_has_a_line(tmp_path):
    command = [sys.executable, "-W", "error", "-m", "benchmarks.merge_shapes", "--rows", "20000", "--repeats", "1"]
    command += ["--columns", "2", "9", "--runs", "2", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    _, *lines = [line.split() for line in done.stdout.splitlines()]
    measures = ["merged", "projected", "filtered", "both"]
    assert [line[:3] for line in lines] == [[f"{columns},", "2", name] for columns in (2, 9) for name in measures]
    assert list(tmp_path.iterdir()) == []
