"""Commits sensor: reports commits that no run of Dagster made as materializations of their partitions, once each.

Commits of Dagster have the snapshot property ``dagster.run-id``. The cursor has the place of each table where the last
look ended. Events are stored before the cursor, so the sensor also reads the newest events of an asset: a daemon that
ended in between, or a cursor that was reset, reports nothing twice.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import dagster as dg

from paimon_core.errors import PaimonError
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.table import Table
from paimon_dagster.health_metadata import health_metadata
from paimon_dagster.resources import lake_key, lake_of
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.loads.ledger.load_properties import ROWS_READ, ROWS_REJECTED, ROWS_WRITTEN
from paimon_lake.loads.outside_commits import Look, Place, is_outside, keys_of, look
from paimon_lake.overview import existing
from paimon_lake.protocol import PipelineError, some
from paimon_lake.tables import open_table

COMMIT = "paimon/commit"
"""The metadata entry with the id and the unique name of a reported commit."""
MOST_EVENTS = 200
"""A tick reports at most this many materializations; the next tick continues."""
CLOCK_SECONDS = 86_400
"""How much the clock of the machine that committed may be ahead of the clock of Dagster."""
_PAGE = 500
_LOAD = {ROWS_READ: "rows_read", ROWS_WRITTEN: "rows_written", ROWS_REJECTED: "rows_rejected"}


@dataclass
class _Tick:
    """What one tick reports."""

    events: list[dg.AssetMaterialization | dg.AssetObservation] = field(default_factory=list)
    adds: dict[str, set[str]] = field(default_factory=dict)
    """Keys of dynamic partitions that Dagster does not know yet, by the name of the partitions."""
    lines: list[str] = field(default_factory=list)

    @property
    def room(self) -> int:
        return MOST_EVENTS - len(self.events)


def commits_sensor(settings: Settings, translator: PaimonTranslator = PLAIN) -> dg.SensorDefinition | None:
    """Return the sensor, which looks at all tables at each tick; None for a lake without tables."""
    if not settings.tables:
        return None
    names = set(settings.tables)
    running = settings.dagster.automation_on

    @dg.sensor(
        name=translator.prefixed("commits"),
        description="Reports commits that Dagster did not make as materializations of their partitions.",
        minimum_interval_seconds=settings.dagster.sensor_interval_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING if running else dg.DefaultSensorStatus.STOPPED,
        required_resource_keys={lake_key(translator)},
    )
    def commits(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        lake, places, tick = lake_of(context, translator).settings, _places(context.cursor), _Tick()
        for name in (name for name in existing(lake) if name in names):
            if tick.room <= 0:
                tick.lines.append(f"{name}: is looked at in the next tick")
                continue
            try:
                places[name] = _report(context.instance, lake, name, places.get(name, Place()), tick, translator)
            except (PaimonError, PipelineError) as error:  # other tables are still reported
                tick.lines.append(f"{name}: {error}")
        for line in tick.lines:
            context.log.info(line)
        adds = [
            dg.DynamicPartitionsDefinition(name=key).build_add_request(sorted(found))
            for key, found in tick.adds.items()
        ]
        return dg.SensorResult(
            skip_reason="; ".join(tick.lines) or "no commit that Dagster did not make",
            cursor=json.dumps({name: place.to_json() for name, place in places.items() if name in names}),
            asset_events=tick.events,
            dynamic_partitions_requests=adds,
        )

    return commits


def _places(cursor: str | None) -> dict[str, Place]:
    """Return the places of a cursor; a cursor of another form counts as empty."""
    try:
        return {name: Place.from_json(one) for name, one in json.loads(cursor or "{}").items()}
    except (AttributeError, ValueError):
        return {}


def _report(
    instance: dg.DagsterInstance, settings: Settings, name: str, place: Place, tick: _Tick, translator: PaimonTranslator
) -> Place:
    """Add the events of one table to the tick, and return the place where the look ended."""
    table, spec = open_table(settings, name), settings.table(name)
    found = look(table, place)
    if found is None:
        return place
    tick.lines += [f"{name}: {note}" for note in found.notes]
    asset = translator.asset_key(spec)
    if found.missed:
        tick.events.append(
            dg.AssetObservation(asset, description=found.notes[-1], metadata={"paimon/missed_snapshots": found.missed})
        )
    before = len(tick.events)
    place = _events_of(instance, found, table, spec, tick, translator)
    made = [n for n in range(before, len(tick.events)) if isinstance(tick.events[n], dg.AssetMaterialization)]
    if made:
        tick.lines.append(f"{name}: {len(made)} materializations")
        last = tick.events[made[-1]]
        assert isinstance(last, dg.AssetMaterialization)
        tick.events[made[-1]] = last.with_metadata({**last.metadata, **health_metadata(settings, name)})
    return place


def _events_of(
    instance: dg.DagsterInstance,
    found: Look,
    table: Table,
    spec: TableSpec,
    tick: _Tick,
    translator: PaimonTranslator,
) -> Place:
    place, latest, asset = found.place, table.latest_snapshot(), translator.asset_key(spec)
    known: set[tuple[str, str | None]] | None = None
    for snapshot in found.snapshots(table):
        if is_outside(table, snapshot):
            if known is None:
                known = _known(instance, asset, snapshot)
            keys, text = _declared_keys(instance, table, spec, snapshot, tick, translator)
            for told, key in enumerate(keys):
                if told < place.told or (_name(snapshot), key) in known:
                    continue
                if tick.room <= 0:
                    return replace(place, told=told)
                tick.events.append(_event(asset, snapshot, latest or snapshot, key, text))
        place = place.after(snapshot)
    return place


def _known(instance: dg.DagsterInstance, asset: dg.AssetKey, oldest: Snapshot) -> set[tuple[str, str | None]]:
    """Return the commits, with their partitions, that were reported since the time of a commit."""
    since = dg.AssetRecordsFilter(asset, after_timestamp=max(0.0, oldest.time_millis / 1000 - CLOCK_SECONDS))
    known: set[tuple[str, str | None]] = set()
    cursor, has_more = None, True
    while has_more:
        page = instance.fetch_materializations(since, limit=_PAGE, cursor=cursor)
        for record in page.records:
            event = record.asset_materialization
            if event is not None and COMMIT in event.metadata:
                known.add((str(event.metadata[COMMIT].value), event.partition))
        cursor, has_more = page.cursor, page.has_more
    return known


def _declared_keys(
    instance: dg.DagsterInstance,
    table: Table,
    spec: TableSpec,
    snapshot: Snapshot,
    tick: _Tick,
    translator: PaimonTranslator,
) -> tuple[Sequence[str | None], str]:
    """Return the partitions of a commit that Dagster has, or [None] without them, and a text about the others.

    Keys of dynamic partitions are added to Dagster.
    """
    keys, why = keys_of(spec, table, snapshot)
    partitions = translator.partitions_def(spec)
    if keys is None or partitions is None:
        return [None], why
    if isinstance(partitions, dg.DynamicPartitionsDefinition):
        name = str(partitions.name)
        if new := {key for key in keys if not instance.has_dynamic_partition(name, key)}:
            tick.adds.setdefault(name, set()).update(new)
        return keys or [None], ""
    with dg.partition_loading_context(dynamic_partitions_store=instance):
        there = [key for key in keys if partitions.has_partition_key(key)]
    others = [key for key in keys if key not in set(there)]
    return there or [None], f"it also wrote partitions that Dagster does not have: {some(others)}" if others else ""


def _name(snapshot: Snapshot) -> str:
    return f"{snapshot.id} {snapshot.delta_manifest_list}"


def _event(
    asset: dg.AssetKey, snapshot: Snapshot, latest: Snapshot, key: str | None, text: str
) -> dg.AssetMaterialization:
    """Return the materialization of one partition of a commit. Its data version is that of the whole table, as after a
    load in Dagster.
    """
    properties = snapshot.properties or {}
    counts = {f"paimon/{name}": int(properties[key]) for key, name in _LOAD.items() if _is_count(properties.get(key))}
    metadata: dict[str, Any] = {
        COMMIT: _name(snapshot),
        "paimon/snapshot_id": snapshot.id,
        "paimon/commit_user": snapshot.commit_user,
        "paimon/commit_kind": snapshot.operation or str(snapshot.commit_kind),
        "paimon/rows_in_files_added": snapshot.delta_record_count,
        "paimon/committed_at": dg.MetadataValue.timestamp(snapshot.time_millis / 1000),
        **counts,
        **({"paimon/note": text} if text else {}),
    }
    return dg.AssetMaterialization(
        asset,
        partition=key,
        description=f"commit {snapshot.id} of {snapshot.commit_user}, not made by Dagster",
        metadata=metadata,
        tags={"dagster/data_version": f"snapshot-{latest.id}"},
    )


def _is_count(text: str | None) -> bool:
    return text is not None and text.isascii() and text.isdecimal() and len(text) < 20
