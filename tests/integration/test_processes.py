"""Real processes on a real disk: four that commit side by side, two of them compacting, and one killed many times.

Nothing may be lost, nothing may be there twice, and the table's own check finds nothing.
"""

import datetime
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.fsck.check import check

ROOT = Path(__file__).resolve().parents[2]
WORKER = """
import sys
import pyarrow as pa
import paimon_core as paimon
from paimon_core.errors import CommitConflict

warehouse, user, commits = sys.argv[1], sys.argv[2], int(sys.argv[3])
table = paimon.open_catalog(warehouse).table("db.t")
for number in range(commits):
    rows = pa.table({"k": pa.array([f"{user}-{number}"]), "n": pa.array([number], pa.int64())})
    for _ in range(2 if number % 10 == 0 else 1):
        assert table.write(rows, user=user, identifier=number) is not None
    if user in ("one", "two") and number % 20 == 19:
        try:
            table.compact()
        except CommitConflict:
            pass
"""
KILLED = """
import os, random, signal, sys
import pyarrow as pa
import paimon_core as paimon

pa.set_cpu_count(1)
warehouse, kills = sys.argv[1], int(sys.argv[2])
chance = random.Random(17)
paimon.open_catalog(warehouse).table("db.t").scan().to_arrow()  # all is imported before the first fork


def work(first, calls, acknowledged):
    '''Commit until the given number of calls of the system is used up, then die in the middle of one.'''
    left = [calls]

    def dying(name):
        original = getattr(os, name)

        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            result = original(*args, **kwargs)
            if left[0] == -1:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(os, name, call)

    for name in ("open", "fsync", "link", "unlink", "replace", "mkdir"):
        dying(name)
    table = paimon.open_catalog(warehouse).table("db.t")
    for number in range(first, first + 1000):
        rows = pa.table({"k": pa.array([number % 50], pa.int64()), "n": pa.array([number], pa.int64())})
        table.write(rows, user="job", identifier=number)
        os.write(acknowledged, b"%d\\n" % number)


done = 0
for _ in range(kills):
    reading, writing = os.pipe()
    calls = chance.randrange(1, 90)
    if chance.random() < 0.5:
        calls = -calls  # counted down past zero: dies after a call instead of before
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(done, abs(calls), writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        lines = answers.read().split()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
    done = int(lines[-1]) + 1 if lines else done
print(done)
"""


@pytest.fixture
def tmp_path(disk_path):
    return disk_path


def create_table(warehouse: Path, kind: pa.DataType, **options: str):
    catalog = paimon.open_catalog(str(warehouse))
    catalog.create_database("db")
    schema = pa.schema([("k", kind), ("n", pa.int64())])
    return catalog.create_table("db.t", schema, primary_key=["k"], options={"bucket": "1", **options})


@pytest.mark.parametrize("commits", [30])
def test_four_processes_commit_and_compact_side_by_side(tmp_path, commits):
    options = {"write-only": "true", "commit.max-retries": "400", "num-sorted-run.compaction-trigger": "5"}
    table = create_table(tmp_path, pa.string(), **options)
    users = ("one", "two", "three", "four")
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path), user, str(commits)], cwd=ROOT, stderr=subprocess.PIPE
        )
        for user in users
    ]
    for worker in workers:
        _, stderr = worker.communicate(timeout=600)
        assert worker.returncode == 0, stderr.decode()[-2000:]
    snapshots = table.inspect.snapshots().to_pylist()
    assert [s["snapshot_id"] for s in snapshots] == list(range(1, len(snapshots) + 1))
    made = [(s["commit_user"], s["commit_identifier"]) for s in snapshots if s["commit_kind"] == "APPEND"]
    assert sorted(made) == sorted((user, n) for user in users for n in range(commits))
    assert any(s["commit_kind"] == "COMPACT" for s in snapshots)
    keys = table.scan().to_arrow()["k"].to_pylist()
    assert sorted(keys) == sorted(f"{user}-{n}" for user in users for n in range(commits))
    report = check(table.context)
    assert report.errors == (), report.text()


@pytest.mark.parametrize("kills", [20])
def test_a_job_that_is_killed_again_and_again(tmp_path, kills):
    """Each write also compacts and expires when it is time, so the kills fall into these too."""
    options = {"num-sorted-run.compaction-trigger": "3", "snapshot.num-retained.min": "3"}
    options |= {"snapshot.num-retained.max": "20", "snapshot.time-retained": "1 ms"}
    table = create_table(tmp_path, pa.int64(), **options)
    run = [sys.executable, "-c", KILLED, str(tmp_path), str(kills)]
    answer = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert answer.returncode == 0, answer.stderr[-2000:]
    done = int(answer.stdout)
    assert done > kills // 4
    # The job comes back a last time, and does again what it has no answer for.
    rows = pa.table({"k": pa.array([done % 50], pa.int64()), "n": pa.array([done], pa.int64())})
    table.write(rows, user="job", identifier=done)
    expected = {number % 50: number for number in range(done + 1)}
    found = table.scan().to_arrow().to_pylist()
    assert sorted((r["k"], r["n"]) for r in found) == sorted(expected.items())
    appended = [s for s in table.inspect.snapshots().to_pylist() if s["commit_kind"] == "APPEND"]
    identifiers = [s["commit_identifier"] for s in appended if s["commit_user"] == "job"]
    assert identifiers == list(range(identifiers[0], done + 1))
    report = check(table.context, deep=True)
    assert report.errors == (), report.text()
    _clean(table)
    assert sorted((r["k"], r["n"]) for r in table.scan().to_arrow().to_pylist()) == sorted(expected.items())


def _clean(table) -> None:
    """What the deaths left is old by now, and goes; the table is as before."""
    root = Path(table.location)
    before = sum(1 for path in root.rglob("*") if path.is_file())
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, (1, 1))
    maintenance = table.maintenance
    report = maintenance.apply(maintenance.plan_orphan_removal(older_than=datetime.timedelta(days=1), mode="delete"))
    assert report.removed
    assert sum(1 for path in root.rglob("*") if path.is_file()) == before - len(report.removed)
    assert check(table.context, deep=True).is_clean
