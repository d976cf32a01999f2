"""Definitions: the module that Dagster loads for the lake of this repository, see workspace.yaml.

The folder of the declarations is named by PAIMON_LAKE_CONFIGS; default: ``configs/`` beside workspace.yaml.
"""

from __future__ import annotations

import os
from pathlib import Path

from paimon_lake.declarations import FOLDER

os.environ.setdefault(FOLDER, str(Path(__file__).resolve().parents[1] / "configs"))

from paimon_dagster.definitions import defs

__all__ = ["defs"]
