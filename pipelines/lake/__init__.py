"""The declarations of a lake: a folder with settings of each environment and one YAML file per table.

``load_settings`` reads such a folder into frozen pydantic models. Other packages import from here.
"""

from pipelines.lake.errors import SettingsError
from pipelines.lake.folder import CONFIGS, ENVIRONMENT, FOLDER, ROOT, configs_folder, environments, load_settings
from pipelines.lake.rejects import Rejects
from pipelines.lake.settings import DagsterSettings, Settings, SparkSettings
from pipelines.lake.table import TableSpec
from pipelines.lake.upkeep import Compaction, Retention

__all__ = [
    "CONFIGS",
    "ENVIRONMENT",
    "FOLDER",
    "ROOT",
    "Compaction",
    "DagsterSettings",
    "Rejects",
    "Retention",
    "Settings",
    "SettingsError",
    "SparkSettings",
    "TableSpec",
    "configs_folder",
    "environments",
    "load_settings",
]
