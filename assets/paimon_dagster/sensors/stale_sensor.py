"""Stale sensor: requests a load of stale partitions, whose inputs changed after their load.

The sensor ``inputs`` (automation) reacts to the partitions of an input that a run loaded. This sensor requests the
partitions whose rows have changed: a file of one day may correct orders of another day. Both sensors are for tables
that declare ``schedule.on: inputs``. This sensor requests a partition only after two ticks in a row find it stale,
because the sensor ``inputs`` may request it first.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from paimon_core.errors import PaimonError
from paimon_dagster.factories.loads import load_job_name, load_requests
from paimon_dagster.resources import lake_key, lake_of
from paimon_dagster.sensors.compaction_sensor import in_flight
from paimon_dagster.sensors.file_requests import MOST_REQUESTS
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.loads.inputs.stale import stale_now
from paimon_lake.loads.inputs.stale_text import stale_text
from paimon_lake.protocol import PipelineError
from paimon_lake.tables import open_table

if TYPE_CHECKING:
    from paimon_dagster.factories.loads import Jobs


def stale_sensor(settings: Settings, jobs: "Jobs", translator: PaimonTranslator = PLAIN) -> dg.SensorDefinition | None:
    """Return one sensor for all tables with partitions and ``schedule.on: inputs``; None without such a table."""
    names = [name for name, spec in settings.tables.items() if name in jobs and _waits_for_inputs(spec)]
    if not names:
        return None
    running = settings.dagster.automation_on

    @dg.sensor(
        name=translator.prefixed("stale_partitions"),
        description="Requests a load of the partitions whose inputs changed after they were loaded.",
        jobs=[jobs[name] for name in names],
        minimum_interval_seconds=settings.dagster.sensor_interval_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING if running else dg.DefaultSensorStatus.STOPPED,
        required_resource_keys={lake_key(translator)},
    )
    def stale_partitions(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        settings = lake_of(context, translator).settings
        before: dict[str, list[str]] = json.loads(context.cursor or "{}")
        seen: dict[str, list[str]] = {}
        requests: list[dg.RunRequest] = []
        told = []
        for name in names:
            spec = settings.table(name)
            try:
                if in_flight(context.instance, load_job_name(spec, translator)):
                    told.append(f"{name}: a load is queued or running")
                    continue
                stale = stale_now(settings, name)
                with dg.partition_loading_context(dynamic_partitions_store=context.instance):
                    known = _known(translator.partitions_def(spec), stale.keys() & set(before.get(name, [])))
                requests += _requests(settings, spec, stale, known, translator)[: MOST_REQUESTS - len(requests)]
            except (PaimonError, PipelineError) as error:  # other tables are still checked
                told.append(f"{name}: {error}")
                continue
            seen[name] = sorted(stale)
            told += [f"{name}: {stale_text(stale)}"] if stale else []
        for line in told:
            context.log.info(line)
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else "; ".join(told) or "no partition is stale",
            cursor=json.dumps(seen),
        )

    return stale_partitions


def _waits_for_inputs(spec: TableSpec) -> bool:
    return spec.partitions is not None and spec.schedule is not None and spec.schedule.on == "inputs"


def _known(partitions: dg.PartitionsDefinition[str] | None, keys: Collection[str]) -> list[str]:
    """Return the sorted keys that are partitions in Dagster; the sensor can request runs only for these partitions."""
    return sorted(key for key in keys if partitions is not None and partitions.has_partition_key(key))


def _requests(
    settings: Settings, spec: TableSpec, stale: Mapping[str, str], keys: list[str], translator: PaimonTranslator
) -> list[dg.RunRequest]:
    """Return runs for stale partitions. The run key depends on the snapshot and the reasons, so no run is repeated."""
    if not keys:
        return []
    newest = open_table(settings, spec.name).latest_snapshot()
    at = 0 if newest is None else newest.id

    def run_key(part: Sequence[str]) -> str:
        state = json.dumps([part, [stale[key] for key in part], at])
        return f"{spec.name}@stale@{hashlib.sha256(state.encode()).hexdigest()[:24]}"

    return load_requests(spec, keys, run_key, translator)
