"""Settings: what one environment of a lake says, with the tables that the lake declares."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

from pydantic import Field

from pipelines.lake.errors import SettingsError
from pipelines.lake.model import Model, Texts
from pipelines.lake.table import TableSpec


class Calendar(Model):
    """The days of the source, first and last included."""

    first_day: date
    last_day: date


class SparkSettings(Model):
    """Where Spark runs and with which configuration."""

    master: str = "local[2]"
    app_name: str = "paimon-lake"
    conf: Texts = Field(default={})


class DagsterSettings(Model):
    """How often Dagster retries steps, and when it runs maintenance."""

    step_retries: int = 2
    """A failed step is retried. Commits have identifiers, so that a retry writes nothing twice."""
    retry_delay_seconds: int = 5
    sensor_interval_seconds: int = 60
    nightly_cron: str = "0 3 * * *"
    nightly_timezone: str = "UTC"
    weekly_cron: str = "0 4 * * 0"
    """When unreferenced files are moved to quarantine, in ``nightly_timezone``."""
    automation_on: bool = False
    """Whether sensors and schedules start with the daemon; otherwise they are switched on in the UI."""


class EnvironmentSettings(Model):
    """What ``base.yaml`` and ``<environment>.yaml`` say together."""

    warehouse: str = "lake"
    """The directory of the lake, or its URL: databases are ``<warehouse>/<database>.db``."""
    calendar: Calendar | None = None
    spark: SparkSettings = SparkSettings()
    dagster: DagsterSettings = DagsterSettings()
    storage: Texts = Field(default={}, repr=False)
    """Options of an object store (docs/storage.md). Every process reads them again; they are never sent or stored."""
    landing_directory: str = ""


class Settings(EnvironmentSettings):
    """All settings of one environment of a lake."""

    environment: str
    folder: Path
    """The folder of the declarations."""
    tables: Mapping[str, TableSpec] = {}

    @property
    def days(self) -> Calendar:
        """The days of the source; raises SettingsError when the settings do not name them."""
        if self.calendar is None:
            raise SettingsError(f"{self.folder / 'base.yaml'}: calendar is missing: it gives the days of the source")
        return self.calendar

    @property
    def landing(self) -> Path:
        """The directory of the source files that Spark reads; raises SettingsError when it is not known."""
        if self.landing_directory:
            return Path(self.landing_directory)
        if self.is_remote:
            raise SettingsError(f"the warehouse {self.warehouse} is not a local directory: set landing_directory")
        return Path(self.warehouse.removeprefix("file://")) / "landing"

    @property
    def is_remote(self) -> bool:
        """Whether the warehouse is not a directory of this machine."""
        return "://" in self.warehouse and not self.warehouse.startswith("file://")

    def storage_for(self, path: str) -> Mapping[str, str]:
        """Return the options of the object store for a path: those of the warehouse when it is on the same kind."""
        scheme = path.partition("://")[0] if "://" in path else ""
        return self.storage if scheme and scheme == self.warehouse.partition("://")[0] else {}

    def table(self, name: str) -> TableSpec:
        """Return the declaration of ``database.table``; raises SettingsError, which lists the declared tables."""
        if name not in self.tables:
            known = ", ".join(sorted(self.tables)) or "none yet"
            raise SettingsError(f"no table {name!r} is declared in {self.folder / 'tables'} ({known})")
        return self.tables[name]
