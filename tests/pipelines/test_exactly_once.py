"""Loads that run twice, at once, or again after their process was killed: every stage lands once. Without Spark."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.table.table import Table
from pipelines import dimensions, tables
from pipelines.dimensions import DIMENSIONS, dimension_group, load_dimensions
from pipelines.lake import ROOT, Settings, load_settings
from pipelines.protocol import StepResult
from pipelines.tables import Stage, load, open_table

NAME = "dim.airlines"
STAGES = 3


def rows(stage: int) -> pa.Table:
    return pa.table({"carrier": ["UA", f"X{stage}"], "name": [f"after {stage}", "new"]})


def written_here(
    frame: Any, table: Table, *, kinds: str | None = None, overwrite: str | None = None, **named: Any
) -> Any:
    """What ``write_spark`` does, of a frame that is an Arrow table."""
    return table.write(frame.rows, kinds, **named)


def loaded(settings: Settings, before_each: Callable[[int], Any] = lambda stage: None) -> StepResult:
    """One load of three stages; ``before_each`` is called when a stage was found to be still to do."""

    def frame(stage: int) -> Any:
        before_each(stage)
        context = SimpleNamespace(applicationId="none")
        return SimpleNamespace(rows=rows(stage), sparkSession=SimpleNamespace(sparkContext=context))

    stages = [Stage(f"stage {n}", lambda n=n: frame(n)) for n in range(1, STAGES + 1)]  # type: ignore[misc]
    return load("load", open_table(settings, NAME, create=True), stages, user="the load")


def lake(path: Path) -> Settings:
    return load_settings("local", warehouse=str(path))


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(tables, "write_spark", written_here)
    return lake(tmp_path / "lake")


def check_once(settings: Settings) -> None:
    history = open_table(settings, NAME).inspect.snapshots()
    assert history["commit_identifier"].to_pylist() == [1, 2, 3]
    assert set(history["commit_user"].to_pylist()) == {"the load"}
    found = open_table(settings, NAME).scan().to_arrow().sort_by("carrier").to_pylist()
    assert [(row["carrier"], row["name"]) for row in found] == [
        ("UA", "after 3"),
        ("X1", "new"),
        ("X2", "new"),
        ("X3", "new"),
    ]


def test_two_runs_of_one_load_at_the_same_time(settings: Settings) -> None:
    open_table(settings, NAME, create=True)
    together = threading.Barrier(2)
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(loaded, settings, lambda stage: together.wait(60)) for _ in range(2)]
    assert {run.result().row_count for run in runs} == {4}
    check_once(settings)


def test_a_run_that_overtakes_another(settings: Settings) -> None:
    """The other has found stage 1 to be still to do; by the time that it writes it, all stages are there."""

    def overtaken(stage: int) -> None:
        if stage == 1:
            loaded(settings)

    assert loaded(settings, overtaken).row_count == 4
    check_once(settings)


@pytest.mark.parametrize("stage", [1, 3])
def test_a_process_that_is_killed_after_its_commit(settings: Settings, stage: int) -> None:
    code = f"from tests.pipelines.test_exactly_once import killed; killed({settings.warehouse!r}, {stage})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=120, check=False)
    assert done.returncode == 9
    assert open_table(settings, NAME).inspect.snapshots().num_rows == stage
    result = loaded(settings)
    assert result.skipped == tuple(f"stage {n}" for n in range(1, stage + 1))
    assert result.commits == tuple(range(stage + 1, STAGES + 1))
    check_once(settings)


def killed(warehouse: str, stage: int) -> None:
    """Run the load, and die when the commit of a stage has returned, before anybody hears of it."""

    def write(*args: Any, **named: Any) -> Any:
        snapshot = written_here(*args, **named)
        if named["identifier"] == stage:
            os._exit(9)
        return snapshot

    tables.write_spark = write
    loaded(lake(Path(warehouse)))


def test_two_publishers_of_the_dimensions_at_the_same_time(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in DIMENSIONS:
        open_table(settings, name, create=True)
    together = threading.Barrier(2)

    def messages(spark: Any, settings: Settings, name: str) -> Any:
        together.wait(60)
        table = open_table(settings, name)
        with table.writer() as writer:
            writer.write(pa.table({table.schema.primary_keys[0]: ["a"]}))
            return writer.flush()

    monkeypatch.setattr(dimensions, "_messages", messages)
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(load_dimensions, lambda: None, settings) for _ in range(2)]
    assert all(run.exception() is None for run in runs), [run.exception() for run in runs]
    assert [version.number for version in dimension_group(settings).versions()] == [1]
    snapshots = [open_table(settings, name).latest_snapshot() for name in DIMENSIONS]
    assert [None if s is None else s.id for s in snapshots] == [1, 1, 1]
