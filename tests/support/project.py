"""The folders of this repository."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
SOURCES = (ROOT, ROOT / "pipelines", ROOT / "assets")
"""The folders that contain the packages: ``paimon_core``, ``paimon_lake`` and ``paimon_dagster``."""
