"""Definitions: all that Dagster loads for the lake in PAIMON_LAKE_CONFIGS, in the environment PAIMON_ENV.

Run ``dagster dev -m paimon_dagster.definitions`` in the folder of a lake, or in the directory that has ``configs/``. In
a project of ``dg``, use the component ``paimon_dagster.PaimonLake`` instead.
"""

from __future__ import annotations

import warnings

import dagster as dg

from paimon_dagster import build_definitions
from paimon_lake.declarations import load_settings

# Dagster warns about backfill policies, which are beta, and about beta parameters that Dagster itself passes.
warnings.filterwarnings("ignore", category=dg.BetaWarning)

defs = build_definitions(load_settings())
