"""Killed Python workers and executors: a statement is done once, or not at all with an error that names the table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.standalone import ClusterUnavailable, standalone_cluster

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.cluster
@pytest.mark.long
def test_killed_processes_leave_each_row_once(tmp_path: Path) -> None:
    environment = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    try:
        with standalone_cluster(tmp_path) as url:
            done = subprocess.run(
                [sys.executable, "-m", "tests.cluster.kills", url, str(tmp_path), str(tmp_path / "warehouse")],
                cwd=ROOT,
                env=os.environ | environment,
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
    except ClusterUnavailable as reason:
        pytest.skip(str(reason))
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    wrong = [one for one in found if one["wrong"]]
    assert wrong == [], json.dumps(wrong)
    once, again = [one for one in found if not one["again"]], [one for one in found if one["again"]]
    assert len(once) == len(again) == 6
    assert all(one["killed"] for one in found)
    assert all(one["done"] for one in once), "Spark runs a lost task again"
    assert any(one["orphans"] for one in once), "tasks were writing when they were killed"
    assert not any(one["done"] for one in again)
    assert [one for one in again if not one["told"]] == []
