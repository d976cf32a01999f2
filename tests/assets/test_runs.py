"""Runs in this process: assets, checks and maintenance jobs on a few days, on an instance of their own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from assets.definitions import build_definitions
from assets.demo_flights import chunks
from assets.instance import prepare_home
from assets.loads import RANGE_END, RANGE_START
from assets.maintenance import compaction_config
from assets.metadata import asset_key
from assets.resources import SparkResource
from pipelines import source, tables
from pipelines.flights import CANCELLATIONS, FLIGHTS, ingest_flights
from pipelines.lake import Settings, load_settings
from pipelines.protocol import day_range
from pipelines.tables import open_table

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::ResourceWarning")

DAYS = day_range(date(2013, 1, 31), date(2013, 2, 1))
RANGE = {RANGE_START: "2013-01-31", RANGE_END: "2013-02-01"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings("local", warehouse=str(tmp_path / "lake"))


@pytest.fixture
def instance(settings: Settings) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.from_config(str(prepare_home(settings))) as opened:
        yield opened


@pytest.fixture
def started(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The sessions that resources asked for; they get the one of this test run, which outlives them."""
    sessions: list[Settings] = []

    def start(settings: Settings) -> SparkSession:
        sessions.append(settings)
        return spark

    monkeypatch.setattr("assets.resources.start_session", start)
    monkeypatch.setattr(SparkResource, "teardown_after_execution", lambda self, context: None)
    return sessions


Run = Callable[..., dg.ExecuteInProcessResult]


@pytest.fixture
def run(settings: Settings, instance: dg.DagsterInstance, started: list[Settings]) -> Run:
    at_once = settings.dagster.model_copy(update={"retry_delay_seconds": 0})
    definitions = build_definitions(settings.model_copy(update={"dagster": at_once}))

    def execute(job: str | None = None, names: tuple[str, ...] = (), **more: Any) -> dg.ExecuteInProcessResult:
        found = definitions.resolve_job_def(job) if job else definitions.resolve_implicit_global_asset_job_def()
        if names:
            more["asset_selection"] = [asset_key(name) for name in names]
        more.setdefault("raise_on_error", False)
        return found.execute_in_process(instance=instance, **more)

    return execute


def materializations(result: dg.ExecuteInProcessResult, name: str) -> dict[str | None, dg.AssetMaterialization]:
    events = [e.step_materialization_data.materialization for e in result.get_asset_materialization_events()]
    return {event.partition: event for event in events if event.asset_key == asset_key(name)}


def test_a_range_is_one_run_with_one_session_and_each_day_its_own_count(
    run: Run, started: list[Settings], instance: dg.DagsterInstance, settings: Settings
) -> None:
    result = run(names=(FLIGHTS, CANCELLATIONS), tags=RANGE)
    assert result.success
    assert len(started) == 1
    events = materializations(result, FLIGHTS)
    assert {day: event.metadata["dagster/partition_row_count"].value for day, event in events.items()} == {
        day.isoformat(): source.departed_per_day()[day] for day in DAYS
    }
    metadata = events["2013-01-31"].metadata
    assert metadata["dagster/row_count"].value == sum(source.departed_per_day()[day] for day in DAYS)
    assert metadata["paimon/snapshot_id"].value == 3
    assert "| 0 | 0 → 12 |" in str(metadata["paimon/levels"].value)
    record = instance.get_latest_materialization_event(asset_key(FLIGHTS))
    assert record is not None
    assert record.asset_materialization is not None
    assert (record.asset_materialization.tags or {})["dagster/data_version"] == "snapshot-3"
    assert instance.get_materialized_partitions(asset_key(FLIGHTS)) == {"2013-01-31", "2013-02-01"}
    checks = result.get_asset_check_evaluations()
    assert [c.passed for c in checks] == [True] * 8
    properties = [dict(p) for p in open_table(settings, FLIGHTS).inspect.snapshots()["properties"].to_pylist()]
    assert {p["dagster.run-id"] for p in properties} == {result.run_id}
    assert {p["dagster.partitions"] for p in properties} == {"2013-01-31..2013-02-01"}


