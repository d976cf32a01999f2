"""The lake in Dagster: the component ``PaimonLake`` on this folder, for ``dagster dev -f definitions.py``."""

from pathlib import Path

import dagster as dg

from paimon_dagster import PaimonLake

defs = dg.build_defs_for_component(PaimonLake(configs=str(Path(__file__).resolve().parent), name="shop"))
