"""Two processes commit 200 times each to one table on a local disk: nothing lost, nothing torn, nothing repeated."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import paimon_core as paimon

COMMITS = 200
WORKER = """
import sys
import pyarrow as pa
import paimon_core as paimon

warehouse, user, commits = sys.argv[1], sys.argv[2], int(sys.argv[3])
table = paimon.open_catalog(warehouse).table("db.t")
for number in range(commits):
    rows = pa.table({"k": pa.array([f"{user}-{number}"]), "n": pa.array([number], pa.int64())})
    for _ in range(2 if number % 10 == 0 else 1):
        assert table.write(rows, user=user, identifier=number) is not None
"""


def test_two_processes_commit_side_by_side(tmp_path):
    catalog = paimon.open_catalog(str(tmp_path))
    catalog.create_database("db")
    table = catalog.create_table(
        "db.t",
        pa.schema([("k", pa.string()), ("n", pa.int64())]),
        primary_key=["k"],
        options={"bucket": "1", "write-only": "true", "commit.max-retries": "200"},
    )
    root = Path(__file__).resolve().parents[2]
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path), user, str(COMMITS)], cwd=root, stderr=subprocess.PIPE
        )
        for user in ("one", "two")
    ]
    for worker in workers:
        _, stderr = worker.communicate(timeout=300)
        assert worker.returncode == 0, stderr.decode()[-2000:]
    snapshots = table.inspect.snapshots()
    assert snapshots["snapshot_id"].to_pylist() == list(range(1, 2 * COMMITS + 1))
    made = list(zip(snapshots["commit_user"].to_pylist(), snapshots["commit_identifier"].to_pylist(), strict=True))
    assert sorted(made) == [(user, n) for user in ("one", "two") for n in range(COMMITS)]
    rows = table.scan().to_arrow()
    assert sorted(rows["k"].to_pylist()) == sorted(f"{u}-{n}" for u in ("one", "two") for n in range(COMMITS))
    assert snapshots["total_record_count"].to_pylist() == list(range(1, 2 * COMMITS + 1))
