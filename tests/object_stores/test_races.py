"""Four processes commit to one table on an S3 server that loses answers: no commit is lost, partial or repeated.

A quarter of the answers to publishes and a tenth of those to other requests never arrive.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from tests.support.s3_proxy import Fault, s3_proxy

USERS = ("one", "two", "three", "four")
WORKER = """
import json, sys
import pyarrow as pa
import paimon_core as paimon
from paimon_core.errors import CommitStateUnknown, StorageError

url, options, user, commits = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], int(sys.argv[4])

def with_retries(action):
    for _ in range(20):
        try:
            return action()
        except (CommitStateUnknown, StorageError) as error:
            last = error
    raise last

table = with_retries(lambda: paimon.open_catalog(url, storage=options).table("db.t"))
for number in range(commits):
    rows = pa.table({"k": pa.array([f"{user}-{number}"]), "n": pa.array([number], pa.int64())})
    for _ in range(2 if number % 10 == 0 else 1):
        with_retries(lambda: table.write(rows, user=user, identifier=number))
"""
DROP = Fault(drop=True)


@pytest.mark.parametrize("commits", [5])
def test_four_processes_while_answers_get_lost(s3, commits):
    options = {
        "bucket": "-1",
        "write-only": "true",
        "commit.max-retries": "1000",
        "commit.min-retry-wait": "5 ms",
        "commit.max-retry-wait": "200 ms",
    }
    catalog = paimon.open_catalog(s3.url, storage=s3.options)
    catalog.create_database("db")
    schema = pa.schema([("k", pa.string()), ("n", pa.int64())])
    table = catalog.create_table("db.t", schema, options=options)
    chance = random.Random(7)
    dropped = {"publishes": 0, "others": 0}

    def rule(request):
        if request.kind == "PUBLISH" and chance.random() < 0.25:
            dropped["publishes"] += 1
            return DROP
        if request.kind != "PUBLISH" and chance.random() < 0.1:
            dropped["others"] += 1
            return DROP
        return Fault()

    with s3_proxy(s3.endpoint) as proxy:
        proxy.rule = rule
        through = json.dumps({**s3.options, "s3.endpoint": proxy.endpoint})
        command = [sys.executable, "-c", WORKER, s3.url, through]
        root = Path(__file__).resolve().parents[2]
        workers = [subprocess.Popen([*command, user, str(commits)], cwd=root, stderr=subprocess.PIPE) for user in USERS]
        for worker in workers:
            _, stderr = worker.communicate(timeout=500)
            assert worker.returncode == 0, stderr.decode()[-3000:]
    assert dropped["publishes"] > commits // 2
    assert dropped["others"] > 2 * commits
    snapshots = table.inspect.snapshots()
    count = len(USERS) * commits
    assert snapshots["snapshot_id"].to_pylist() == list(range(1, count + 1))
    made = list(zip(snapshots["commit_user"].to_pylist(), snapshots["commit_identifier"].to_pylist(), strict=True))
    assert sorted(made) == sorted((user, n) for user in USERS for n in range(commits))
    rows = table.scan().to_arrow()
    assert sorted(rows["k"].to_pylist()) == sorted(f"{u}-{n}" for u in USERS for n in range(commits))
    assert snapshots["total_record_count"].to_pylist() == list(range(1, count + 1))
