"""Definitions: everything that Dagster loads, for the environment in PAIMON_ENV of the folder in PAIMON_LAKE_CONFIGS.

For ``dagster dev -m paimon_dagster.definitions`` in the folder of a lake, or in the directory that has ``configs/``. In
a project of ``dg`` the component ``paimon_dagster.PaimonLake`` is used instead.
"""

from __future__ import annotations

import warnings

import dagster as dg

from paimon_dagster import build_definitions
from paimon_lake.declarations import load_settings

# Dagster marks backfill policies as beta, and warns about parameters that only Dagster itself passes.
warnings.filterwarnings("ignore", category=dg.BetaWarning)

defs = build_definitions(load_settings())
