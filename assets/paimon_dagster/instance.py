"""Instance: the Dagster instance of a lake, on SQLite and without telemetry.

The home directory is ``<warehouse>/dagster``, or DAGSTER_HOME for a warehouse that is not a local path.
"""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg

from paimon_lake.declarations import ENVIRONMENT, FOLDER, Settings
from paimon_lake.protocol import PipelineError

_CONFIG = """\
# Created by the project for this lake. You may edit it: it is not overwritten.
telemetry:
  enabled: false
nux:
  enabled: false
# Events as in Dagster's SQLite storage, but the events of many partitions are written together.
event_log_storage:
  module: paimon_dagster.event_storage
  class: BatchedSqliteEvents
concurrency:
  # Only one run at a time writes a table, one compacts it and one maintains it: each kind of run has its own pool.
  pools:
    default_limit: 1
    granularity: op
  runs:
    max_concurrent_runs: 2
"""


def prepare_home(settings: Settings) -> Path:
    """Create the home directory of the instance, with a dagster.yaml if the directory has none, and return the path.

    For a warehouse that is not a local path, the directory is DAGSTER_HOME; raises PipelineError when it is not set.
    """
    home = Path(settings.warehouse) / "dagster"
    if "://" in settings.warehouse or settings.is_remote:
        if not os.environ.get("DAGSTER_HOME"):
            raise PipelineError(f"the warehouse {settings.warehouse} is not a local path: set DAGSTER_HOME yourself")
        home = Path(os.environ["DAGSTER_HOME"]).absolute()
    home.mkdir(parents=True, exist_ok=True)
    config = home / "dagster.yaml"
    if not config.exists():
        config.write_text(_CONFIG, encoding="utf-8")
    return home


def open_instance(settings: Settings) -> dg.DagsterInstance:
    """Open the instance of a lake and create it if needed; set DAGSTER_HOME for this process and for child
    processes.
    """
    home = str(prepare_home(settings))
    os.environ["DAGSTER_HOME"] = home
    return dg.DagsterInstance.from_config(home)


def process_environment(settings: Settings, home: Path) -> dict[str, str]:
    """Return the environment variables with which another process uses the same lake and instance."""
    return {
        **os.environ,
        ENVIRONMENT: settings.environment,
        FOLDER: str(settings.folder),
        "PAIMON_LAKE": settings.warehouse,
        "DAGSTER_HOME": str(home),
    }
