"""Small lakes for tests: a folder of declarations, written from texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from paimon_lake.declarations import Settings, load_settings

COLUMNS = "columns: {id: BIGINT, day: DATE, name: STRING}\nprimary_key: [id]\n"
"""The beginning of most declarations."""


def declared_lake(folder: Path, tables: Mapping[str, str], base: str = "warehouse: warehouse\n") -> Settings:
    """Write the files and return the settings; a text of a table follows the columns that all of them have."""
    (folder / "tables").mkdir(parents=True)
    (folder / "base.yaml").write_text(base)
    (folder / "local.yaml").write_text("")
    for name, text in tables.items():
        (folder / "tables" / f"{name}.yaml").write_text(COLUMNS + text)
    return load_settings("local", configs=folder)
