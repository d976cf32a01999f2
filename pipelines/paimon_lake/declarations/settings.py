"""Settings: the settings of one environment of a lake, with the tables that the lake declares."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from paimon_lake.declarations.errors import Mistake, SettingsError, nearest
from paimon_lake.declarations.lake.catalog import REST, check_catalog, kind_of
from paimon_lake.declarations.lake.databases import PostgresDatabase, check_database
from paimon_lake.declarations.lake.groups import DeclaredGroup, TableGroup, check_group
from paimon_lake.declarations.lake.maintenance import Maintenance
from paimon_lake.declarations.model import Cron, Model, Texts, TimeZone
from paimon_lake.declarations.table import TableSpec
from paimon_lake.declarations.yaml_file import shown


class SparkSettings(Model):
    """The Spark master, and the configuration of Spark."""

    master: str = "local[2]"
    """The URL of the master, or ``local[N]`` for N threads of this machine."""
    app_name: str = "paimon-lake"
    """The name of the sessions in Spark's UI."""
    conf: Texts = Field(default={}, repr=False)
    """Settings of Spark, such as ``spark.driver.memory``."""


class DagsterSettings(Model):
    """How many times Dagster retries steps, and when it runs maintenance."""

    step_retries: Annotated[int, Field(ge=0)] = 2
    """How many times a failed step is retried; a retry writes nothing twice, because commits have identifiers."""
    retry_delay_seconds: Annotated[int, Field(ge=0)] = 5
    """The time before a retry, in seconds."""
    sensor_interval_seconds: Annotated[int, Field(ge=1)] = 60
    """The time between two evaluations of a sensor, in seconds."""
    nightly_cron: Cron = "0 3 * * *"
    """When tables are tagged and old snapshots expire."""
    nightly_timezone: TimeZone = "UTC"
    """The time zone of ``nightly_cron`` and ``weekly_cron``."""
    weekly_cron: Cron = "0 4 * * 0"
    """When unreferenced files are moved to quarantine, in ``nightly_timezone``."""
    automation_on: bool = False
    """Whether sensors and schedules start with the daemon; otherwise they are switched on in the UI."""


class EnvironmentSettings(Model):
    """The settings in ``base.yaml`` and ``<environment>.yaml`` together."""

    warehouse: str = "lake"
    """The directory of the lake, or its URL: databases are ``<warehouse>/<database>.db``. A relative path starts at the
    folder of the declarations."""
    spark: SparkSettings = SparkSettings()
    """The master and the configuration of Spark."""
    dagster: DagsterSettings = DagsterSettings()
    """Retries, sensors, and the times of maintenance."""
    maintenance: Maintenance = Maintenance()
    """The budget of the lake for compactions, and the rules by which work is chosen."""
    storage: Texts = Field(default={}, repr=False)
    """Options of an object store (docs/storage.md). They are never stored; they are sent only to Spark tasks, and logs
    show ``***``. Without credentials here, each machine uses the credentials of its environment."""
    allowed_roots: tuple[str, ...] = ()
    """Directories or URLs in which tables may have data files outside of the lake (``data-file.external-paths``)."""
    catalog: Texts = Field(default={}, repr=False)
    """The catalog (docs/catalogs.md): ``type``, which is ``filesystem`` (default), ``sql`` or ``rest``; the ``uri`` of
    a ``sql`` or ``rest`` catalog; and options such as ``local-cache.dir``. With ``rest``, ``warehouse`` is the name
    that the server knows. Passwords, tokens and headers are written as variables."""
    postgres: Mapping[str, PostgresDatabase] = Field(default={})
    """PostgreSQL databases by names of at most 30 characters a-z, 0-9 and _: the tables with ``source: {type:
    postgres_changes, database: NAME}`` share one slot."""
    groups: Mapping[str, DeclaredGroup] = Field(default={})
    """Tables that are published together, by the name of the group: a load of all tables of a group publishes a version
    of it, and readers of the group see all of these loads or none. The short form of a group is the list of its
    tables."""
    landing_directory: str = ""
    """The directory for the files of ``source.fetch``, which all workers must be able to read. A relative path starts
    at the folder of the declarations. Default: ``<warehouse>/landing`` on local disk."""

    @model_validator(mode="after")
    def _known_catalog(self) -> EnvironmentSettings:
        check_catalog(self.catalog)
        if kind_of(self.catalog) == REST and self.allowed_roots:
            raise Mistake("a catalog of type rest takes no allowed_roots", "allowed_roots")
        return self

    @model_validator(mode="after")
    def _databases(self) -> EnvironmentSettings:
        for name, database in self.postgres.items():
            check_database(name, database, is_rest=kind_of(self.catalog) == REST)
        for name in self.groups:
            check_group(name, self.postgres, is_rest=kind_of(self.catalog) == REST)
        return self


class Settings(EnvironmentSettings):
    """All settings of one environment of a lake."""

    not_in_file: ClassVar[frozenset[str]] = frozenset(("environment", "folder", "tables"))
    environment: str
    """The name of the environment."""
    folder: Path
    """The folder of the declarations."""
    tables: Mapping[str, TableSpec] = {}
    """The declared tables by their names."""

    @property
    def landing(self) -> Path:
        """The directory for the files of ``source.fetch``.

        Raises SettingsError when it is not set and the warehouse is remote.
        """
        if self.landing_directory:
            return Path(self.landing_directory)
        if self.is_remote:
            raise SettingsError(f"the warehouse {self.warehouse} is not a local directory: set landing_directory")
        return Path(self.warehouse.removeprefix("file://")) / "landing"

    @property
    def is_remote(self) -> bool:
        """Whether the warehouse is no local directory: a URL, or with a ``rest`` catalog a name on the server."""
        is_url = "://" in self.warehouse and not self.warehouse.startswith("file://")
        return is_url or kind_of(self.catalog) == REST

    def storage_for(self, path: str) -> Mapping[str, str]:
        """Return the options for a path: ``storage`` if the warehouse is in the same kind of store, otherwise {}.

        With ``rest``, where the warehouse is a name, the options apply to every object store.
        """
        scheme = path.partition("://")[0] if "://" in path else ""
        is_same = scheme == self.warehouse.partition("://")[0] or kind_of(self.catalog) == REST
        return self.storage if scheme and is_same else {}

    def table(self, name: str) -> TableSpec:
        """Return the declaration of ``database.table``; raises SettingsError, which lists the declared tables."""
        if name not in self.tables:
            known = ", ".join(sorted(self.tables)) or "none yet"
            near = nearest(name, list(self.tables))
            raise SettingsError(f"no table {name!r} is declared in {shown(self.folder / 'tables')} ({known}){near}")
        return self.tables[name]

    def group(self, name: str) -> TableGroup:
        """Return a declared group; raises SettingsError, which lists the declared groups."""
        if name not in self.groups:
            known = ", ".join(sorted(self.groups)) or "none yet"
            near = nearest(name, list(self.groups))
            raise SettingsError(
                f"no group {name!r:.80} is declared below groups in {shown(self.folder / 'base.yaml')} ({known}){near}"
            )
        return self.groups[name]
