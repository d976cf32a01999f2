"""Repeated stages and speculative copies of tasks leave each row once, and only files that the clean-up removes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.retries import COPIED, LOST, RANDOM
from tests.support.standalone import ClusterUnavailable, standalone_cluster

ROOT = Path(__file__).resolve().parents[2]


def played(folder: Path) -> list[dict[str, Any]]:
    """Run all statements on a cluster of two hosts and return what each gave."""
    environment = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    try:
        with standalone_cluster(folder, hosts=True) as url:
            done = subprocess.run(
                [sys.executable, "-m", "tests.cluster.retries", url, str(folder), str(folder / "warehouse")],
                cwd=ROOT,
                env=os.environ | environment,
                capture_output=True,
                text=True,
                timeout=900,
                check=False,
            )
    except ClusterUnavailable as reason:
        pytest.skip(str(reason))
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.cluster
@pytest.mark.long
def test_repeated_stages_and_copies_of_tasks_leave_each_row_once(tmp_path: Path) -> None:
    found = played(tmp_path)
    assert [one for one in found if one["wrong"]] == []
    assert [one for one in found if not one["faulty"]] == [], "each fault has happened"
    lost = [one for one in found if one["fault"] == "lose"]
    assert [(one["statement"], one["work"]) for one in lost] == LOST
    assert [one for one in lost if not one["repeated_stages"] or not one["lost_fetches"]] == []
    copied = [one for one in found if one["fault"] != "lose"]
    assert len(copied) == 2 * len(COPIED)
    assert [one for one in copied if not one["speculative_tasks"]] == []
    hung = [one for one in copied if one["fault"] == "hang"]
    assert [one for one in hung if not one["killed_tasks"] or not one["orphans"]] == [], (
        "one copy had written its files"
    )
    # Spark cannot take rows back that a repeated task computes as other rows: the write may fail, and names the table.
    assert [one for one in found if not one["done"] and one["statement"] != RANDOM] == []
    (failed,) = [one for one in found if one["statement"] == RANDOM]
    assert failed["done"] or "table db.append_buckets: rows between two stages of Spark were lost" in failed["error"]
