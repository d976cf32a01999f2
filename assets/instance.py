"""The Dagster instance of a lake, on sqlite, without telemetry: in ``<warehouse>/dagster``, or in DAGSTER_HOME."""

from __future__ import annotations

import os
from pathlib import Path

from pipelines.protocol import PipelineError
from pipelines.settings import ENVIRONMENT, Settings

_CONFIG = """\
# Made by the project for this lake; edit it freely, it is not written again.
telemetry:
  enabled: false
nux:
  enabled: false
concurrency:
  # One run at a time writes, compacts or maintains a table (each of them has its own pool).
  pools:
    default_limit: 1
    granularity: op
  runs:
    max_concurrent_runs: 2
"""


def prepare_home(settings: Settings) -> Path:
    """Make the home, with a dagster.yaml if it has none.

    For a lake that is no local path it is DAGSTER_HOME; raises PipelineError when that is not set.
    """
    home = Path(settings.warehouse) / "dagster"
    if "://" in settings.warehouse:
        if not os.environ.get("DAGSTER_HOME"):
            raise PipelineError(f"the warehouse {settings.warehouse} is no local path: set DAGSTER_HOME yourself")
        home = Path(os.environ["DAGSTER_HOME"]).absolute()
    home.mkdir(parents=True, exist_ok=True)
    config = home / "dagster.yaml"
    if not config.exists():
        config.write_text(_CONFIG, encoding="utf-8")
    return home


def process_environment(settings: Settings, home: Path) -> dict[str, str]:
    """The variables with which another process sees the same lake and instance."""
    return {
        **os.environ,
        ENVIRONMENT: settings.environment,
        "PAIMON_LAKE": settings.warehouse,
        "DAGSTER_HOME": str(home),
    }
