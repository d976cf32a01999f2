"""Lake: everything that Dagster loads for one lake, built from the folder of its declarations.

A lake without a name is a whole code location: its names have no prefix, and all steps of a run are in one process. A
lake with a name is a part of a code location: its names begin with the name, and the location's own executor is used
(decision 0050).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence

import dagster as dg

from paimon_dagster.factories.by_hand import by_hand_jobs
from paimon_dagster.factories.checks import table_checks
from paimon_dagster.factories.compaction import compaction_jobs
from paimon_dagster.factories.groups import group_assets, group_jobs, group_schedules
from paimon_dagster.factories.lake_health import lake_health_asset, lake_health_job, lake_health_schedule
from paimon_dagster.factories.lake_maintenance import maintain_job
from paimon_dagster.factories.loads import load_jobs, load_schedules
from paimon_dagster.factories.maintenance import (
    audit_job,
    doctor_job,
    nightly_job,
    nightly_schedule,
    sweep_job,
    sweep_schedule,
)
from paimon_dagster.factories.tables import source_spec, table_asset
from paimon_dagster.resources import LakeResource, SparkResource, lake_key, place_of, spark_key
from paimon_dagster.sensors.changes_sensor import changes_sensor
from paimon_dagster.sensors.commits_sensor import commits_sensor
from paimon_dagster.sensors.compaction_sensor import compaction_sensor
from paimon_dagster.sensors.file_sensor import files_sensor
from paimon_dagster.sensors.maintenance_sensor import maintenance_sensor
from paimon_dagster.sensors.stale_sensor import stale_sensor
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, SettingsError, TableSpec
from paimon_lake.declarations.part_spec import load_specs

_NAME = re.compile(r"[A-Za-z0-9_]+\.[A-Za-z0-9_]+")


def build_definitions(
    settings: Settings,
    translator: PaimonTranslator = PLAIN,
    *,
    name: str = "",
    key_prefix: Sequence[str] = (),
    tables: Sequence[str] | None = None,
    keep_session: bool = False,
) -> dg.Definitions:
    """Return all assets, checks, jobs, schedules and sensors of one lake, or of some of its tables.

    With a ``name``, such as ``shop``, the names of jobs, steps, schedules, sensors, resources, pools and dynamic
    partitions begin with it: ``shop_nightly``, ``shop_lake``, ``shop_spark``. Asset keys are ``key_prefix`` and the
    name of the table; two lakes in one code location that have tables of the same name need different prefixes. With
    ``keep_session``, the runs of one process share a Spark session, which ends with the process. Raises SettingsError
    for declarations that contradict each other.
    """
    translator = translator.of_lake(name, key_prefix) if name or key_prefix else translator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        return _definitions(settings, translator, _chosen(settings, tables), keep_session)


def _definitions(
    settings: Settings, translator: PaimonTranslator, chosen: Settings, keep_session: bool
) -> dg.Definitions:
    place = place_of(settings)
    compactions = compaction_jobs(chosen, translator)
    loads, groups = load_jobs(chosen, translator), group_jobs(chosen, translator)
    nightly, sweeping = nightly_job(chosen, translator), sweep_job(chosen, translator)
    maintaining = maintain_job(chosen, translator)
    files = files_sensor(chosen, loads, translator)
    automation, stale = automation_sensor(chosen, translator), stale_sensor(chosen, loads, translator)
    changes, commits = changes_sensor(chosen, loads, translator), commits_sensor(chosen, translator)
    health, examining = lake_health_asset(chosen, translator), lake_health_job(translator)
    return dg.Definitions(
        assets=[
            *table_assets(settings, translator, chosen.tables),
            *group_assets(chosen, translator),
            *([health] if health is not None else []),
        ],
        asset_checks=table_checks(chosen, translator),
        jobs=[
            *compactions.values(),
            *loads.values(),
            *groups.values(),
            nightly,
            sweeping,
            maintaining,
            doctor_job(chosen, translator),
            audit_job(chosen, translator),
            *by_hand_jobs(chosen, translator),
            *([examining] if health is not None else []),
        ],
        schedules=[
            nightly_schedule(chosen, nightly, translator),
            sweep_schedule(chosen, sweeping),
            *([lake_health_schedule(chosen, examining, translator)] if health is not None else []),
            *load_schedules(chosen, loads, translator),
            *group_schedules(chosen, groups, translator),
        ],
        sensors=[
            maintenance_sensor(chosen, maintaining, compactions, translator)
            if settings.maintenance.mode == "cost"
            else compaction_sensor(chosen, compactions, translator),
            *(sensor for sensor in (files, automation, stale, changes, commits) if sensor is not None),
        ],
        resources={
            lake_key(translator): LakeResource(**place),
            spark_key(translator): SparkResource(**place, keep_session=keep_session),
        },
        executor=None if translator.name else dg.in_process_executor,
    )


def table_assets(
    settings: Settings, translator: PaimonTranslator, tables: Mapping[str, TableSpec]
) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """Return the assets of tables and of their sources; Dagster does not run the asset of a table without a source."""
    made: list[dg.AssetsDefinition | dg.AssetSpec] = []
    for spec in tables.values():
        if spec.has_loads:
            found = [source_spec(settings, one, translator) for one in load_specs(spec)]
            made += [table_asset(settings, spec, translator), *(outside for outside in found if outside is not None)]
        else:
            made.append(translator.asset_spec(settings, spec))
    return made


def automation_sensor(settings: Settings, translator: PaimonTranslator) -> dg.SensorDefinition | None:
    """Return the sensor that loads tables when their inputs change.

    Returns None when no table declares ``schedule.on: inputs``.
    """
    specs = [spec for spec in settings.tables.values() if translator.automation_condition(spec) is not None]
    if not specs:
        return None
    running = settings.dagster.automation_on
    return dg.AutomationConditionSensorDefinition(
        translator.prefixed("inputs"),
        target=dg.AssetSelection.assets(*(translator.asset_key(spec) for spec in specs)),
        minimum_interval_seconds=settings.dagster.sensor_interval_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING if running else dg.DefaultSensorStatus.STOPPED,
    )


def _chosen(settings: Settings, tables: Sequence[str] | None) -> Settings:
    """Return settings with only the chosen tables.

    Raises SettingsError for a declared table, chosen or not, whose name Dagster does not accept, and for two tables
    whose jobs would have the same names.
    """
    idents: dict[str, str] = {}
    for name, spec in settings.tables.items():
        if not _NAME.fullmatch(name):
            raise SettingsError(f"{name}: Dagster takes only the letters a to z, digits and underscores in names")
        if spec.ident in idents:
            raise SettingsError(
                f"{name} and {idents[spec.ident]} would have the same jobs in Dagster: rename one table"
            )
        idents[spec.ident] = name
    if tables is None:
        return settings
    return settings.model_copy(update={"tables": {name: settings.table(name) for name in tables}})
