"""Definitions: everything that Dagster loads, for the environment in PAIMON_ENV.

workspace.yaml loads this module as a file, so imports are absolute and the working directory is that of the project.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import dagster as dg

import assets
from assets.carrier_day import carrier_day_asset
from assets.checks import table_checks
from assets.dimensions import dimension_assets
from assets.flights import SOURCE, flight_assets
from assets.maintenance import compaction_jobs, nightly_job, nightly_schedule, sweep_job, sweep_schedule
from assets.resources import LakeResource, SparkResource
from assets.sensors import compaction_sensor
from assets.weather import weather_asset
from pipelines.lake import ROOT, Settings, load_settings

# Dagster marks backfill policies as beta, and warns about parameters that only Dagster itself passes.
warnings.filterwarnings("ignore", category=dg.BetaWarning)

if Path(assets.__file__ or "").resolve().parent.parent != ROOT:
    raise ImportError(f"the package assets was imported from {assets.__file__}, not from {ROOT}: check PYTHONPATH")


def build_definitions(settings: Settings) -> dg.Definitions:
    """Return all assets, checks, jobs, schedules and the sensor of one lake."""
    place = {"environment": settings.environment, "warehouse": settings.warehouse}
    compactions = compaction_jobs(settings)
    nightly, sweeping = nightly_job(settings), sweep_job(settings)
    tables = [
        *flight_assets(settings),
        weather_asset(settings),
        dimension_assets(settings),
        carrier_day_asset(settings),
    ]
    return dg.Definitions(
        assets=[SOURCE, *tables],
        asset_checks=table_checks(settings),
        jobs=[
            *compactions.values(),
            nightly,
            sweeping,
            dg.define_asset_job("audit", dg.AssetSelection.all_asset_checks()),
        ],
        schedules=[nightly_schedule(settings, nightly), sweep_schedule(settings, sweeping)],
        sensors=[compaction_sensor(settings, compactions)],
        resources={"lake": LakeResource(**place), "spark": SparkResource(**place)},
        executor=dg.in_process_executor,
    )


defs = build_definitions(load_settings())
