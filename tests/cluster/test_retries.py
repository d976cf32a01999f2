"""Repeated stages and speculative copies of tasks leave each row once, and only files that the clean-up removes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.playing import played_on_cluster
from tests.cluster.retries import COPIED, LOST, RANDOM


@pytest.mark.cluster
@pytest.mark.long
def test_repeated_stages_and_copies_of_tasks_leave_each_row_once(tmp_path: Path) -> None:
    found = played_on_cluster(tmp_path, "retries", hosts=True)
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
