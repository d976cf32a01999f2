"""Resources: the settings of the lake, and the Spark session of a run or of all runs of a process.

Their keys in a code location are ``lake`` and ``spark``, or ``shop_lake`` and ``shop_spark`` for a lake with the name
``shop``. Steps and sensors require these keys, and ``lake_of`` and ``spark_of`` return the resources.
"""

from typing import Any, Protocol

import dagster as dg
from pydantic import PrivateAttr
from pyspark.sql import SparkSession

from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, load_settings
from paimon_lake.session import start_session


class LakeResource(dg.ConfigurableResource[Any]):
    """The lake to use: the folder of its declarations, the environment, and the warehouse."""

    environment: str
    warehouse: str
    configs: str = ""
    """The folder of the declarations; empty: each process reads the environment variable PAIMON_LAKE_CONFIGS."""
    _settings: Settings | None = PrivateAttr(default=None)

    @property
    def settings(self) -> Settings:
        """The settings, read from the folder once per run."""
        if self._settings is None:
            self._settings = load_settings(self.environment, warehouse=self.warehouse, configs=self.configs or None)
        return self._settings


class SparkResource(LakeResource):
    """The Spark session of a run: the first step that needs Spark starts the session; the end of the run stops it."""

    keep_session: bool = False
    """Whether later runs of this process use the session as well; then the session ends with the process."""

    _session: SparkSession | None = PrivateAttr(default=None)

    def session(self) -> SparkSession:
        """Return the session of the run, and start it if needed."""
        if self._session is None:
            self._session = start_session(self.settings)
        return self._session

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Stop the session that a step started, unless ``keep_session`` is set."""
        if self._session is not None and not self.keep_session:
            self._session.stop()
        self._session = None


class _Context(Protocol):
    """The context that Dagster passes to steps and sensors."""

    @property
    def resources(self) -> Any: ...


def lake_key(translator: PaimonTranslator = PLAIN) -> str:
    """Return the key of the resource with the settings of the lake."""
    return translator.prefixed("lake")


def spark_key(translator: PaimonTranslator = PLAIN) -> str:
    """Return the key of the resource with the Spark session of the lake."""
    return translator.prefixed("spark")


def resource_keys(translator: PaimonTranslator = PLAIN) -> set[str]:
    """Return the resource keys of a step that uses the lake and Spark."""
    return {lake_key(translator), spark_key(translator)}


def lake_of(context: _Context, translator: PaimonTranslator) -> LakeResource:
    """Return the lake resource of a step or sensor, which must require its key."""
    found: LakeResource = getattr(context.resources, lake_key(translator))
    return found


def spark_of(context: _Context, translator: PaimonTranslator) -> SparkResource:
    """Return the Spark resource of a step, which must require its key."""
    found: SparkResource = getattr(context.resources, spark_key(translator))
    return found


def place_of(settings: Settings) -> dict[str, str]:
    """Return the arguments for the resources of another process, so that this process reads the same settings."""
    return {
        "environment": settings.environment,
        "warehouse": settings.warehouse,
        "configs": str(settings.folder),
    }
