"""Small lakes to load: a folder of declarations in a temporary directory."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paimon_core.table.table import Table
from paimon_lake.declarations import Settings, load_settings
from paimon_lake.loads.load import load_table
from paimon_lake.protocol import StepResult
from paimon_lake.tables import open_lake, open_table


@dataclass
class SmallLake:
    """A folder of declarations; ``load`` runs the load of a table as the command line does."""

    folder: Path
    session: Any = None

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

    def spark(self) -> Any:
        """The session, as steps ask for it; an error in a lake that has none."""
        assert self.session is not None, "a step without work for Spark asked for it"
        return self.session

    def load(self, name: str, *partitions: str, **more: Any) -> StepResult:
        return load_table(self.spark, self.settings, name, partitions or None, **more)

    def create(self, name: str) -> Table:
        """Create the table of a declaration."""
        return open_table(self.settings, name, create=True)

    def table(self, name: str) -> Table:
        return open_lake(self.settings).table(name)

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row.values()) for row in self.table(name).scan().to_arrow().to_pylist())


def small_lake(folder: Path, session: Any = None) -> SmallLake:
    """Write the settings of a lake without tables; its warehouse is the directory ``warehouse`` in the folder."""
    (folder / "tables").mkdir(parents=True)
    (folder / "base.yaml").write_text("warehouse: warehouse\n")
    (folder / "local.yaml").write_text("spark: {master: 'local[2]'}\n")
    return SmallLake(folder, session)
