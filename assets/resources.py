"""Resources: the settings of the lake, and one Spark session per run."""

from typing import Any

import dagster as dg
from pydantic import PrivateAttr
from pyspark.sql import SparkSession

from pipelines.lake import Settings, load_settings
from pipelines.session import start_session


class LakeResource(dg.ConfigurableResource[Any]):
    """The lake to use: an environment under configs/ and a warehouse."""

    environment: str
    warehouse: str
    _settings: Settings | None = PrivateAttr(default=None)

    @property
    def settings(self) -> Settings:
        """The settings, read from configs/ once per run."""
        if self._settings is None:
            self._settings = load_settings(self.environment, warehouse=self.warehouse)
        return self._settings


class SparkResource(LakeResource):
    """The Spark session of a run: started by the first step that needs it, shared by all steps, then stopped."""

    _session: SparkSession | None = PrivateAttr(default=None)

    def session(self) -> SparkSession:
        """Return the session of the run, and start it if needed."""
        if self._session is None:
            self._session = start_session(self.settings)
        return self._session

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Stop the session, if a step started one."""
        if self._session is not None:
            self._session.stop()
            self._session = None