def test_dagster_and_plain_steps_end_in_the_same_rows(
    run: Run, settings: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    assert run(names=(FLIGHTS,), tags=RANGE).success
    other = load_settings("local", warehouse=str(tmp_path / "other"))
    ingest_flights(lambda: spark, other, DAYS)
    order = [(name, "ascending") for name in settings.table(FLIGHTS).key]
    mine, theirs = (open_table(s, FLIGHTS).scan().to_arrow().sort_by(order) for s in (settings, other))
    assert mine.equals(theirs)


def test_a_retried_step_adds_nothing_twice(
    run: Run, settings: Settings, monkeypatch: pytest.MonkeyPatch, started: list[Settings]
) -> None:
    write, calls = tables.write_spark, []

    def fail_once_after_a_commit(*args: Any, **named: Any) -> Any:
        calls.append(named["identifier"])
        snapshot = write(*args, **named)
        if len(calls) == 2:
            raise OSError("the answer was lost")
        return snapshot

    monkeypatch.setattr(tables, "write_spark", fail_once_after_a_commit)
    result = run(names=(FLIGHTS,), partition_key="2013-01-31")
    assert result.success
    assert [e.step_key for e in result.all_events if e.is_step_up_for_retry] == ["ods__flights"]
    assert calls == [1, 2, 3]
    table = open_table(settings, FLIGHTS)
    assert table.inspect.snapshots()["commit_identifier"].to_pylist() == [1, 2, 3]
    assert table.scan().count() == source.departed_per_day()[DAYS[0]]
    assert len(started) == 1
    again = run(names=(FLIGHTS,), partition_key="2013-01-31")
    metadata = materializations(again, FLIGHTS)["2013-01-31"].metadata
    assert metadata["paimon/loaded_before"].value == "scheduled, departures, arrivals"
    assert metadata["paimon/rows_written"].value == 0
    assert table.inspect.snapshots().num_rows == 3


def test_a_request_that_cannot_be_met_is_not_tried_again(run: Run, started: list[Settings]) -> None:
    result = run(names=("dws.carrier_day",), partition_key="2013-01")
    assert not result.success
    assert [e for e in result.all_events if e.is_step_up_for_retry] == []
    (failure,) = [e for e in result.all_events if e.is_step_failure]
    assert "ods.flights is not in the lake" in str(failure.step_failure_data.error_display_string)
    assert started == []


def test_compaction_by_hand_is_an_observation(run: Run, instance: dg.DagsterInstance, settings: Settings) -> None:
    run(names=(FLIGHTS,), tags=RANGE)
    spec = settings.table(FLIGHTS)
    config = dg.RunRequest(run_config=compaction_config(spec, full=True, partitions=["2013-02"])).run_config
    dry = {"ops": {"merge_runs__ods_flights": {"config": {"full": True, "dry_run": True}}}}
    planned, done = run("compact__ods_flights", run_config=dry), run("compact__ods_flights", run_config=config)
    notes = [
        event.asset_observation_data.asset_observation.metadata["paimon/note"].value
        for result in (planned, done)
        for event in result.get_asset_observation_events()
    ]
    assert notes == ["would merge 12 files of 4 buckets", "merged 6 files of 2 buckets"]
    files = open_table(settings, FLIGHTS).inspect.files().to_pylist()
    assert sorted({(f["partition"], f["level"] > 0) for f in files}) == [
        ("month=2013-01", False),
        ("month=2013-02", True),
    ]
    record = instance.get_latest_materialization_event(asset_key(FLIGHTS))
    assert record is not None
    assert record.asset_materialization is not None
    assert (record.asset_materialization.tags or {})["dagster/data_version"] == "snapshot-3", "rows did not change"


def test_the_sensor_asks_once_a_snapshot_and_not_while_a_run_is_under_way(
    run: Run, instance: dg.DagsterInstance, settings: Settings
) -> None:
    run(names=(FLIGHTS,), partition_key="2013-01-31")
    definitions = build_definitions(settings)
    sensor = definitions.resolve_sensor_def("compaction")
    lake = definitions.resources["lake"]  # type: ignore[index]

    def tick(cursor: str | None = None) -> dg.SensorExecutionData:
        with dg.build_sensor_context(instance=instance, cursor=cursor, resources={"lake": lake}) as context:
            return sensor.evaluate_tick(context)

    first = tick()
    assert [r.run_key for r in first.run_requests or []] == ["ods.flights@3"]
    assert first.cursor == '["ods.flights"]'
    (request,) = first.run_requests or []
    waiting = instance.create_run_for_job(
        definitions.resolve_job_def("compact__ods_flights"), status=dg.DagsterRunStatus.STARTED
    )
    busy = tick(first.cursor)
    assert not busy.run_requests
    assert "a compaction is running" in (busy.skip_message or "")
    instance.delete_run(waiting.run_id)
    assert run(str(request.job_name), run_config=request.run_config).success
    after = tick(busy.cursor)
    assert not after.run_requests
    assert after.cursor == "[]"


def test_the_nightly_job_tags_before_it_expires(run: Run, settings: Settings) -> None:
    run(names=("dim.airlines",))
    config = {"ops": {"tag__dim_airlines": {"config": {"tag": "eod"}}}}
    result = run("nightly", run_config=config)
    assert result.success
    steps = [e.step_key for e in result.all_events if e.is_step_success and "dim_airlines" in str(e.step_key)]
    assert steps == ["tag__dim_airlines", "expire__dim_airlines"]
    assert [tag.name for tag in open_table(settings, "dim.airlines").tags.list()] == ["eod", "group-dimensions-1"]
    expired = result.get_asset_observation_events()[-1].asset_observation_data.asset_observation.metadata
    assert expired["paimon/plan"].value == "expire-snapshots dim.airlines: nothing to do"


def test_a_sweep_puts_aside_what_nobody_uses(run: Run, settings: Settings) -> None:
    table = open_table(settings, "dim.airlines", create=True)
    rows = pa.table({"carrier": ["UA"], "name": ["United"]})
    table.write(rows)
    with table.writer() as writer:
        writer.write(rows)
        writer.flush()
    for file in Path(table.location).glob("bucket-0/*"):
        os.utime(file, (1, 1))
    dry, done = (
        run("sweep", run_config={"ops": {"sweep__dim_airlines": {"config": {"dry_run": dry}}}}) for dry in (True, False)
    )
    notes = [
        event.asset_observation_data.asset_observation.metadata["paimon/note"].value
        for result in (dry, done)
        for event in result.get_asset_observation_events()
    ]
    assert notes == [
        "would move 1 files to quarantine and purge 0 quarantines",
        "moved 1 files to quarantine, purged 0 quarantines",
    ]
    assert len(open_table(settings, "dim.airlines").maintenance.quarantines()) == 1


def test_checks_fail_when_a_table_is_wrong_or_not_there(run: Run, settings: Settings) -> None:
    run(names=("dim.airlines",))
    table = open_table(settings, "dim.airlines")
    shutil.rmtree(Path(table.location) / "bucket-0")
    result = run("audit")
    found = {(c.asset_key.to_user_string(), c.check_name): c for c in result.get_asset_check_evaluations()}
    assert not found["dim/airlines", "files"].passed
    assert "is missing" in (found["dim/airlines", "keys"].description or "")
    assert found["dim/planes", "rows"].description == "the table is not in the lake yet"
    assert not found["dim/planes", "rows"].passed


def test_ranges_of_missing_days_are_cut_as_a_backfill_cuts_them() -> None:
    month = day_range(date(2013, 1, 1), date(2013, 1, 31))
    assert [len(c) for c in chunks(month, 31)] == [31]
    assert [len(c) for c in chunks(month, 10)] == [10, 10, 10, 1]
    gap = [day for day in month if day.day != 5]
    assert [(c[0].day, c[-1].day) for c in chunks(gap, 31)] == [(1, 4), (6, 31)]
