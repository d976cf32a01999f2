import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def bench(*args):
    small = ["--rows", "500", "--keys", "700", "--batches", "2", "--files", "4", "--commits", "4", "--repeats", "1"]
    command = [sys.executable, "-W", "error", "-m", "benchmarks.run", *small, *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_a_small_run_measures_everything_and_reads_the_same_rows_twice():
    done = bench("--skip-java")
    assert done.returncode == 0, done.stderr
    measured = [line for line in done.stdout.splitlines() if " s " in line and "|" in line]
    assert [line.split("  ")[0] for line in measured] == [
        "write a batch",
        "merge on read of 2 runs",
        "decoding alone, by pyarrow",
        "full compaction of 2 runs",
        "plan 4 files, new catalog",
        "plan 4 files, again",
        "commit of one row",
    ]
    checksums = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("checksum")}
    assert len(checksums) == 1


def test_one_measure_alone():
    done = bench("--skip-java", "--only", "commit")
    assert done.returncode == 0, done.stderr
    assert "commit of one row" in done.stdout
    assert "write a batch" not in done.stdout
