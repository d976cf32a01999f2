"""File sensor: requests a load when a table's source has new files, and logs which files are late or changed.

A tick lists the files of every table, but only in directories that the path can match. The ledger of a table is read
only when its files or its snapshot have changed since the last tick, by a digest in the cursor. While a load of
the table is queued or running, nothing is requested, and the next tick checks again.
"""

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dagster as dg

from paimon_core.errors import PaimonError
from paimon_dagster.factories.loads import load_job_name
from paimon_dagster.resources import lake_key, lake_of
from paimon_dagster.sensors.compaction_sensor import in_flight
from paimon_dagster.sensors.file_requests import MOST_REQUESTS, TickResult, decide, digest_of, listed
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, SettingsError, TableSpec
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.loads.ledger.ledger import Ledger, read_ledger
from paimon_lake.protocol import PipelineError
from paimon_lake.tables import open_lake

if TYPE_CHECKING:
    from paimon_dagster.factories.loads import Jobs


def files_sensor(settings: Settings, jobs: "Jobs", translator: PaimonTranslator = PLAIN) -> dg.SensorDefinition | None:
    """Return one sensor for all tables that declare ``schedule.on: files``; None when there is no such table.

    Raises SettingsError for a table with partitions whose path has no placeholder for them.
    """
    names = [name for name, spec in settings.tables.items() if name in jobs and _waits_for_files(spec)]
    if not names:
        return None

    @dg.sensor(
        name=translator.prefixed("files"),
        description="Requests a load of each table with new files, and logs which files are late or changed.",
        jobs=[jobs[name] for name in names],
        minimum_interval_seconds=settings.dagster.sensor_interval_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING
        if settings.dagster.automation_on
        else dg.DefaultSensorStatus.STOPPED,
        required_resource_keys={lake_key(translator)},
    )
    def files(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        settings = lake_of(context, translator).settings
        before = _seen(context)
        results = dict[str, TickResult]()
        for name in names:
            room = MOST_REQUESTS - sum(len(result.requests) for result in results.values())
            results[name] = _tick(context, settings, name, before.get(name, TickResult()), translator, room)
        requests = [request for result in results.values() for request in result.requests]
        messages = [f"{name}: {result.message}" for name, result in results.items() if result.message]
        for line in messages:
            context.log.info(line)
        partitions = {name: translator.partitions_def(settings.table(name)) for name in names}
        adds = [
            found.build_add_request(list(results[name].added))
            for name, found in partitions.items()
            if isinstance(found, dg.DynamicPartitionsDefinition) and results[name].added
        ]
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else "; ".join(messages) or "no new files",
            cursor=json.dumps(
                {
                    name: [result.message, result.state, result.loads, result.rollbacks]
                    for name, result in results.items()
                }
            ),
            dynamic_partitions_requests=adds,
        )

    return files


def _waits_for_files(spec: TableSpec) -> bool:
    if spec.schedule is None or spec.schedule.on != "files":
        return False
    assert isinstance(spec.source, FilesSource)
    if spec.partitions is not None and "{" not in spec.source.path:
        raise SettingsError(
            f"{spec.name}: source.path {spec.source.path!r} needs a placeholder for the partition, such as {{date}}, "
            "so that the sensor knows which partition a new file belongs to"
        )
    return True


def _tick(
    context: dg.SensorEvaluationContext,
    settings: Settings,
    name: str,
    before: TickResult,
    translator: PaimonTranslator,
    room: int,
) -> TickResult:
    """Return the result for one table.

    An error about the files or the metadata of the table becomes its message; all other tables are not affected.
    """
    spec, catalog = settings.table(name), open_lake(settings)
    unknown = replace(before, state=None, requests=(), added=())
    try:
        found = listed(settings, spec)
        table = catalog.table(name) if catalog.table_exists(name) else None
        snapshot = table.latest_snapshot() if table is not None else None
        state = f"{digest_of(found)}@{snapshot.id if snapshot is not None else 0}"
        if before.state == state:
            return before
        if in_flight(context.instance, load_job_name(spec, translator)):
            return replace(unknown, message="a load is queued or running")
        ledger = read_ledger(table) if table is not None else Ledger()
        rollbacks = before.rollbacks + (ledger.number < before.loads)
        if ledger.lost:
            message = f"{ledger.lost.sentence()}: load the whole table first"
            return replace(unknown, message=message, state=state, loads=ledger.number, rollbacks=rollbacks)
        partitions = translator.partitions_def(spec)
        with dg.partition_loading_context(dynamic_partitions_store=context.instance):
            result = decide(spec, found, ledger, partitions, state, room, rollbacks, translator)
        return replace(result, loads=ledger.number, rollbacks=rollbacks)
    except (PipelineError, PaimonError) as error:
        return replace(unknown, message=str(error))


def _seen(context: dg.SensorEvaluationContext) -> dict[str, TickResult]:
    """Return the results of the last tick, which are in the cursor."""
    kept: dict[str, Any] = json.loads(context.cursor or "{}")
    return {
        name: TickResult(message, state, loads=loads, rollbacks=rollbacks)
        for name, (message, state, loads, rollbacks) in kept.items()
    }
