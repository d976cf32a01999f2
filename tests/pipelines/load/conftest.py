"""Small lakes to load: a folder of declarations in a temporary directory, and the Spark session of the tests."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_core.table.table import Table
from pipelines.lake import Settings, load_settings
from pipelines.load import write_tasks
from pipelines.load.load import load_table
from pipelines.protocol import StepResult
from pipelines.tables import open_lake
from tests.pipelines.load.test_rejects import in_this_process


@dataclass
class SmallLake:
    """A folder of declarations; ``load`` runs the load of a table as the command line does."""

    folder: Path
    session: Any

    @property
    def settings(self) -> Settings:
        return load_settings("local", configs=self.folder)

    def declare(self, name: str, text: str) -> None:
        (self.folder / "tables" / f"{name}.yaml").write_text(textwrap.dedent(text))

    def file(self, path: str, text: str | bytes) -> Path:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        return target

    def load(self, name: str, *partitions: str, **more: Any) -> StepResult:
        return load_table(lambda: self.session, self.settings, name, partitions or None, **more)

    def table(self, name: str) -> Table:
        return open_lake(self.settings).table(name)

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row.values()) for row in self.table(name).scan().to_arrow().to_pylist())


def small_lake(folder: Path, session: Any) -> SmallLake:
    (folder / "tables").mkdir(parents=True)
    (folder / "base.yaml").write_text("warehouse: warehouse\n")
    (folder / "local.yaml").write_text("spark: {master: 'local[2]'}\n")
    return SmallLake(folder, session)


@pytest.fixture
def lake(tmp_path: Path, spark: Any) -> SmallLake:
    return small_lake(tmp_path, spark)


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallLake:
    """A lake whose tasks run in this process, for loads of files and databases."""
    monkeypatch.setattr(write_tasks, "run_tasks", in_this_process)
    return small_lake(tmp_path, SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2)))
