"""Small lakes, with the Spark session of the tests and without Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_lake.loads import write_tasks
from tests.support.lakes import SmallLake, small_lake
from tests.support.tasks import in_this_process


@pytest.fixture
def lake(tmp_path: Path, spark: Any) -> SmallLake:
    return small_lake(tmp_path / "lake", spark)


@pytest.fixture
def dry_lake(tmp_path: Path) -> SmallLake:
    """A lake without a session: a step that asks for Spark fails."""
    return small_lake(tmp_path / "lake")


@pytest.fixture
def tasks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the tasks of loads of files and databases in this process; queries and functions run in Spark."""
    monkeypatch.setattr(write_tasks, "collect_tasks", in_this_process)


@pytest.fixture
def quick(tmp_path: Path, tasks_here: None) -> SmallLake:
    """A lake without Spark, for loads of files and databases."""
    return small_lake(tmp_path / "lake", SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2)))
