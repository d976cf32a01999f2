"""Runs in this process: assets, checks and maintenance jobs on a few days, on an instance of their own."""

from __future__ import annotations

import base64
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from paimon_dagster import resources
from paimon_dagster.factories.compaction import compaction_config
from paimon_dagster.factories.loads import RANGE_END, RANGE_START
from paimon_dagster.instance import open_instance
from paimon_dagster.lake import build_definitions
from paimon_dagster.metadata import asset_key
from paimon_dagster.resources import SparkResource
from paimon_lake.declarations import Settings
from paimon_lake.loads import load as load_module
from paimon_lake.loads.load import load_table
from paimon_lake.tables import open_table
from tests.support.orders_lake import ORDERS_A_DAY, orders_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::ResourceWarning")

ORDERS, CUSTOMERS, REVENUE = "shop.orders", "shop.customers", "dws.revenue"
RANGE = {RANGE_START: "2024-01-31", RANGE_END: "2024-02-01"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return orders_lake(tmp_path / "lake", "dagster: {retry_delay_seconds: 0}\n")


@pytest.fixture
def instance(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    monkeypatch.setenv("DAGSTER_HOME", "")  # as it was after the test
    with open_instance(settings) as opened:
        yield opened


@pytest.fixture
def started(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The sessions that resources asked for; they get the one of this test run, which outlives them."""
    sessions: list[Settings] = []

    def start(settings: Settings) -> SparkSession:
        sessions.append(settings)
        return spark

    monkeypatch.setattr(resources, "start_session", start)
    monkeypatch.setattr(SparkResource, "teardown_after_execution", lambda self, context: None)
    return sessions


Run = Callable[..., dg.ExecuteInProcessResult]


@pytest.fixture
def run(settings: Settings, instance: dg.DagsterInstance, started: list[Settings]) -> Run:
    definitions = build_definitions(settings)

    def execute(job: str | None = None, names: tuple[str, ...] = (), **more: Any) -> dg.ExecuteInProcessResult:
        found = definitions.resolve_job_def(job) if job else definitions.resolve_implicit_global_asset_job_def()
        if names:
            more["asset_selection"] = [asset_key(name) for name in names]
        return found.execute_in_process(instance=instance, raise_on_error=False, **more)

    return execute


def materializations(result: dg.ExecuteInProcessResult, name: str) -> dict[str | None, dg.AssetMaterialization]:
    events = [e.step_materialization_data.materialization for e in result.get_asset_materialization_events()]
    return {event.partition: event for event in events if event.asset_key == asset_key(name)}


def observations(result: dg.ExecuteInProcessResult) -> list[dict[str, Any]]:
    """What maintenance said, as plain values."""
    found = [event.asset_observation_data.asset_observation for event in result.get_asset_observation_events()]
    return [{key.removeprefix("paimon/"): value.value for key, value in one.metadata.items()} for one in found]


def data_version(instance: dg.DagsterInstance, name: str) -> str:
    record = instance.get_latest_materialization_event(asset_key(name))
    assert record is not None
    assert record.asset_materialization is not None
    return (record.asset_materialization.tags or {})["dagster/data_version"]


def test_a_range_of_days_is_one_run_with_one_session_and_one_commit(
    run: Run, started: list[Settings], instance: dg.DagsterInstance, settings: Settings
) -> None:
    result = run(names=(ORDERS,), tags=RANGE)
    assert result.success
    assert len(started) == 1
    events = materializations(result, ORDERS)
    assert sorted(map(str, events)) == ["2024-01-31", "2024-02-01"]
    metadata = events["2024-01-31"].metadata
    assert metadata["dagster/row_count"].value == 2 * ORDERS_A_DAY
    assert metadata["paimon/snapshot_id"].value == 1
    assert "| 0 | 0 → 2 |" in str(metadata["paimon/levels"].value)
    assert [sorted(str(day) for day in events if "paimon/health" in events[day].metadata)] == [["2024-02-01"]]
    shown = str(events["2024-02-01"].metadata["paimon/health"].value)
    assert re.findall(r"!\[(\w+)\]\(data:image/svg", shown) == ["files", "buckets", "rows", "bytes", "history"]
    assert type(metadata["paimon/score"].value) is int
    assert type(metadata["paimon/read_amplification"].value) is float
    assert data_version(instance, ORDERS) == "snapshot-1"
    assert instance.get_materialized_partitions(asset_key(ORDERS)) == {"2024-01-31", "2024-02-01"}
    checks = {check.check_name: check.passed for check in result.get_asset_check_evaluations()}
    assert checks == dict.fromkeys(("rows", "keys", "files", "fsck", "health", "unique"), True)
    (properties,) = [dict(p) for p in open_table(settings, ORDERS).inspect.snapshots()["properties"].to_pylist()]
    assert properties["dagster.run-id"] == result.run_id
    assert properties["dagster.partitions"] == "2024-01-31..2024-02-01"
    month = run(names=(REVENUE,), partition_key="2024-02")
    assert month.success
    assert open_table(settings, REVENUE).scan().to_arrow().to_pylist() == [
        {"month": "2024-02", "customer": "c0", "revenue": 1},
        {"month": "2024-02", "customer": "c1", "revenue": 2},
    ]


def test_a_retried_step_adds_nothing_twice(
    run: Run, settings: Settings, monkeypatch: pytest.MonkeyPatch, started: list[Settings]
) -> None:
    commit, calls = load_module.commit_load, []

    def fail_after_the_first_commit(*args: Any) -> Any:
        calls.append(commit(*args).id)
        if len(calls) == 1:
            raise OSError("the answer was lost")
        return open_table(settings, ORDERS).latest_snapshot()

    monkeypatch.setattr(load_module, "commit_load", fail_after_the_first_commit)
    result = run(names=(ORDERS,), partition_key="2024-01-31")
    assert result.success
    assert [e.step_key for e in result.all_events if e.is_step_up_for_retry] == ["shop__orders"]
    assert (calls, len(started)) == ([1], 1)
    again = run(names=(ORDERS,), partition_key="2024-01-31")
    for repeated in (result, again):
        metadata = materializations(repeated, ORDERS)["2024-01-31"].metadata
        assert metadata["paimon/rows_written"].value == 0
        assert metadata["paimon/skipped"].value
    assert calls == [1]
    table = open_table(settings, ORDERS)
    assert (table.inspect.snapshots().num_rows, table.scan().count()) == (1, ORDERS_A_DAY)


def test_a_request_that_cannot_be_met_is_not_tried_again(run: Run, started: list[Settings]) -> None:
    result = run(names=(REVENUE,), partition_key="2024-01")
    assert not result.success
    assert [e for e in result.all_events if e.is_step_up_for_retry] == []
    (failure,) = [e for e in result.all_events if e.is_step_failure]
    assert "shop.orders is not in the lake" in str(failure.step_failure_data.error_display_string)
    assert started == []


def test_compaction_by_hand_is_an_observation(run: Run, instance: dg.DagsterInstance, settings: Settings) -> None:
    run(names=(ORDERS,), tags=RANGE)
    spec = settings.table(ORDERS)
    config = dg.RunRequest(run_config=compaction_config(spec, full=True, partitions=["2024-02"])).run_config
    dry = {"ops": {"merge_runs__shop_orders": {"config": {"full": True, "dry_run": True}}}}
    planned, done = run("compact__shop_orders", run_config=dry), run("compact__shop_orders", run_config=config)
    notes = [said["note"] for result in (planned, done) for said in observations(result)]
    assert notes == ["would merge 2 files of 2 buckets", "merged 1 files of 1 buckets"]
    files = open_table(settings, ORDERS).inspect.files().to_pylist()
    assert sorted((f["partition"], f["level"] > 0) for f in files) == [
        ("{2024-01}", False),
        ("{2024-02}", True),
    ]
    assert data_version(instance, ORDERS) == "snapshot-1", "rows did not change"


def test_the_sensor_asks_once_a_snapshot_and_not_while_a_run_is_under_way(
    run: Run, instance: dg.DagsterInstance, settings: Settings
) -> None:
    for day in ("2024-01-30", "2024-01-31"):
        run(names=(ORDERS,), partition_key=day)
    definitions = build_definitions(settings)
    sensor = definitions.resolve_sensor_def("compaction")
    lake = definitions.resources["lake"]  # type: ignore[index]

    def tick(cursor: str | None = None) -> dg.SensorExecutionData:
        with dg.build_sensor_context(instance=instance, cursor=cursor, resources={"lake": lake}) as context:
            return sensor.evaluate_tick(context)

    first = tick()
    assert [r.tags["paimon/snapshot"] for r in first.run_requests or []] == ["2"]
    assert first.cursor == '["shop.orders"]'
    (request,) = first.run_requests or []
    waiting = instance.create_run_for_job(
        definitions.resolve_job_def("compact__shop_orders"), status=dg.DagsterRunStatus.STARTED
    )
    busy = tick(first.cursor)
    assert not busy.run_requests
    assert "a compaction is running" in (busy.skip_message or "")
    instance.delete_run(waiting.run_id)
    assert run(str(request.job_name), run_config=request.run_config).success
    after = tick(busy.cursor)
    assert not after.run_requests
    assert after.cursor == "[]"


def test_a_load_of_the_command_line_materializes_its_days_and_a_load_of_dagster_is_not_repeated(
    run: Run, instance: dg.DagsterInstance, settings: Settings, spark: SparkSession
) -> None:
    run(names=(ORDERS,), partition_key="2024-01-30")
    load_table(lambda: spark, settings, ORDERS, ["2024-01-31", "2024-02-01"])
    definitions = build_definitions(settings)
    lake = definitions.resources["lake"]  # type: ignore[index]
    with dg.build_sensor_context(instance=instance, resources={"lake": lake}) as context:
        found = definitions.resolve_sensor_def("commits").evaluate_tick(context)
    events = [event for event in found.asset_events if isinstance(event, dg.AssetMaterialization)]
    assert [(e.partition, e.metadata["paimon/snapshot_id"].value) for e in events] == [
        ("2024-01-31", 2),
        ("2024-02-01", 2),
    ]
    assert events[0].metadata["paimon/rows_written"].value == 2 * ORDERS_A_DAY


@pytest.mark.long
def test_a_reload_materializes_the_partitions_that_it_was_asked_for(run: Run, settings: Settings) -> None:
    run(names=(ORDERS,), tags=RANGE)
    config = {"table": ORDERS, "partitions": ["2024-01-31", "2024-02-01"]}
    result = run("reload", run_config={"ops": {"reload_table": {"config": config}}})
    events = materializations(result, ORDERS)
    assert list(events) == ["2024-01-31", "2024-02-01"]
    assert events["2024-02-01"].metadata["paimon/rows_written"].value == 2 * ORDERS_A_DAY
    assert "paimon/health" in events["2024-02-01"].metadata
    wrong = {"table": ORDERS, "partitions": ["2025-01-01"]}
    refused = run("reload", run_config={"ops": {"reload_table": {"config": wrong}}})
    (failure,) = [e for e in refused.all_events if e.is_step_failure]
    assert "has no partition 2025-01-01" in str(failure.step_failure_data.error_display_string)
    assert open_table(settings, ORDERS).scan().count() == 2 * ORDERS_A_DAY


@pytest.mark.long
def test_the_nightly_job_tags_before_it_expires_and_the_audit_finds_what_is_missing(
    run: Run, settings: Settings
) -> None:
    run(names=(CUSTOMERS,))
    result = run("nightly", run_config={"ops": {"tag__shop_customers": {"config": {"tag": "eod"}}}})
    assert result.success
    steps = [e.step_key for e in result.all_events if e.is_step_success and "customers" in str(e.step_key)]
    assert steps == ["tag__shop_customers", "expire__shop_customers"]
    table = open_table(settings, CUSTOMERS)
    assert [tag.name for tag in table.tags.list()] == ["eod"]
    assert observations(result)[-1]["plan"] == "expire-snapshots shop.customers: nothing to do"
    shutil.rmtree(Path(table.location) / "bucket-0")
    found = {(c.asset_key.path[-1], c.check_name): c for c in run("audit").get_asset_check_evaluations()}
    assert not found["customers", "files"].passed
    assert "is missing" in (found["customers", "keys"].description or "")
    assert found["orders", "rows"].description == "the table is not in the lake yet"
    assert not found["orders", "rows"].passed


@pytest.mark.long
def test_a_sweep_puts_aside_what_nobody_uses(run: Run, settings: Settings) -> None:
    table = open_table(settings, CUSTOMERS, create=True)
    rows = pa.table({"id": ["c0"], "name": ["Ada"]})
    table.write(rows)
    with table.writer() as writer:
        writer.write(rows)
        writer.flush()
    for file in Path(table.location).glob("bucket-0/*"):
        os.utime(file, (1, 1))
    configs = ({"ops": {"sweep__shop_customers": {"config": {"dry_run": dry}}}} for dry in (True, False))
    notes = [said["note"] for config in configs for said in observations(run("sweep", run_config=config))]
    assert notes == [
        "would move 1 files to quarantine and purge 0 quarantines",
        "moved 1 files to quarantine, purged 0 quarantines",
    ]
    assert len(open_table(settings, CUSTOMERS).maintenance.quarantines()) == 1


def test_the_doctor_reports_and_mends_only_what_its_config_says(run: Run, settings: Settings) -> None:
    table = open_table(settings, CUSTOMERS, create=True)
    for number in range(9):
        table.with_options({"write-only": "true"}).write(pa.table({"id": ["c0"], "name": [f"Ada {number}"]}))
    (reported,) = observations(run("doctor"))
    assert (reported["mends"], reported["findings"]) == (0, 1)
    config = {"ops": {"doctor__shop_customers": {"config": {"fix": True}}}}
    (mended,) = observations(run("doctor", run_config=config))
    assert (mended["mends"], mended["findings"]) == (1, 0)
    assert mended["step"] == "doctor"
    assert "![files](data:image/svg+xml;base64," in mended["health"]
    found = {(c.asset_key.path[-1], c.check_name): c.metadata for c in run("audit").get_asset_check_evaluations()}
    health = found["customers", "health"]
    assert health["paimon/score"].value == mended["score"]
    _, _, encoded = str(health["paimon/picture"].value).partition("![picture](data:image/svg+xml;base64,")
    assert b"sorted run with 1 file" in base64.b64decode(encoded.removesuffix(")"))
