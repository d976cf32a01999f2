"""Resources: the settings of the lake, and the Spark session of a run or of all runs of a process."""

from typing import Any

import dagster as dg
from pydantic import PrivateAttr
from pyspark.sql import SparkSession

from paimon_lake.declarations import Settings, load_settings
from paimon_lake.session import start_session


class LakeResource(dg.ConfigurableResource[Any]):
    """The lake to use: the folder of its declarations, an environment of it, and a warehouse."""

    environment: str
    warehouse: str
    configs: str = ""
    """Empty: the folder that every process finds by itself (PAIMON_LAKE_CONFIGS)."""
    _settings: Settings | None = PrivateAttr(default=None)

    @property
    def settings(self) -> Settings:
        """The settings, read from the folder once per run."""
        if self._settings is None:
            self._settings = load_settings(self.environment, warehouse=self.warehouse, configs=self.configs or None)
        return self._settings


class SparkResource(LakeResource):
    """The Spark session of a run: the first step that needs it starts it; after the run it is stopped, or kept."""

    keep_session: bool = False
    """Whether the session stays for the next run of this process, and ends with the process."""

    _session: SparkSession | None = PrivateAttr(default=None)

    def session(self) -> SparkSession:
        """Return the session of the run, and start it if needed."""
        if self._session is None:
            self._session = start_session(self.settings)
        return self._session

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Stop the session, if a step started one and it is not kept."""
        if self._session is not None and not self.keep_session:
            self._session.stop()
        self._session = None


def place_of(settings: Settings) -> dict[str, str]:
    """Return the arguments of resources with which another process reads the same settings."""
    return {
        "environment": settings.environment,
        "warehouse": settings.warehouse,
        "configs": str(settings.folder),
    }
