"""Killed Python workers and executors: a statement is done once, or not at all with an error that names the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cluster.playing import played_on_cluster


@pytest.mark.cluster
@pytest.mark.long
def test_killed_processes_leave_each_row_once(tmp_path: Path) -> None:
    found = played_on_cluster(tmp_path, "kills")
    wrong = [one for one in found if one["wrong"]]
    assert wrong == [], json.dumps(wrong)
    once, again = [one for one in found if not one["again"]], [one for one in found if one["again"]]
    assert len(once) == len(again) == 6
    assert all(one["killed"] for one in found)
    assert all(one["done"] for one in once), "Spark runs a lost task again"
    assert any(one["orphans"] for one in once), "tasks were writing when they were killed"
    assert not any(one["done"] for one in again)
    assert [one for one in again if not one["told"]] == []
