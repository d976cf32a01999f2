"""Small lakes, with the Spark session of the tests and without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.lakes import SmallLake, small_lake


@pytest.fixture
def lake(tmp_path: Path, spark: Any) -> SmallLake:
    return small_lake(tmp_path / "lake", spark)


@pytest.fixture
def dry_lake(tmp_path: Path) -> SmallLake:
    """A lake without a session: a step that asks for Spark fails."""
    return small_lake(tmp_path / "lake")
