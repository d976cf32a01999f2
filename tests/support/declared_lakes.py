"""Small lakes for tests: a folder of declarations, written from texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from paimon_lake.declarations import Settings, SettingsError, load_settings

COLUMNS = "columns: {id: BIGINT, day: DATE, name: STRING}\nprimary_key: [id]\n"
"""The beginning of most declarations."""


def declared_lake(folder: Path, tables: Mapping[str, str], base: str = "warehouse: warehouse\n") -> Settings:
    """Write the files and return the settings; a text of a table follows the columns that all of them have."""
    return written_lake(folder, {name: COLUMNS + text for name, text in tables.items()}, base)


def written_lake(folder: Path, tables: Mapping[str, str], base: str = "warehouse: warehouse\n") -> Settings:
    """Write the files, each table with its whole text, and return the settings."""
    (folder / "tables").mkdir(parents=True)
    (folder / "base.yaml").write_text(base)
    (folder / "local.yaml").write_text("")
    for name, text in tables.items():
        (folder / "tables" / f"{name}.yaml").write_text(text)
    return load_settings("local", configs=folder)


def refused(folder: Path, name: str, tables: Mapping[str, str]) -> str:
    """Return the error of a wrong declaration, from the number of its line on; lists of known words are left out."""
    with pytest.raises(SettingsError) as raised:
        written_lake(folder, tables)
    place, found, error = str(raised.value).partition(f"/tables/{name}.yaml")
    assert found, place
    return re.sub(r" \(known here: .*?\)", " (known here: …)", error)
