"""The declarations of a lake: a folder with the settings of each environment and one YAML file per table.

``load_settings`` reads such a folder into frozen pydantic models. Other packages import the common names from here.

Core types:

- ``Settings``: all declarations of a lake in one environment
- ``TableSpec``: the declaration of one table
- ``FilesSource``: a source of files; the package ``sources`` has the other kinds
- ``Partitions``: how loads are divided
- ``SettingsError``: an error in a declaration, with file and line
"""

from paimon_lake.declarations.errors import SettingsError
from paimon_lake.declarations.folder import (
    DEFAULT_FOLDER,
    ENVIRONMENT,
    FOLDER,
    configs_folder,
    environments,
    load_settings,
)
from paimon_lake.declarations.settings import DagsterSettings, Settings, SparkSettings
from paimon_lake.declarations.table import TableSpec
from paimon_lake.declarations.tables.rejects import Rejects
from paimon_lake.declarations.tables.sample import Sample
from paimon_lake.declarations.tables.upkeep import Compaction, Retention

__all__ = [
    "DEFAULT_FOLDER",
    "ENVIRONMENT",
    "FOLDER",
    "Compaction",
    "DagsterSettings",
    "Rejects",
    "Retention",
    "Sample",
    "Settings",
    "SettingsError",
    "SparkSettings",
    "TableSpec",
    "configs_folder",
    "environments",
    "load_settings",
]
