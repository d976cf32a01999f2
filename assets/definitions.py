"""Definitions: everything that Dagster loads, for the environment in PAIMON_ENV of the folder in PAIMON_LAKE_CONFIGS.

workspace.yaml loads this module as a file, so imports are absolute and the working directory is that of the project.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import dagster as dg

import assets
from assets.lake import build_definitions
from pipelines.lake import ROOT, load_settings

__all__ = ["build_definitions", "defs"]

# Dagster marks backfill policies as beta, and warns about parameters that only Dagster itself passes.
warnings.filterwarnings("ignore", category=dg.BetaWarning)

if Path(assets.__file__ or "").resolve().parent.parent != ROOT:
    raise ImportError(f"the package assets was imported from {assets.__file__}, not from {ROOT}: check PYTHONPATH")


defs = build_definitions(load_settings())
