import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEASURES = ["merged", "projected", "filtered", "both", "compaction", "full-compaction", "lookup", "write"]


def run(*arguments):
    command = [sys.executable, "-W", "error", "-m", "benchmarks.merge_shapes", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def lines(tmp_path, *more):
    done = run("--rows", "2000", "--repeats", "1", "--folder", str(tmp_path), "--runs", "2", *more)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []
    return done.stdout.splitlines()[1:]


def test_each_measure_of_a_shape_has_a_line(tmp_path):
    found = [
        line.split()[:5] for line in lines(tmp_path, "--engines", "deduplicate", "--keys", "uuid", "--columns", "8")
    ]
    assert found == [["deduplicate", "uuid", "8", "2", name] for name in MEASURES]


def test_one_value_of_the_base_shape_is_changed_at_a_time(tmp_path):
    more = ["--engines", "deduplicate", "sequence.field", "--keys", "bigint", "composite", "--columns", "8", "9"]
    found = [tuple(line.split()[:3]) for line in lines(tmp_path, *more, "--only", "projected")]
    assert found == [
        ("deduplicate", "bigint", "8"),
        ("sequence.field", "bigint", "8"),
        ("deduplicate", "composite", "8"),
        ("deduplicate", "bigint", "9"),
    ]


@pytest.mark.parametrize("wrong", [["--rows", "1"], ["--repeats", "0"], ["--columns", "1"]])
def test_wrong_numbers_are_refused(wrong):
    done = run(*wrong)
    assert done.returncode == 2
    assert wrong[0] in done.stderr


@pytest.mark.long
def test_every_engine_and_key(tmp_path):
    assert len(lines(tmp_path, "--columns", "9", "--only", "merged", "compaction")) == 2 * (6 + 5 - 1)
